//! `gabfest store check`: looks for faults in a store, and in every record of it.

use std::{path::Path, sync::Arc};

use anyhow::Context as _;
use coordinator::service::transcripts::Transcripts;
use record::{Role, Trial, Turn, call::Spend, count::plural, summary::RunState};
use scenario::Plan;
use store::{AttemptEnd, Engine, Fault, Postgres, RunRow, Store};

use crate::{
    command::store_files,
    exit::{Exit, usage},
    export::{self, Exported},
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `postgres://…`, also while it is in use, or the file of a store, or its folder
    #[arg(value_name = "URL|PATH")]
    store: String,
}

/// So many faults of one run are named.
const MOST_NAMED: usize = 20;
/// Attempts read at a time.
const PAGE: u32 = 256;

pub(super) async fn check(args: &Args) -> anyhow::Result<Exit> {
    let address = args.store.as_str();
    if Engine::is_postgres(address) {
        let store = Postgres::read(address).await.map_err(usage)?;
        let faults = store.audit().await.context("failed to look through the store")?;
        return of(Arc::new(store), faults).await;
    }
    let store = store_files::open(Path::new(address)).await?;
    let faults = store.audit().await.context("failed to look through the store")?;
    of(Arc::new(store), faults).await
}

async fn of(store: Arc<impl Store>, faults: Vec<Fault>) -> anyhow::Result<Exit> {
    let mut count = faults.len();
    for Fault { what, place } in faults {
        stdout::line(&format!("{what}: {place}"))?;
    }
    let (mut trials, mut turns) = (0, 0);
    let runs = store.runs().await?;
    for row in &runs {
        let mut run = Run { id: row.id.as_str(), faults: Vec::new(), trials: 0, turns: 0 };
        run.look(&store, row).await.with_context(|| format!("failed to look through run {}", row.id))?;
        count += run.faults.len();
        (trials, turns) = (trials + run.trials, turns + run.turns);
        for fault in run.faults.iter().take(MOST_NAMED) {
            stdout::line(&format!("run {}: {fault}", row.id))?;
        }
        if run.faults.len() > MOST_NAMED {
            stdout::line(&format!("run {}: {} more", row.id, run.faults.len() - MOST_NAMED))?;
        }
    }
    let looked =
        [plural(runs.len() as u64, "run", "runs"), plural(trials, "trial", "trials"), plural(turns, "turn", "turns")]
            .join(", ");
    if count == 0 {
        stdout::line(&format!("the store is sound: {looked}"))?;
        return Ok(Exit::Held);
    }
    stdout::line(&format!("{count} faults in {looked}"))?;
    Ok(Exit::GateFailed)
}

struct Run<'a> {
    id: &'a str,
    faults: Vec<String>,
    trials: u64,
    turns: u64,
}

impl Run<'_> {
    async fn look(&mut self, store: &Arc<impl Store>, row: &RunRow) -> anyhow::Result<()> {
        let plan = store.plan(&row.plan_digest).await?;
        let plan = plan.map(|json| Plan::from_json(&String::from_utf8_lossy(&json)));
        let plan = match plan {
            None => return self.fault(format!("its plan {} is missing", row.plan_digest)),
            Some(Err(error)) => return self.fault(format!("its plan {} cannot be read: {error}", row.plan_digest)),
            Some(Ok(plan)) if plan.digest() != row.plan_digest => {
                return self.fault(format!("its plan has the digest {}, not {}", plan.digest(), row.plan_digest));
            }
            Some(Ok(plan)) => plan,
        };
        let mut spent = row.preflight.clone();
        let mut trials = Transcripts::new(Arc::clone(store), row.id.clone(), 0);
        while let Some(exported) = trials.next().await? {
            let Exported { trial, turns, unreadable } = export::read(exported)?;
            self.trials += 1;
            self.turns += turns.len() as u64;
            if let Some(reason) = unreadable {
                self.fault(format!("trial {}: its words cannot be read: {reason}", trial.number))?;
            }
            self.look_at(&plan, &trial, &turns)?;
            spent.add(&trial.spend);
        }
        // A run that stops early, or a load, has no number of trials that must be there.
        let is_whole = row.state == RunState::Finished && plan.decide.is_none() && plan.load.is_none();
        if is_whole && plan.planned().is_some_and(|planned| planned != self.trials) {
            self.fault(format!("it is finished with {} of {} trials", self.trials, row.planned))?;
        }
        let mut after = None;
        loop {
            let page = store.attempts(&row.id, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some((last.number, last.epoch));
            for attempt in &page {
                match &attempt.end {
                    AttemptEnd::Replaced(trial) => spent.add(&trial.spend),
                    AttemptEnd::Lost { .. } if plan.trial(attempt.number).is_none() => {
                        self.fault(format!("a lost attempt is of trial {}, which is not in its plan", attempt.number))?;
                    }
                    AttemptEnd::Lost { .. } => {}
                }
            }
        }
        self.compare(&spent, &store.spend(&row.id).await?)
    }

    fn look_at(&mut self, plan: &Plan, trial: &Trial, turns: &[Turn]) -> anyhow::Result<()> {
        let number = trial.number;
        match plan.trial(number) {
            None => self.fault(format!("trial {number} is not in its plan"))?,
            Some(planned) if (&planned.id, &planned.case_id) != (&trial.trial_id, &trial.case_id) => {
                self.fault(format!("trial {number} is {}, and its plan has {}", trial.trial_id, planned.id))?;
            }
            Some(_) => {}
        }
        if turns.is_empty() {
            return Ok(());
        }
        if turns.len() as u64 != u64::from(trial.turns) {
            self.fault(format!("trial {number} has {} turns, and words of {}", trial.turns, turns.len()))?;
        }
        let in_order = turns.iter().zip(1_u32..).all(|(turn, number)| turn.number == number);
        if !in_order {
            self.fault(format!("the turns of trial {number} are not numbered from 1 without gaps"))?;
        }
        Ok(())
    }

    /// The run's spending has everything that trials spent; lost attempts add to it.
    fn compare(&mut self, of_trials: &Spend, kept: &Spend) -> anyhow::Result<()> {
        for role in Role::ALL {
            let (part, whole) = (of_trials.of(role), kept.of(role));
            if part.calls > whole.calls || part.cost > whole.cost {
                self.fault(format!(
                    "its trials made {} {} calls for {} nano-dollars, and it has {} for {}",
                    part.calls,
                    role.name(),
                    part.cost.0,
                    whole.calls,
                    whole.cost.0
                ))?;
            }
        }
        Ok(())
    }

    fn fault(&mut self, fault: String) -> anyhow::Result<()> {
        tracing::debug!(run = self.id, fault, "a fault");
        self.faults.push(fault);
        Ok(())
    }
}
