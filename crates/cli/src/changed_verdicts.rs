//! Which verdicts differ between a recorded run and the run that replays it or judges it again.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::Context as _;
use record::{Failure, Judgment, Stop, Trial, Verdict};
use scenario::{Digest, Plan, RunId, TrialId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{recorded_run::RecordedRun, run_folder::RunFolder};

/// How many changes are printed; `rejudge.json` has all.
const MOST_PRINTED: usize = 20;
/// How many characters of a reason are printed.
const LONGEST_REASON: usize = 100;

/// Everything of a trial that a verdict says and rests on: equal views have equal bytes.
#[derive(Debug, Serialize)]
struct VerdictView<'a> {
    trial_id: &'a TrialId,
    verdict: Verdict,
    failure: &'a Option<Failure>,
    stop: &'a Option<Stop>,
    turns: u32,
    judgments: &'a [Judgment],
}

/// The trials of both runs, compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub(crate) struct Changed {
    /// Trials that both runs have.
    pub(crate) compared: u64,
    /// Those whose verdict, failure and judgments are the same byte for byte.
    pub(crate) identical: u64,
    /// Trials with another verdict, in the plan's order.
    pub(crate) changes: Vec<Change>,
    /// Trials of the recorded run that the new run does not have, because it was stopped.
    pub(crate) missing: u64,
}

/// A trial with another verdict than in the recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Change {
    /// The trial's place in the plan, from 0.
    pub(crate) number: u64,
    /// Scenario, combination and persona.
    pub(crate) case: String,
    /// From 1.
    pub(crate) repeat: u32,
    pub(crate) before: Verdict,
    pub(crate) after: Verdict,
    /// Why it is not a PASS now, or was none.
    pub(crate) reason: String,
}

/// `rejudge.json`: a run that was judged again.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Rejudged {
    /// The recorded run.
    pub(crate) run: RunId,
    /// The endpoint that judged; `null`: the judges of the settings.
    pub(crate) judge: Option<String>,
    #[serde(flatten)]
    pub(crate) changed: Changed,
}

/// Compares the trials of a recorded run with those of the run in this folder.
pub(crate) async fn between(source: &mut RecordedRun, folder: &RunFolder) -> anyhow::Result<Changed> {
    let mut new = RecordedRun::open(&folder.path.display().to_string(), None).await?;
    let mut after: BTreeMap<u64, (Verdict, Digest, String)> = BTreeMap::new();
    let read = new
        .each(|exported| {
            let trial = exported.trial;
            after.insert(trial.number, (trial.verdict, digest(&trial), reason(&trial)));
        })
        .await;
    new.close().await;
    read?;
    let plan = source.plan.clone();
    let mut changed = Changed::default();
    source
        .each(|exported| {
            let trial = exported.trial;
            let Some((verdict, view, why)) = after.remove(&trial.number) else {
                changed.missing += 1;
                return;
            };
            changed.compared += 1;
            changed.identical += u64::from(view == digest(&trial));
            if verdict != trial.verdict {
                changed.changes.push(Change {
                    number: trial.number,
                    case: case(&plan, trial.case),
                    repeat: trial.repeat + 1,
                    before: trial.verdict,
                    after: verdict,
                    reason: if verdict == Verdict::Pass { reason(&trial) } else { why },
                });
            }
        })
        .await?;
    Ok(changed)
}

fn digest(trial: &Trial) -> Digest {
    let Trial { trial_id, verdict, failure, stop, turns, judgments, .. } = trial;
    let view = VerdictView { trial_id, verdict: *verdict, failure, stop, turns: *turns, judgments };
    Digest::of(&serde_json::to_vec(&view).unwrap_or_default())
}

fn reason(trial: &Trial) -> String {
    trial.failure.as_ref().map_or_else(String::new, |failure| failure.message.clone())
}

fn case(plan: &Plan, number: u64) -> String {
    let Some(case) = plan.case(number) else { return format!("case {number}") };
    [Some(case.scenario), case.combination, case.persona].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The changes for a person, those to a PASS apart from the others.
pub(crate) fn text(changed: &Changed) -> String {
    let Changed { compared, changes, missing, .. } = changed;
    let mut text = match changes.len() {
        0 => format!("no verdict of {compared} changes\n"),
        many => format!("{many} of {compared} verdicts change:\n"),
    };
    let mut kinds: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for change in changes {
        *kinds.entry((change.before.name(), change.after.name())).or_default() += 1;
    }
    for ((before, after), count) in kinds {
        let _ = writeln!(text, "  {before} → {after}: {count}");
    }
    for change in changes.iter().take(MOST_PRINTED) {
        let Change { case, repeat, before, after, reason, .. } = change;
        let reason = redact::redact(reason);
        let short: String = reason.chars().take(LONGEST_REASON).collect();
        let more = if short.len() < reason.len() { "…" } else { "" };
        let _ = writeln!(text, "  {case}, repeat {repeat}: {} → {}: {short}{more}", before.name(), after.name());
    }
    if changes.len() > MOST_PRINTED {
        let _ = writeln!(text, "  … and {} more", changes.len() - MOST_PRINTED);
    }
    if *missing > 0 {
        let _ = writeln!(text, "  {missing} trials were not reached");
    }
    text
}

/// `rejudge.json`.
pub(crate) fn json(run: &RunId, judge: Option<&str>, changed: &Changed) -> anyhow::Result<String> {
    let whole = Rejudged { run: run.clone(), judge: judge.map(str::to_owned), changed: changed.clone() };
    let text = serde_json::to_string_pretty(&whole).context("failed to write the changes")?;
    Ok(format!("{}\n", redact::redact(&text)))
}
