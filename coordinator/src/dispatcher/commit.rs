//! A batch of results: refused, or stored and then counted.

use std::collections::BTreeSet;

use record::{Trial, decision::Decided};
use store::{Commit, Committed, EndedTrial, Store};
use tokio::time::Instant;

use super::{
    Dispatcher,
    active::QUOTA_USED_UP,
    command::{Order, Refusal},
    early_stop::Player,
    links::Turn,
};
use crate::{
    give_way,
    scheduler::{Event, Held},
};

impl<S: Store> Dispatcher<S> {
    /// A batch that is due is stored, with what the session has begun since the last one.
    pub(super) async fn take_batch(
        &mut self,
        session: u64,
        stream: u64,
        mut commit: Commit,
    ) -> Result<(), store::Error> {
        if !self.is_due(session, stream, commit.sequence) {
            return Ok(());
        }
        if let Some(run) = self.runs.get(&commit.run) {
            commit.replays = run.plan.replays;
            commit.ended.iter_mut().for_each(|ended| ended.kept = ended.trial.is_kept(run.plan.transcripts));
        }
        commit.begun = self.links.take_begun(session, stream);
        let stored = self.commit(session, stream, &commit).await;
        // Freeing all trials of a batch at once takes about a millisecond.
        tokio::spawn(async move {
            for (done, ended) in commit.ended.into_iter().enumerate() {
                give_way::after(done).await;
                drop(ended);
            }
        });
        stored
    }

    /// Whether the batch with this number is the next one. A batch that skips a number ends the session.
    pub(super) fn is_due(&mut self, session: u64, stream: u64, sequence: u64) -> bool {
        let turn = self.links.get(session, stream).map(|link| link.turn_of(sequence));
        if let Some(Turn::Early(due)) = turn {
            self.links.dismiss(session, &format!("batch {sequence} came where {due} was due"));
        }
        turn == Some(Turn::Takes)
    }

    /// Refuses a batch: none of it is stored, the trials at fault end as errors, and the session goes on.
    pub(super) fn refuse(&mut self, session: u64, stream: u64, sequence: u64, refusal: Refusal) {
        let Some(link) = self.links.get(session, stream) else { return };
        if sequence <= link.acknowledged {
            // A committed batch is never sent in another form.
            return self.links.send(session, Order::Acknowledged { sequence });
        }
        link.refuse(sequence);
        tracing::warn!(session, sequence, reason = refusal.reason, "a batch is refused; its trials end as errors");
        self.links.send(session, Order::Refused { sequence, refusal });
    }

    async fn commit(&mut self, session: u64, stream: u64, commit: &Commit) -> Result<(), store::Error> {
        if let Some((trial, reason)) = self.stranger(commit).await {
            let trials = trial.number..trial.number.saturating_add(1);
            let trials = vec![Held { run: commit.run.clone(), trials, epoch: trial.epoch }];
            self.refuse(session, stream, commit.sequence, Refusal { reason, trials });
            return Ok(());
        }
        let asked = Instant::now();
        fail::fail_point!("batch-unstored");
        let committed = self.store.commit(commit, self.clock.now()).await?;
        fail::fail_point!("batch-stored");
        self.observers.metrics.committed(asked.elapsed());
        if committed.session_over {
            self.links.dismiss(session, "the session is over");
            return Ok(());
        }
        if let Some(link) = self.links.get(session, stream) {
            link.acknowledged = link.acknowledged.max(commit.sequence);
            link.stored_at = Some(Instant::now());
        }
        if !committed.duplicate
            && let Some(money) = self.runs.get_mut(&commit.run).and_then(|run| run.money.as_mut())
        {
            money.settled(session, commit.segment.spend.cost(), commit.account);
        }
        let Counted { exhausted, hopeless } = self.count(commit, &committed).await;
        self.links.send(session, Order::Acknowledged { sequence: commit.sequence });
        fail::fail_point!("batch-acknowledged");
        self.fence_stale(session, commit, &committed);
        let broken = broken(commit, &committed);
        if !committed.counted.is_empty() {
            self.hear(Event::Ended { session, run: commit.run.clone(), trials: committed.counted }).await;
        }
        if !committed.again.is_empty() {
            self.hear(Event::Again { session, run: commit.run.clone(), trials: committed.again }).await;
        }
        if !broken.is_empty() {
            self.hear(Event::Played { session, run: commit.run.clone(), broken }).await;
        }
        self.stop_what_is_decided(&commit.run).await;
        if exhausted {
            tracing::warn!(run = %commit.run, "a provider's quota is used up; the run is drained");
            self.stand_still(&commit.run, None, quota_used_up()).await?;
            self.hear(Event::RunStopped { run: commit.run.clone(), drain: true }).await;
        }
        if let Some(reason) = hopeless {
            self.stop_by_itself(&commit.run, reason, None).await?;
        }
        self.publish(&commit.run);
        Ok(())
    }

