//! The worker's slots: which leased trials wait, which run, and which are held.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use llm::limit::Share;
use proto::v1;
use record::{Failure, FailureKind, Verdict};
use scenario::{Digest, Plan, RunId};
use tokio::{
    task::{AbortHandle, Id, JoinError, JoinSet},
    time::Instant,
};

use crate::{
    admission::Admission,
    compiled::CompiledScenarios,
    outbox::{Attempt, Outbox},
    resources::Resources,
    trial::{self, Ticket},
};

/// Plans without a held trial are dropped beyond this many.
const KEPT_PLANS: usize = 8;
/// A claim that is due this soon after the last grant was too small. Each claim costs the coordinator a disk write.
const SOON: Duration = Duration::from_millis(100);
/// The most trials that wait here, so that they last for about [`SOON`] and no other worker waits for them.
const MOST_AT_HAND_PER_SLOT: u32 = 8;

#[derive(Debug)]
pub(crate) struct Executor {
    slots: u32,
    resources: Arc<Resources>,
    outbox: Outbox,
    admission: Admission,
    plans: BTreeMap<Digest, (Arc<Plan>, Arc<CompiledScenarios>)>,
    /// How many trials shall wait here besides the running ones.
    at_hand: u32,
    granted_at: Option<Instant>,
    waiting: VecDeque<Ticket>,
    running: BTreeMap<Attempt, AbortHandle>,
    /// Running trials that the coordinator does not know to run.
    begun: BTreeSet<Attempt>,
    tasks: JoinSet<()>,
    /// Trials that end because the coordinator refused their record, and its reason.
    unrecorded: BTreeMap<Attempt, String>,
    /// The trial of each task.
    by_task: BTreeMap<Id, Ticket>,
}

impl Executor {
    pub(crate) fn new(slots: u32, resources: Arc<Resources>, outbox: Outbox, admission: Admission) -> Self {
        Self {
            slots,
            resources,
            outbox,
            admission,
            plans: BTreeMap::new(),
            at_hand: fewest_at_hand(slots),
            granted_at: None,
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            begun: BTreeSet::new(),
            tasks: JoinSet::new(),
            unrecorded: BTreeMap::new(),
            by_task: BTreeMap::new(),
        }
    }

    pub(crate) fn agents(&self) -> Vec<String> {
        self.resources.agents.keys().cloned().collect()
    }

    /// How many trials to claim now: enough to fill the slots and to have some at hand.
    pub(crate) fn wanted(&self) -> u32 {
        let held = u32::try_from(self.waiting.len() + self.running.len()).unwrap_or(u32::MAX);
        // A claim for one trial costs as much as a claim for many.
        let wanted = (self.slots + self.at_hand).saturating_sub(held);
        if wanted * 2 >= self.at_hand { wanted } else { 0 }
    }

    /// A claim brought trials.
    pub(crate) fn granted(&mut self, now: Instant) {
        self.granted_at = Some(now);
    }

