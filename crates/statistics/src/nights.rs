//! Runs over time, as the history stores them: a row for each run, and one for each of its cells and agents.

use std::collections::BTreeMap;

use record::{
    Summary, Trial, Verdict,
    histogram::Histogram,
    summary::{Contents, Rate, RunState, RunVerdict, Trials},
};
use scenario::Quarantine;
use serde::{Deserialize, Serialize};

use crate::{
    compare::played::{CellName, Played, PlayedTrial},
    sentinels::NightSentinels,
};

/// The agent of runs whose agent is named by its address: the address of a preview changes with every run.
pub const BY_ADDRESS: &str = "(address)";

/// A run of the history.
#[derive(Debug, Clone, PartialEq)]
pub struct Night {
    pub run: NightRun,
    pub cells: Vec<NightCell>,
    /// By signature; empty in runs that earlier versions stored.
    pub failures: Vec<NightFailure>,
}

/// A run without its cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NightRun {
    pub id: String,
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// `None` in reports of earlier versions.
    pub duration_ms: Option<u64>,
    pub state: RunState,
    pub verdict: RunVerdict,
    pub exit_code: u8,
    /// By name. An agent that is named by its address is [`BY_ADDRESS`].
    pub agents: Vec<String>,
    /// Such as the commit that was tested.
    pub labels: BTreeMap<String, String>,
    pub gabfest_version: String,
    pub seed: u64,
    /// It played a load, so its success rate is the one under that load.
    pub is_load: bool,
    /// It could stop as soon as it was decided, so how many trials it has follows from their results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decided_early: bool,
    /// Its failures are stored.
    #[serde(default)]
    pub knows_failures: bool,
    pub trials: Trials,
    /// As in its report.
    pub success_rate: Rate,
    pub turns: u64,
    pub cost_usd: f64,
    /// Whether every call was priced.
    pub cost_complete: bool,
    /// Trials in which the agent got a critical fault of the simulated user.
    pub faulty: u64,
    /// Digests of the endpoints' settings, by name. Empty in reports of earlier versions.
    pub endpoints: BTreeMap<String, String>,
    /// The judge's verdicts on its sentinels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinels: Option<NightSentinels>,
}

/// What one agent did in one cell of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NightCell {
    pub cell: CellName,
    pub agent: String,
    /// The scenario as pages show it, and the combination or question.
    pub title: String,
    pub variant: Option<String>,
    pub tags: Vec<String>,
    /// Digests of its scenario and persona; `None` in reports of earlier versions.
    pub content: Option<String>,
    pub planned: u64,
    pub passed: u64,
    /// Failed, or ended with an error of the agent.
    pub failed: u64,
    pub inconclusive: u64,
    /// Errors of all kinds, those of the agent included.
    pub error: u64,
    /// Its entry of the quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
    /// Turns without an answer. They are in no histogram.
    pub unanswered: u64,
    /// Trials in which the agent got a critical fault of the simulated user.
    pub faulty: u64,
    /// The agent's, of winning attempts.
    pub tokens: u64,
    /// Of all roles, in winning attempts; `None` if a call has no price.
    pub cost_usd: Option<f64>,
    /// Microseconds.
    pub response: Histogram,
    pub ttft: Histogram,
}

/// Failures of one agent in one run that look alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NightFailure {
    pub signature: String,
    /// As the history calls it.
    pub agent: String,
    pub verdict: Verdict,
    /// `step 1, turn 3`.
    pub place: String,
    /// Of the first one, as written.
    pub reason: String,
    pub trials: u64,
    /// By their places in the run's cells.
    pub cells: Vec<usize>,
}

impl NightRun {
    /// The state of a run that was played to its end.
    pub const WHOLE: RunState = RunState::Finished;

    /// Whether gabfest itself stopped it, for another reason than money or a quota: its gates decide, as for a run that was
    /// played to its end.
    #[must_use]
    pub fn stopped_by_itself(&self) -> bool {
        stopped_by_itself(self.state, self.exit_code)
    }

    /// Whether the run counts as a night: it was played to its end, and not under a load.
    #[must_use]
    pub fn is_night(&self) -> bool {
        self.state == Self::WHOLE && !self.is_load
    }

    /// Whether its rates say how much nights differ: a night that stopped when it was decided has more extreme ones.
    #[must_use]
    pub fn is_whole_night(&self) -> bool {
        self.is_night() && !self.decided_early
    }
}

impl Night {
    /// The run's cells, without their trials yet.
    #[must_use]
    pub fn of(summary: &Summary, exit_code: u8, labels: BTreeMap<String, String>) -> Self {
        let (run, totals) = (&summary.run, &summary.summary);
        let cells: Vec<NightCell> = Played::of(summary)
            .cells
            .into_iter()
            .zip(&summary.cases)
            .map(|(played, case)| {
                let counts = case.counts();
                NightCell {
                    content: content(run.contents.as_ref(), &played.cell),
                    cell: played.cell,
                    agent: agent(&case.agent),
                    title: played.title,
                    variant: played.variant,
                    tags: played.tags,
                    planned: case.trials,
                    passed: counts.pass,
                    failed: counts.held_against_agent(),
                    inconclusive: case.inconclusive,
                    error: case.error,
                    quarantine: case.quarantine.clone(),
                    unanswered: 0,
                    faulty: 0,
                    tokens: 0,
                    cost_usd: Some(0.0),
                    response: Histogram::default(),
                    ttft: Histogram::default(),
                }
            })
            .collect();
        let mut agents: Vec<String> = cells.iter().map(|cell| cell.agent.clone()).collect();
        agents.sort();
        agents.dedup();
        Self {
            run: NightRun {
                id: run.id.to_string(),
                name: run.name.clone(),
                started_at: run.started_at.clone(),
                duration_ms: summary.wall.map(|wall| wall.duration_ms),
                state: run.state,
                verdict: summary.verdict,
                exit_code,
                agents,
                labels,
                gabfest_version: run.gabfest_version.clone(),
                seed: run.seed,
                is_load: summary.load.is_some(),
                decided_early: summary.sequential.is_some(),
                knows_failures: false,
                trials: totals.trials,
                success_rate: totals.success_rate.clone(),
                turns: totals.turns,
                cost_usd: totals.cost.total_usd,
                cost_complete: totals.cost.complete,
                faulty: 0,
                sentinels: None,
                endpoints: run.contents.as_ref().map(|contents| contents.endpoints.clone()).unwrap_or_default(),
            },
            cells,
            failures: Vec::new(),
        }
    }

