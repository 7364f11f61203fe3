//! A conversation with its agent, ready to run: repeats, judge, and the verdict.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use scenario::Plan;
use worker::{Models, Resources, environment::Execution};

use super::{
    Agent, Error, Judge, Outcome, Report, Required,
    around::Around,
    endpoints::Endpoints,
    judge::{Found, Nobody},
    outcome::Finding,
    script::Prepared,
    settings::Settings,
};

/// The default number of concurrent conversations.
const AT_ONCE: u32 = 32;

/// A conversation that can be played.
#[derive(Debug)]
#[must_use = "nothing is played before `run`"]
pub struct Run {
    /// The source.
    place: String,
    script: Result<Prepared, String>,
    agent: Agent,
    judge: Judge,
    times: Option<u32>,
    required: Option<Required>,
    at_once: u32,
    seed: u64,
    settings: Option<PathBuf>,
    around: Around,
}

impl Run {
    pub(super) fn new(place: String, script: Result<Prepared, String>, agent: Agent) -> Self {
        Self {
            place,
            script,
            agent,
            judge: Judge::found(),
            times: None,
            required: None,
            at_once: AT_ONCE,
            seed: 0,
            settings: None,
            around: Around::of_this_process(),
        }
    }

    /// The number of repeats; the default is 1. Repeats are independent conversations and run concurrently.
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// The number (`7`) or share (`0.9`) of repeats that must pass. The default is all.
    pub fn required(mut self, required: impl Into<Required>) -> Self {
        self.required = Some(required.into());
        self
    }

    /// The maximum number of concurrent conversations. The default is 32.
    pub fn at_once(mut self, conversations: u32) -> Self {
        self.at_once = conversations;
        self
    }

    /// The judge. The default is [`Judge::found`].
    pub fn judge(mut self, judge: Judge) -> Self {
        self.judge = judge;
        self
    }

    /// The settings file to use instead of the nearest `gabfest.yaml`.
    pub fn settings(mut self, path: impl AsRef<Path>) -> Self {
        self.settings = Some(path.as_ref().to_path_buf());
        self
    }

    /// The seed from which gabfest derives the seed of each repeat. The default is 0. Models that support seeds get them.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Plays the conversation. Returns [`Outcome::Skipped`] only if `GABFEST_EXPECT_SKIP` is `1`.
    ///
    /// # Panics
    /// If too few repeats pass, if a required judge is missing, or if the conversation is invalid. The message is for people.
    pub async fn run(self) -> Outcome {
        match self.try_run().await {
            Ok(outcome) => outcome,
            Err(error) => panic!("{error}"),
        }
    }

    /// Like [`Run::run`], but returns the failure as a value.
    ///
    /// # Errors
    /// In the cases in which `run` panics, with the same message.
    pub async fn try_run(self) -> Result<Outcome, Error> {
        let (place, may_skip) = (self.place.clone(), self.around.may_skip());
        match self.play().await {
            Err(Error::NoJudge { name, why, .. }) if may_skip => {
                // Written directly to stderr, because test runners hide the output of passing tests.
                let text = format!("SKIPPED: conversation {name:?} ({place}) needs a judge: {why}");
                let _ = writeln!(std::io::stderr(), "{}", record::visible::text(&text));
                Ok(Outcome::Skipped { why })
            }
            other => other,
        }
    }

    async fn play(self) -> Result<Outcome, Error> {
        let unplayable = |why: String| Error::Unplayable { place: self.place.clone(), why };
        let script = self.script.as_ref().map_err(|why| unplayable(why.clone()))?;
        let mut endpoints = Endpoints::new(self.read_settings().map_err(unplayable)?);
        let judge = self.judge.resolve(&mut endpoints, &self.around).map_err(unplayable)?;
        let no_judge = |why: &str| Error::NoJudge {
            place: self.place.clone(),
            name: script.scenario().name.clone(),
            why: why.to_owned(),
        };
        if let (Some(why), true) = (judge.missing(), script.cannot_do_without_a_judge()) {
            return Err(no_judge(why));
        }
        if self.times == Some(0) {
            return Err(unplayable("it is to be played 0 times".to_owned()));
        }
        let slots = self.at_once.min(self.times.unwrap_or(script.repeats())).max(1);
        let agent = self.agent.resolve(&mut endpoints, slots).map_err(unplayable)?;
        if let Some(reason) = agent.unready() {
            return Err(unplayable(reason));
        }
        let plan = script.plan(agent.name(), self.times, self.seed).map_err(unplayable)?;
        let required = self.required_of(script, &plan).map_err(unplayable)?;
        let trials = worker::alone::play(plan, &self.around.run, resources(agent, &judge), slots).await;
        let report = Report::new(&self.place, script, required, trials);
        match (report.finding(), judge.missing()) {
            (Finding::Passed, _) => Ok(Outcome::Passed(report)),
            (Finding::Undecided { may_lack_a_judge: true }, Some(why)) => Err(no_judge(why)),
            (Finding::Undecided { .. }, _) => Err(Error::Undecided(Box::new(report))),
            (Finding::Failed, _) => Err(Error::Failed(Box::new(report))),
        }
    }

    fn read_settings(&self) -> Result<Settings, String> {
        match &self.settings {
            Some(path) => Settings::read(path),
            None => Settings::nearest(&self.around.folder),
        }
    }

    fn required_of(&self, script: &Prepared, plan: &Plan) -> Result<u32, String> {
        let repeats = plan.planned().and_then(|trials| u32::try_from(trials).ok());
        let repeats = repeats.ok_or_else(|| "it is to be played too often".to_owned())?;
        let written = script.scenario().required_pass_rate.map(Required::Share);
        self.required.or(written).unwrap_or(Required::Count(repeats)).of(repeats)
    }
}

/// The resources of an expected conversation. It has no simulated user, no mocks (only mocks need the clock), no hooks, no
/// databases and no programs.
fn resources(agent: Arc<dyn ::agent::Agent>, judge: &Found) -> Resources {
    Resources {
        agents: BTreeMap::from([(agent.name().to_owned(), agent)]),
        models: Models {
            user_sim: Arc::new(Nobody),
            judge: judge.model(),
            by_type: BTreeMap::new(),
            scores: Default::default(),
            judge_max_tokens: worker::JUDGE_MAX_TOKENS,
        },
        hooks: BTreeMap::new(),
        checks: BTreeMap::new(),
        state_hosts: BTreeMap::new(),
        databases: BTreeMap::new(),
        execution: Execution::Off,
        tool_server: worker::tool_server::ToolServer::default(),
        now_millis: || 0,
        traces: telemetry::Traces::off(),
        metrics: telemetry::metrics::Worker::default(),
        unsettled: Box::new(|| 0),
        limits: Vec::new(),
        purses: Arc::default(),
        rerun: None,
    }
}

#[cfg(test)]
mod tests;