    /// Claims more short trials at a time, and fewer long ones.
    pub(crate) fn pace(&mut self, now: Instant) {
        let Some(granted_at) = self.granted_at else { return };
        let least = fewest_at_hand(self.slots);
        self.at_hand = if now - granted_at < SOON {
            (self.at_hand * 2).min(least.max(self.slots * MOST_AT_HAND_PER_SLOT))
        } else {
            (self.at_hand / 2).max(least)
        };
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    pub(crate) fn busy(&self) -> u32 {
        u32::try_from(self.running.len()).unwrap_or(u32::MAX)
    }

    /// Sets the worker's share of the limits.
    pub(crate) fn set_share(&self, share: Share) {
        self.resources.limits.iter().for_each(|limit| limit.set_share(share));
    }

    /// Whether no more calls are in flight than the share allows.
    pub(crate) fn keeps_to_share(&self) -> bool {
        self.resources.limits.iter().all(|limit| limit.is_settled())
    }

    /// The most that calls in flight may cost, and what was spent and is not acknowledged yet.
    pub(crate) fn unsettled_nanos(&self) -> i64 {
        (self.resources.unsettled)().saturating_add(self.outbox.owed().nanos())
    }

    pub(crate) fn knows(&self, digest: &Digest) -> bool {
        self.plans.contains_key(digest)
    }

    /// Reads a plan and keeps it for its leases.
    pub(crate) fn learn(&mut self, digest: Digest, plan: &[u8]) -> Result<(), LeaseError> {
        let text = std::str::from_utf8(plan).map_err(|error| LeaseError::Plan(error.to_string()))?;
        let plan = Plan::from_json(text).map_err(|error| LeaseError::Plan(error.to_string()))?;
        self.keep(digest, plan);
        Ok(())
    }

    pub(crate) fn keep(&mut self, digest: Digest, plan: Plan) {
        if self.plans.len() >= KEPT_PLANS {
            // Each held trial has a handle to its plan's scripts.
            self.plans.retain(|_, (_, scripts)| Arc::strong_count(scripts) > 1);
        }
        let plan = Arc::new(plan);
        let scripts = Arc::new(CompiledScenarios::new(Arc::clone(&plan)));
        self.plans.insert(digest, (plan, scripts));
    }

    /// Accepts a lease whose plan is known: all of it, or nothing.
    pub(crate) fn accept(&mut self, lease: &v1::Lease) -> Result<(), LeaseError> {
        let (plan, scripts) = self.plans.get(&Digest::new(lease.plan_digest.clone())).ok_or(LeaseError::Unknown)?;
        let tickets = (lease.first..lease.end).map(|number| {
            let trial = plan.trial(number).ok_or_else(|| LeaseError::Plan(format!("there is no trial {number}")))?;
            let attempt = Attempt { run: RunId::new(lease.run.clone()), trial: number, epoch: lease.epoch };
            Ok(Ticket { attempt, trial, scripts: Arc::clone(scripts) })
        });
        let tickets: Vec<Ticket> = tickets.collect::<Result<_, LeaseError>>()?;
        self.waiting.extend(tickets);
        Ok(())
    }

    /// Starts waiting trials while slots are free.
    pub(crate) fn start_ready(&mut self) {
        while self.running.len() < self.slots as usize {
            let Some(ticket) = self.waiting.pop_front() else { break };
            let attempt = ticket.attempt.clone();
            let handle = self.tasks.spawn(trial::play(
                ticket.clone(),
                Arc::clone(&self.resources),
                self.outbox.clone(),
                self.admission.clone(),
            ));
            self.by_task.insert(handle.id(), ticket);
            self.begun.insert(attempt.clone());
            self.running.insert(attempt, handle);
        }
        self.show_slots();
    }

    /// Returns when trials have ended and their slots are free. Waits for ever while none runs.
    pub(crate) async fn finished(&mut self) {
        let Some(ended) = self.tasks.join_next_with_id().await else {
            return std::future::pending().await;
        };
        self.free(ended);
        // The caller looks at everything once, however many ended meanwhile.
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.free(ended);
        }
        self.show_slots();
    }

    /// Shows in the metrics whether the coordinator has welcomed us on an open stream.
    pub(crate) fn connected(&self, connected: bool) {
        self.resources.metrics.connected(connected);
    }

    fn show_slots(&self) {
        self.resources.metrics.slots(self.busy(), self.slots);
    }

    fn free(&mut self, ended: Result<(Id, ()), JoinError>) {
        let task = ended.as_ref().map_or_else(JoinError::id, |(task, ())| *task);
        let Some(ticket) = self.by_task.remove(&task) else { return };
        self.running.remove(&ticket.attempt);
        let refused = self.unrecorded.remove(&ticket.attempt);
        let Err(error) = ended else { return };
        // The task may have recorded turns after it was given up.
        self.outbox.forget(|attempt| *attempt == ticket.attempt);
        let failure = match refused {
            Some(reason) => Failure::new(FailureKind::RecordRefused, reason),
            None if error.is_panic() => {
                Failure::new(FailureKind::Panicked, "a bug of gabfest's own stopped this trial")
            }
            None => return,
        };
        trial::end_unplayed(&ticket, Verdict::Error, failure, &self.resources, &self.outbox);
    }