    /// With the failures of the run.
    #[must_use]
    pub fn with_failures(mut self, failures: Vec<NightFailure>) -> Self {
        self.run.knows_failures = true;
        self.failures = failures;
        self
    }

    /// With the trials of the same run.
    #[must_use]
    pub fn with_trials(mut self, trials: NightTrials) -> Self {
        self.run.faulty = trials.night.run.faulty;
        let with = |(cell, of): (NightCell, NightCell)| {
            let NightCell { unanswered, faulty, tokens, cost_usd, response, ttft, .. } = of;
            NightCell { unanswered, faulty, tokens, cost_usd, response, ttft, ..cell }
        };
        self.cells = self.cells.into_iter().zip(trials.night.cells).map(with).collect();
        self
    }

    /// Leaves the cells and the failures of other agents out.
    pub fn keep_agent(&mut self, agent: &str) {
        let mut places = BTreeMap::new();
        for (place, _) in self.cells.iter().enumerate().filter(|(_, cell)| cell.agent == agent) {
            places.insert(place, places.len());
        }
        self.cells.retain(|cell| cell.agent == agent);
        self.failures.retain(|failure| failure.agent == agent);
        for failure in &mut self.failures {
            failure.cells = failure.cells.iter().filter_map(|place| places.get(place).copied()).collect();
        }
    }

    /// Adds a trial to the cell at this place of the summary's cases. `faulty`: the agent got a critical fault of the simulated
    /// user in it.
    pub fn add(&mut self, place: usize, trial: &PlayedTrial, faulty: bool) {
        let Some(cell) = self.cells.get_mut(place) else { return };
        let micros = |millis: &f64| (millis * 1_000.0).round() as u64;
        trial.response_ms.iter().for_each(|millis| cell.response.record(micros(millis)));
        trial.ttft_ms.iter().for_each(|millis| cell.ttft.record(micros(millis)));
        cell.unanswered += u64::from(trial.unanswered);
        cell.tokens += trial.agent_tokens;
        cell.cost_usd = cell.cost_usd.zip(trial.cost_usd).map(|(sum, one)| sum + one);
        cell.faulty += u64::from(faulty);
        self.run.faulty += u64::from(faulty);
    }
}

/// The trials of each cell, summed up as a [`Night`] has them.
#[derive(Debug, Clone)]
pub struct NightTrials {
    night: Night,
    places: BTreeMap<String, usize>,
}

impl NightTrials {
    /// None yet of this run.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let places = summary.cases.iter().enumerate().map(|(place, case)| (case.id.as_str().to_owned(), place));
        Self { night: Night::of(summary, 0, BTreeMap::new()), places: places.collect() }
    }

    pub fn add(&mut self, trial: &Trial) {
        let faulty = trial.user.as_ref().is_some_and(|user| user.despite_fault.is_some());
        self.add_played(trial.case_id.as_str(), &PlayedTrial::of(trial), faulty);
    }

    /// Adds a trial of this case. `faulty`: the agent got a critical fault of the simulated user in it.
    pub fn add_played(&mut self, case: &str, trial: &PlayedTrial, faulty: bool) {
        if let Some(place) = self.places.get(case) {
            self.night.add(*place, trial, faulty);
        }
    }
}

impl NightCell {
    /// Trials with a result about the agent.
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.passed + self.failed
    }

    /// `refund / combo-000-59fc3c / impatient`.
    #[must_use]
    pub fn name(&self) -> String {
        let variant = self.variant.as_ref().filter(|variant| **variant != self.title);
        let parts = [Some(&self.title), variant, self.cell.persona.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" / ")
    }
}

/// [`NightRun::stopped_by_itself`]
#[must_use]
pub fn stopped_by_itself(state: RunState, exit_code: u8) -> bool {
    state == RunState::Interrupted && matches!(exit_code, 0 | 1 | 3)
}

/// The name of an agent in the history.
#[must_use]
pub fn agent(name: &str) -> String {
    let by_address = name.starts_with("http://") || name.starts_with("https://");
    if by_address { BY_ADDRESS.to_owned() } else { name.to_owned() }
}

/// The digests of a cell's scenario and persona.
pub(crate) fn content(contents: Option<&Contents>, cell: &CellName) -> Option<String> {
    let contents = contents?;
    let scenario = &contents.scenarios.get(&cell.scenario)?.digest;
    let persona = cell.persona.as_ref().and_then(|persona| contents.personas.get(persona));
    Some(persona.map_or_else(|| scenario.clone(), |persona| format!("{scenario} {persona}")))
}
