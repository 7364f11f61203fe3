//! Recorded trials, judged again or played again with the recorded lines of the user, several times.

use std::{fs, sync::Arc};

use anyhow::{Context as _, anyhow};
use llm::cassette::{Cache, Tape};
use record::Trial;
use scenario::{Plan, RunId};
use worker::{
    Resources, alone,
    rerun::{Again as What, Rerun},
};

use crate::{
    args::Capacity,
    assemble::{self, judging},
    clock,
    exit::usage,
    plan,
    recorded_run::{RecordedRun, not_kept},
    remote::Identity,
    settings::Read,
};

/// In the folder of the recorded run: what judges answered when they were asked again.
const CACHE: &str = "rejudged.jsonl";

/// How often trials are judged or played again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds<'a> {
    /// An endpoint of the settings; `None`: the judges of the settings.
    pub(crate) judge: Option<&'a str>,
    /// At least 1.
    pub(crate) rounds: u32,
    pub(crate) slots: u32,
    /// Ask again what was asked before.
    pub(crate) fresh: bool,
    /// Leave conversations out that were not kept, instead of refusing.
    pub(crate) partial: bool,
    /// Where the run is, if no folder of this machine has it.
    pub(crate) coordinator: Option<(&'a [String], &'a Identity)>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Again {
    /// The recorded run.
    pub(crate) run: RunId,
    pub(crate) plan: Plan,
    /// The trials as they were recorded, those that were judged or played again.
    pub(crate) recorded: Vec<Trial>,
    /// The same trials in each round, in the same order.
    pub(crate) trials: Vec<Vec<Trial>>,
    /// The numbers of the other trials, each with the reason.
    pub(crate) left_out: Vec<(u64, String)>,
}

/// Judges all recorded trials again, `how.rounds` times. It plays no conversation.
pub(crate) async fn judge_again(run: &str, read: &Read, how: &Rounds<'_>) -> anyhow::Result<Again> {
    let mut source = RecordedRun::open(run, how.coordinator).await?;
    let (recorded, left_out) = usable(&mut source, how.partial).await?;
    let cache = cache(&source, how.fresh)?;
    let mut trials = Vec::new();
    for round in 1..=how.rounds {
        let rerun = Rerun { recordings: Arc::new(source.recordings()), what: What::Judge, round };
        let tape = Tape::Cache(Arc::clone(&cache));
        let resources = judging::judging(&read.settings, &source.plan, how.judge, &tape, rerun).await?;
        trials.push(round_of(source.plan.clone(), resources, how.slots, &recorded).await);
    }
    let (run, plan) = (source.run.clone(), source.plan.clone());
    source.close().await;
    Ok(Again { run, plan, recorded, trials, left_out })
}

/// Says the recorded lines of the user to the live agent, `how.rounds` times, and judges. The simulated user is not asked.
pub(crate) async fn agent_again(
    run: &str,
    read: &Read,
    capacity: &Capacity,
    how: &Rounds<'_>,
) -> anyhow::Result<Again> {
    let mut source = RecordedRun::open(run, how.coordinator).await?;
    let (recorded, left_out) = usable(&mut source, how.partial).await?;
    let addresses: Vec<String> = source.plan.agents.iter().filter(|name| plan::is_address(name)).cloned().collect();
    let mut trials = Vec::new();
    for round in 1..=how.rounds {
        let rerun = Rerun { recordings: Arc::new(source.recordings()), what: What::Lines, round };
        let resources = assemble::resources(read, &addresses, capacity, None).await?;
        let resources = Resources { rerun: Some(rerun), ..resources };
        assemble::ready(&source.plan, &resources)?;
        // An agent that is asked with the same seed may give the same answer.
        let seed = source.plan.seed.wrapping_add(u64::from(round));
        let plan = Plan { seed, ..source.plan.clone() };
        trials.push(round_of(plan, resources, how.slots, &recorded).await);
    }
    let (run, plan) = (source.run.clone(), source.plan.clone());
    source.close().await;
    Ok(Again { run, plan, recorded, trials, left_out })
}

/// The answers that judges gave about a recorded run when they were asked again.
pub(crate) fn cache(source: &RecordedRun, fresh: bool) -> anyhow::Result<Arc<Cache>> {
    let folder = &source.folder.path;
    if !source.is_here() {
        fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    }
    Ok(Arc::new(Cache::open(&folder.join(CACHE), fresh).map_err(usage)?))
}

/// The recorded trials that can be judged again, and the others with the reason.
///
/// # Errors
/// Conversations were not kept, unless `partial` leaves them out; or the run is a load, whose trials have no fixed number.
pub(crate) async fn usable(
    source: &mut RecordedRun,
    partial: bool,
) -> anyhow::Result<(Vec<Trial>, Vec<(u64, String)>)> {
    if source.plan.load.is_some() {
        return Err(usage(anyhow!(
            "run {} is a load: it measures times, and judging its conversations again changes none\nhint: name a run without a load",
            source.run
        )));
    }
    let (mut usable, mut left_out, mut missing) = (Vec::new(), Vec::new(), 0_u64);
    source
        .each(|exported| {
            let why = exported.unreadable.clone().or_else(|| not_kept(&exported.trial, &exported.turns));
            missing += u64::from(why.is_some());
            match why {
                None if exported.turns.is_empty() => {
                    left_out.push((exported.trial.number, "nothing was said".to_owned()))
                }
                None => usable.push(exported.trial),
                Some(why) => left_out.push((exported.trial.number, why)),
            }
        })
        .await?;
    if missing > 0 && !partial {
        return Err(usage(anyhow!(
            "{missing} of {} conversations of run {} were not kept, so they cannot be judged again: it was played with `transcripts: {}`\nhint: keep them with `transcripts: all`, or leave them out with --partial",
            usable.len() + left_out.len(),
            source.run,
            source.plan.transcripts.name(),
        )));
    }
    Ok((usable, left_out))
}

/// One round of all trials of a plan, those that count in the order of `recorded`.
async fn round_of(plan: Plan, resources: Resources, slots: u32, recorded: &[Trial]) -> Vec<Trial> {
    let played = alone::play(plan, &clock::new_run_id(), resources, slots).await;
    let mut counted = recorded.iter().map(|trial| trial.number).peekable();
    let mut kept = Vec::with_capacity(recorded.len());
    for one in played {
        if counted.peek() == Some(&one.trial.number) {
            counted.next();
            kept.push(one.trial);
        }
    }
    kept
}
