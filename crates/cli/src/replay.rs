//! `gabfest run --record` and `--replay`: where the cassette of a run is, and what a cassette cannot replace.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, anyhow};
use llm::cassette::{Recorder, Recording, Tape};
use scenario::{Action, Check, Plan, Rule, Scenario};
use worker::Resources;

use crate::{changed_verdicts::Changed, diagnostics, exit::usage, recorded_run::RecordedRun};

/// In a run's folder: its calls to agents and models.
const CASSETTE: &str = "calls.jsonl";
/// Cases of a plan that are looked at; of more, as many at even distances.
const LOOKED_AT: u64 = 10_000;

/// The cassette of a run's folder.
pub(crate) fn cassette(folder: &Path) -> PathBuf {
    folder.join(CASSETTE)
}

/// Records into a run's folder from now on.
pub(crate) fn begin(tape: &Tape, folder: &Path) -> anyhow::Result<()> {
    let Tape::Record(recorder) = tape else { return Ok(()) };
    let path = cassette(folder);
    recorder.begin(&path).with_context(|| format!("failed to open {}", path.display()))
}

/// The tape of a run that is resumed: a recorded run is recorded to its end.
pub(crate) fn resumed(folder: &Path) -> anyhow::Result<Tape> {
    let path = cassette(folder);
    if !path.is_file() {
        return Ok(Tape::Off);
    }
    let recorder = Recorder::open(&path).with_context(|| format!("failed to open {}", path.display()))?;
    Ok(Tape::Record(Arc::new(recorder)))
}

/// Warns if the recording is incomplete.
pub(crate) fn end(tape: &Tape) {
    if let Tape::Record(recorder) = tape
        && let Some(trouble) = recorder.trouble()
    {
        diagnostics::warn(&format!("{trouble}\n  hint: a replay of this run misses calls; record it again"));
    }
}

/// Where a worker of a fleet keeps the calls of each run.
pub(crate) fn of_worker(folder: Option<&Path>, worker: &str) -> anyhow::Result<Tape> {
    let Some(folder) = folder else { return Ok(Tape::Off) };
    let recorder = Recorder::in_folder(folder, worker)
        .map_err(|error| usage(anyhow!("calls cannot be recorded in {}: {error}", folder.display())))?;
    Ok(Tape::Record(Arc::new(recorder)))
}

/// The files of a run's calls: its own, or those that its workers wrote.
fn cassettes(source: &RecordedRun, calls: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let own = cassette(&source.folder.path);
    if calls.is_empty() && own.is_file() {
        return Ok(vec![own]);
    }
    let mut found = Vec::new();
    for path in calls {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let of_run = llm::cassette::in_folder(path, source.run.as_str())
            .map_err(|error| usage(anyhow!("{} cannot be read: {error}", path.display())))?;
        found.extend(of_run);
    }
    if found.is_empty() && !calls.is_empty() {
        return Err(usage(anyhow!(
            "no worker has recorded a call of run {} there\nhint: workers record with `gabfest worker --record DIR`, into files that begin with the run's id",
            source.run
        )));
    }
    if found.is_empty() {
        let hint = if source.is_here() {
            "`gabfest run … --record` keeps the calls of a run"
        } else {
            "name the files that its workers recorded (`gabfest worker --record DIR`) with --calls"
        };
        return Err(usage(anyhow!("run {} has no recording\nhint: {hint}", source.run)));
    }
    Ok(found)
}

/// The recorded calls of a run, of the attempts that count.
pub(crate) async fn tape(source: &mut RecordedRun, calls: &[PathBuf]) -> anyhow::Result<Tape> {
    let paths = cassettes(source, calls)?;
    let mut counted = HashMap::new();
    source
        .each(|exported| {
            counted.insert(exported.trial.trial_id.as_str().to_owned(), exported.trial.epoch);
        })
        .await?;
    let recording = Recording::open(&paths, &counted).map_err(usage)?;
    for path in recording.cut() {
        diagnostics::warn(&format!(
            "the last line of {} is cut, because the run was killed while it was written; that call is missing",
            path.display()
        ));
    }
    Ok(Tape::Replay(Arc::new(recording)))
}