    /// The first trial that does not belong to the plan of its run, and why.
    async fn stranger<'a>(&self, commit: &'a Commit) -> Option<(&'a Trial, String)> {
        let run = self.runs.get(&commit.run)?;
        for (done, EndedTrial { trial, .. }) in commit.ended.iter().enumerate() {
            give_way::after(done).await;
            if let Some(reason) = run.refuses(trial) {
                return Some((trial, reason));
            }
        }
        None
    }

    /// Adds what the store has counted to the numbers of the run in memory.
    async fn count(&mut self, commit: &Commit, committed: &Committed) -> Counted {
        let mut of = Counted::default();
        let by = Player { session: commit.session, of: self.scheduler.players(&commit.run) };
        if let Some(run) = self.runs.get_mut(&commit.run).filter(|_| !committed.duplicate) {
            run.spent(&commit.segment.spend);
            let was_hopeless = run.hopeless.is_some();
            // If several name one trial, the first one counted.
            let mut counted: BTreeSet<u64> = committed.counted.iter().copied().collect();
            let mut kept: BTreeSet<u64> = counted.iter().chain(&committed.again).copied().collect();
            for (done, EndedTrial { trial, .. }) in commit.ended.iter().enumerate() {
                give_way::after(done).await;
                if counted.remove(&trial.number) {
                    run.count(trial, committed.past(trial.number), by, &self.observers);
                }
                of.exhausted |= kept.remove(&trial.number) && trial.is_exhausted();
            }
            run.row.exhausted |= of.exhausted;
            if run.is_running() && !was_hopeless {
                of.hopeless.clone_from(&run.hopeless);
            }
        }
        of
    }

    /// Sends the worker the list of its trials that another worker has played.
    fn fence_stale(&mut self, session: u64, commit: &Commit, committed: &Committed) {
        let fenced: Vec<Held> = commit
            .ended
            .iter()
            .map(|ended| &ended.trial)
            .filter(|trial| committed.fenced.contains(&trial.number))
            .filter(|trial| !committed.counted.contains(&trial.number) && !committed.again.contains(&trial.number))
            .map(|trial| Held { run: commit.run.clone(), trials: trial.number..trial.number + 1, epoch: trial.epoch })
            .collect();
        if !fenced.is_empty() {
            self.links.send(session, Order::Fenced { trials: fenced });
        }
    }
}

/// Of each trial that the store has taken, whether it was broken, and possibly by the worker.
fn broken(commit: &Commit, committed: &Committed) -> Vec<bool> {
    let taken: BTreeSet<u64> = committed.counted.iter().chain(&committed.again).copied().collect();
    let trials = commit.ended.iter().map(|ended| &ended.trial).filter(|trial| taken.contains(&trial.number));
    trials.map(Trial::may_be_the_workers_fault).collect()
}

fn quota_used_up() -> Decided {
    Decided::Stopped { reason: QUOTA_USED_UP.to_owned(), objective: None }
}

/// What the trials of a batch say about the whole run.
#[derive(Debug, Default)]
struct Counted {
    /// A provider's quota is used up.
    exhausted: bool,
    /// Why the rest of the run is not worth playing, if that is new.
    hopeless: Option<String>,
}