    /// All held trials: waiting, running, or ended but not acknowledged.
    pub(crate) fn held(&self, unacknowledged: &[Attempt]) -> Vec<v1::Held> {
        let all: BTreeSet<&Attempt> = self
            .waiting
            .iter()
            .map(|ticket| &ticket.attempt)
            .chain(self.running.keys())
            .chain(unacknowledged)
            .collect();
        ranges(all)
    }

    /// Free slots: this many of the next trials begin at once.
    pub(crate) fn idle(&self) -> u32 {
        let taken = u32::try_from(self.waiting.len() + self.running.len()).unwrap_or(u32::MAX);
        self.slots.saturating_sub(taken)
    }

    /// Trials that have begun since the last call.
    pub(crate) fn take_begun(&mut self) -> Vec<v1::Held> {
        ranges(std::mem::take(&mut self.begun).iter().collect())
    }

    /// All held trials that have begun.
    pub(crate) fn all_begun(&mut self, unacknowledged: &[Attempt]) -> Vec<v1::Held> {
        self.begun.clear();
        ranges(self.running.keys().chain(unacknowledged).collect())
    }

    /// Gives back waiting trials; running ones go on.
    pub(crate) fn give_back_unstarted(&mut self) -> Vec<v1::Held> {
        let waiting = std::mem::take(&mut self.waiting);
        ranges(waiting.iter().map(|ticket| &ticket.attempt).collect())
    }

    /// Gives up running trials, so that another worker plays them from the start.
    pub(crate) fn give_up_running(&mut self) -> Vec<v1::Held> {
        for handle in self.running.values() {
            handle.abort();
        }
        let running = std::mem::take(&mut self.running);
        self.outbox.forget(|attempt| running.contains_key(attempt));
        ranges(running.keys().collect())
    }

    /// Ends trials whose record the coordinator refused.
    pub(crate) fn end_unrecorded(&mut self, attempts: Vec<Attempt>, reason: &str) {
        for attempt in attempts {
            // A trial that does not run any more was given back, and another worker plays it.
            if let Some(task) = self.running.get(&attempt) {
                task.abort();
                self.unrecorded.insert(attempt, reason.to_owned());
            }
        }
    }

    /// Drops trials that another worker plays now, or that nobody should play.
    pub(crate) fn fence(&mut self, fenced: &[v1::Held]) {
        let is_fenced = |attempt: &Attempt| {
            fenced.iter().any(|held| {
                held.run == attempt.run.as_str()
                    && held.epoch == attempt.epoch
                    && (held.first..held.end).contains(&attempt.trial)
            })
        };
        self.waiting.retain(|ticket| !is_fenced(&ticket.attempt));
        self.running.retain(|attempt, handle| {
            let keep = !is_fenced(attempt);
            if !keep {
                handle.abort();
            }
            keep
        });
        self.outbox.forget(is_fenced);
    }

    /// Stops a run. Returns its waiting trials, and those that were running and are given up.
    pub(crate) fn stop_run(&mut self, run: &str, drain: bool) -> (Vec<v1::Held>, Vec<v1::Held>) {
        let (mut waited, mut given_up) = (BTreeSet::new(), BTreeSet::new());
        self.waiting.retain(|ticket| {
            let keep = ticket.attempt.run.as_str() != run;
            if !keep {
                waited.insert(ticket.attempt.clone());
            }
            keep
        });
        if !drain {
            self.running.retain(|attempt, handle| {
                let keep = attempt.run.as_str() != run;
                if !keep {
                    handle.abort();
                    given_up.insert(attempt.clone());
                }
                keep
            });
            self.outbox.forget(|attempt| attempt.run.as_str() == run);
        }
        (ranges(waited.iter().collect()), ranges(given_up.iter().collect()))
    }