/// That every call of the plan is one that a cassette holds.
///
/// # Errors
/// A scenario reaches something else: programs, commands, files, services, tables, hooks, checks of its own.
pub(crate) fn refuse_unrecorded(plan: &Plan, resources: &Resources) -> anyhow::Result<()> {
    if plan.load.is_some() {
        return Err(usage(anyhow!(
            "a load cannot be replayed: it measures times, and recorded answers take none\nhint: replay a run without a load"
        )));
    }
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    each_scenario(plan, |case, scenario| {
        let agent = resources.agents.get(&case.agent);
        let serves_tools = agent.is_some_and(|agent| agent.calls_tools_itself()) && !plan.live;
        let reasons = unrecorded(scenario, serves_tools);
        if !reasons.is_empty() {
            found.entry(case.scenario.clone()).or_default().extend(reasons);
        }
    });
    if found.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = found
        .into_iter()
        .map(|(scenario, reasons)| format!("  {scenario}: {}", reasons.into_iter().collect::<Vec<_>>().join(", ")))
        .collect();
    Err(usage(anyhow!(
        "the run cannot be replayed without reaching something that is not recorded:\n{}\nhint: leave these scenarios out; `gabfest rejudge` keeps the recorded results of such checks",
        lines.join("\n")
    )))
}

/// What the checks of a plan would ask again.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// How many checks ask a judge again.
    pub(crate) checks: u64,
    /// The kinds of checks that keep their recorded results although nothing else could decide them.
    pub(crate) kept: BTreeSet<&'static str>,
}

impl Judged {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut judged = Self::default();
        each_scenario(plan, |_, scenario| {
            for check in scenario.checks() {
                if let Some(kind) = environment_of(check) {
                    judged.kept.insert(kind);
                } else if !check.questions().is_empty() {
                    judged.checks += 1;
                }
            }
        });
        judged
    }
}

/// For `--dry-run`: that conversations which judges read are not kept, so they are judged once.
pub(crate) fn not_kept(plan: &Plan) -> String {
    if plan.transcripts.is_all() || plan.load.is_some() || Judged::of(plan).checks == 0 {
        return String::new();
    }
    format!(
        "transcripts: {}: conversations that pass are not kept, so `gabfest rejudge` cannot judge them again\n",
        plan.transcripts.name()
    )
}

fn each_scenario(plan: &Plan, mut look: impl FnMut(&scenario::Case, &Scenario)) {
    let all = plan.case_count();
    let distance = usize::try_from(all.div_ceil(LOOKED_AT).max(1)).unwrap_or(usize::MAX);
    for case in (0..all).step_by(distance).filter_map(|number| plan.case(number)) {
        if let Ok(scenario) = plan.scenario(&case, formats::ALL) {
            look(&case, &scenario);
        }
    }
}

/// Why a scenario cannot be replayed from calls alone.
fn unrecorded(scenario: &Scenario, serves_tools: bool) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for step in &scenario.steps {
        match &step.action {
            Action::Execute { .. } => found.push("a step runs a program".to_owned()),
            Action::Converse(conversation) => {
                let hooks = conversation.stops.iter().filter_map(|stop| stop.hook.as_ref());
                found.extend(hooks.map(|hook| format!("hook {hook}")));
            }
            Action::Say { .. } | Action::Examine(_) => {}
        }
    }
    let checks = scenario.checks().filter_map(environment_of);
    found.extend(checks.filter(|kind| *kind != "mock_state").map(|kind| format!("check {kind}")));
    if !scenario.environment.databases.is_empty() {
        found.push("tables that it seeds".to_owned());
    }
    if serves_tools && !scenario.mocks.is_empty() {
        found.push("mocked tools that the agent calls itself".to_owned());
    }
    found
}

/// The kind of a check that reads files, runs commands, or asks a service; it may be inside another one.
fn environment_of(check: &Check) -> Option<&'static str> {
    match &check.rule {
        Rule::CommandExitCodeIs(_)
        | Rule::FileContains(_)
        | Rule::FileExists(_)
        | Rule::HttpState(_)
        | Rule::SqlState(_)
        | Rule::MockState(_)
        | Rule::Custom(_) => Some(check.rule.kind()),
        Rule::AnyOf(any) => any.checks.iter().find_map(environment_of),
        _ => None,
    }
}

/// What a replay found, for a person.
pub(crate) fn text(run: &scenario::RunId, changed: &Changed) -> String {
    let Changed { compared, identical, .. } = changed;
    let mut text =
        format!("replay of {run}: {identical} of {compared} verdicts are the same byte for byte; no call was made\n");
    if identical != compared || changed.missing > 0 {
        text.push_str(&crate::changed_verdicts::text(changed));
    }
    text
}