    pub(crate) fn abandon_all(&mut self) {
        self.waiting.clear();
        self.tasks.abort_all();
        self.running.clear();
        self.begun.clear();
        self.show_slots();
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaseError {
    #[error("find its plan")]
    Unknown,
    #[error("read its plan: {0}")]
    Plan(String),
}

fn fewest_at_hand(slots: u32) -> u32 {
    (slots / 2).max(1)
}

/// Neighbouring attempts of one run and epoch as one range.
fn ranges(attempts: BTreeSet<&Attempt>) -> Vec<v1::Held> {
    let mut sorted: Vec<&Attempt> = attempts.into_iter().collect();
    sorted.sort_by(|a, b| (&a.run, a.epoch, a.trial).cmp(&(&b.run, b.epoch, b.trial)));
    let mut ranges: Vec<v1::Held> = Vec::new();
    for attempt in sorted {
        match ranges.last_mut() {
            Some(last)
                if last.run == attempt.run.as_str() && last.epoch == attempt.epoch && last.end == attempt.trial =>
            {
                last.end += 1
            }
            _ => ranges.push(v1::Held {
                run: attempt.run.as_str().to_owned(),
                first: attempt.trial,
                end: attempt.trial + 1,
                epoch: attempt.epoch,
            }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        admission::Admission,
        fakes::{self, Cast},
    };

    #[test]
    fn plans_of_which_nothing_is_held_are_not_kept_for_ever() {
        let outbox = Outbox::new(Admission::new());
        let mut executor = Executor::new(1, Cast::plain().resources(), outbox, Admission::new());
        let steps = json!([{ "input": "hello" }]);
        let mut first = None;
        for number in 0..100 {
            let plan = fakes::plan(&fakes::scenario(steps.clone(), json!({ "name": number.to_string() })), 10);
            let digest = plan.digest();
            executor.learn(digest.clone(), plan.to_json().as_bytes()).unwrap();
            assert!(executor.knows(&digest) && executor.plans.len() <= KEPT_PLANS, "{number}");
            if first.is_none() {
                let plan_digest = digest.as_str().to_owned();
                let lease = v1::Lease { run: "r".to_owned(), plan_digest, first: 3, end: 4, epoch: 1 };
                executor.accept(&lease).unwrap();
                let too_far = v1::Lease { end: 11, ..lease };
                assert!(matches!(executor.accept(&too_far), Err(LeaseError::Plan(_))));
                assert_eq!(executor.waiting.len(), 1, "all of a lease or nothing");
                first = Some(digest);
            }
        }
        assert!(executor.knows(&first.expect("a hundred plans")), "of the first plan a trial is held");
    }

    #[tokio::test(start_paused = true)]
    async fn quick_trials_are_claimed_in_larger_numbers() {
        let mut executor =
            Executor::new(10, Cast::plain().resources(), Outbox::new(Admission::new()), Admission::new());
        executor.pace(Instant::now());
        assert_eq!(executor.wanted(), 15);
        let paced = |executor: &mut Executor, after| {
            let now = Instant::now();
            executor.granted(now);
            executor.pace(now + after);
            executor.wanted()
        };
        let quick: Vec<u32> = (0..6).map(|_| paced(&mut executor, SOON / 2)).collect();
        assert_eq!(quick, [20, 30, 50, 90, 90, 90]);
        let slow: Vec<u32> = (0..6).map(|_| paced(&mut executor, SOON)).collect();
        assert_eq!(slow, [50, 30, 20, 15, 15, 15]);
    }

    #[test]
    fn what_is_in_flight_is_bounded_as_the_report_says() {
        assert_eq!(llm::price::ASSUMED_OUTPUT_TOKENS, record::call::ASSUMED_OUTPUT_TOKENS);
    }

    #[test]
    fn neighbours_are_one_range() {
        let attempt = |trial, epoch| Attempt { run: RunId::new("r"), trial, epoch };
        let all = [attempt(3, 1), attempt(1, 1), attempt(2, 1), attempt(4, 2), attempt(6, 1)];
        let held = ranges(all.iter().collect());
        let shape: Vec<_> = held.iter().map(|held| (held.first, held.end, held.epoch)).collect();
        assert_eq!(shape, [(1, 4, 1), (6, 7, 1), (4, 5, 2)]);
    }
}
