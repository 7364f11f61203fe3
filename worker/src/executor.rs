//! The worker's slots: which leased trials wait, which run, and which are held.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Range,
    sync::Arc,
};

use llm::{
    limit::{Limiter, Share},
    money::Purses,
};
use proto::v1;
use record::{Failure, FailureKind, Verdict};
use scenario::{Digest, Plan, RunId, load::lane_and_local};
use tokio::{
    sync::Notify,
    task::{AbortHandle, Id, JoinError, JoinSet},
    time::Instant,
};

use self::{
    arrivals::{Arrival, Arrivals},
    claim_size::ClaimSize,
    held_ranges::ranges,
    plans::{Plans, changed_lane},
};
use crate::{
    admission::Admission,
    outbox::{Attempt, Outbox},
    resources::Resources,
    trial::{self, Ticket, Timing},
};

mod arrivals;
mod claim_size;
mod held_ranges;
mod plans;

#[derive(Debug)]
pub(crate) struct Executor {
    slots: u32,
    resources: Arc<Resources>,
    outbox: Outbox,
    admission: Admission,
    plans: Plans,
    claim_size: ClaimSize,
    /// The last lease is of a load that limits how many conversations run: one that ends frees a slot of the fleet.
    shares_slots: bool,
    waiting: VecDeque<Ticket>,
    /// Trials that wait until they are due. They start before those of `waiting`.
    arrivals: Arrivals,
    running: BTreeMap<Attempt, AbortHandle>,
    /// Running trials that the coordinator does not know to be running.
    begun: BTreeSet<Attempt>,
    tasks: JoinSet<()>,
    /// Trials that end because the coordinator refused their record, and its reason.
    unrecorded: BTreeMap<Attempt, String>,
    news_of_limits: Arc<Notify>,
    /// Trials wait for an endpoint whose circuit breaker is open.
    held_back: bool,
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
            plans: Plans::default(),
            claim_size: ClaimSize::new(slots),
            shares_slots: false,
            waiting: VecDeque::new(),
            arrivals: Arrivals::default(),
            running: BTreeMap::new(),
            begun: BTreeSet::new(),
            tasks: JoinSet::new(),
            unrecorded: BTreeMap::new(),
            news_of_limits: Arc::default(),
            held_back: false,
            by_task: BTreeMap::new(),
        }
    }

    pub(crate) fn agents(&self) -> Vec<String> {
        self.resources.agents.keys().cloned().collect()
    }

    /// How many trials to claim now: enough to fill the slots and to keep some waiting.
    pub(crate) fn wanted(&self) -> u32 {
        self.claim_size.wanted(self.taken())
    }

    /// A claim brought this many trials.
    pub(crate) fn granted(&mut self, trials: u64, now: Instant) {
        self.claim_size.granted(trials, now);
    }

    /// Trials that wait for a slot or have one.
    fn taken(&self) -> u32 {
        u32::try_from(self.waiting.len() + self.running.len()).unwrap_or(u32::MAX)
    }

    /// Claims more short trials at a time, and fewer long ones.
    pub(crate) fn pace(&mut self, now: Instant) {
        self.claim_size.pace(self.taken(), now);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.arrivals.is_empty() && self.running.is_empty()
    }

    /// How many arrivals more can wait here until they are due.
    pub(crate) fn ahead(&self) -> u32 {
        self.arrivals.room()
    }

    /// Whether to claim now, for free slots or for arrivals to come.
    pub(crate) fn wants(&self, now: Instant) -> bool {
        self.wanted() > 0 || self.arrivals.are_expected(now)
    }

    /// Whether the coordinator should know soon of each conversation that ends.
    pub(crate) fn shares_slots(&self) -> bool {
        self.shares_slots
    }

    /// When [`Self::start_ready`] has something to do, besides when a trial ends.
    pub(crate) fn next_start(&self) -> Option<Instant> {
        self.arrivals.next_at(self.running.len() < self.slots as usize)
    }

    pub(crate) fn busy(&self) -> u32 {
        u32::try_from(self.running.len()).unwrap_or(u32::MAX)
    }

    /// Takes all shares of limits away.
    pub(crate) fn set_no_share(&self) {
        self.resources.limits.iter().for_each(|limit| limit.set_share(Share::NONE));
    }

    /// Whether no more calls are in flight than the share of the limit allows.
    pub(crate) fn keeps_to_share(&self, limit: &str) -> bool {
        self.limits_named(limit).all(|limit| limit.is_settled())
    }

    pub(crate) fn limits_named(&self, name: &str) -> impl Iterator<Item = &Arc<Limiter>> {
        self.resources.limits.iter().filter(move |limit| limit.name() == name)
    }

    /// The most that calls in flight may cost, plus spending that is not acknowledged yet.
    pub(crate) fn unsettled_nanos(&self) -> i64 {
        (self.resources.unsettled)().saturating_add(self.outbox.owed().nanos())
    }

    /// Wakes the session when the coordinator should hear of a limit.
    pub(crate) fn news_of_limits(&self) -> Arc<Notify> {
        Arc::clone(&self.news_of_limits)
    }

    pub(crate) fn limits(&self) -> &[Arc<Limiter>] {
        &self.resources.limits
    }

    pub(crate) fn purses(&self) -> &Arc<Purses> {
        &self.resources.purses
    }

    /// Tells the purses how many trials of each run are held, and how many of them run.
    pub(crate) fn count_for_purses(&self) {
        if self.resources.purses.is_empty() {
            return;
        }
        let mut trials: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let waiting = self.waiting.iter().map(|ticket| &ticket.attempt).chain(self.arrivals.attempts());
        for (attempt, running) in waiting.map(|attempt| (attempt, 0)).chain(self.running.keys().map(|one| (one, 1))) {
            let count = trials.entry(attempt.run.as_str()).or_default();
            *count = (count.0 + 1, count.1 + running);
        }
        self.resources.purses.held(&trials);
    }

    pub(crate) fn knows(&self, digest: &Digest) -> bool {
        self.plans.knows(digest)
    }

    /// Reads a plan and keeps it for its leases.
    pub(crate) fn learn(&mut self, digest: Digest, plan: &[u8]) -> Result<(), LeaseError> {
        let text = std::str::from_utf8(plan).map_err(|error| LeaseError::Plan(error.to_string()))?;
        let plan = Plan::from_json(text).map_err(|error| LeaseError::Plan(error.to_string()))?;
        self.keep(digest, plan);
        Ok(())
    }

    pub(crate) fn keep(&mut self, digest: Digest, plan: Plan) {
        self.plans.keep(digest, plan);
    }

    /// Accepts a whole lease whose plan is known, or none of it. `began`: when the load of its run began.
    pub(crate) fn accept(&mut self, lease: &v1::Lease, began: Option<Instant>) -> Result<(), LeaseError> {
        if lease.budget {
            self.resources.purses.open(&lease.run);
        }
        let known = self.plans.get_mut(&Digest::new(lease.plan_digest.clone())).ok_or(LeaseError::Unknown)?;
        let attempt = |trial| Attempt { run: RunId::new(lease.run.clone()), trial, epoch: lease.epoch };
        let ticket = |number: u64| {
            let unknown = || LeaseError::Plan(format!("there is no trial {number}"));
            let trial = known.scripts.trial(number).ok_or_else(unknown)?;
            Ok(Ticket::new(attempt(number), trial, Arc::clone(&known.scripts)))
        };
        let tickets = || (lease.first..lease.end).map(&ticket).collect::<Result<Vec<Ticket>, LeaseError>>();
        let Some(schedule) = &known.schedule else {
            let tickets = tickets()?;
            self.shares_slots = false;
            self.waiting.extend(tickets);
            return Ok(());
        };
        let load_began = began.ok_or(LeaseError::NoStart)?;
        let drop_after = schedule.drop_after();
        let (lane, first) = lane_and_local(lease.first);
        let lane = changed_lane(schedule, &mut known.changed, lane, &lease.rates);
        let Some(lane) = lane.filter(|lane| lane.is_open()) else {
            let mut tickets = tickets()?;
            self.shares_slots = true;
            let timing = Timing { load_began, due: None, drops_at: None };
            tickets.iter_mut().for_each(|ticket| ticket.timing = Some(Box::new(timing)));
            self.waiting.extend(tickets);
            return Ok(());
        };
        // If the last one is in the plan, all are.
        ticket(lease.end.saturating_sub(1))?;
        self.shares_slots = false;
        if let Some(ends) = lane.ends() {
            self.arrivals.expect_until(load_began + ends);
        }
        let now = Instant::now();
        for (number, due) in (lease.first..lease.end).zip(lane.dues(first)) {
            let due = load_began + due;
            // A later attempt was sent before, so it is not dropped.
            let drops_at = (lease.epoch == 1).then_some(due + drop_after);
            let timing = Timing { load_began, due: Some(due), drops_at };
            let arrival = Arrival { attempt: attempt(number), scripts: Arc::clone(&known.scripts), timing, came: now };
            match drops_at {
                None if due <= now => self.waiting.push_back(arrival.ticket()),
                _ => self.arrivals.add(due, arrival),
            }
        }
        Ok(())
    }

    /// Starts waiting trials while slots are free, and drops arrivals that have waited for too long.
    pub(crate) fn start_ready(&mut self) {
        let now = Instant::now();
        // Arrivals are in the order of their times, so what has waited for too long comes first.
        while let Some((ticket, why)) = self.arrivals.take_expired(now) {
            let failure = Failure::new(FailureKind::Dropped, why);
            trial::end_unplayed(&ticket, Verdict::Skipped, failure, &self.resources, &self.outbox);
        }
        while self.running.len() < self.slots as usize {
            let Some(ticket) = self.arrivals.take_due(now).or_else(|| self.next_waiting()) else { break };
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
            fail::fail_point!("trial-begun");
        }
        self.show_slots();
    }

    /// The next trial of a run whose money is not short, and that needs no endpoint whose circuit breaker is open.
    fn next_waiting(&mut self) -> Option<Ticket> {
        let (resources, purses) = (&self.resources, &self.resources.purses);
        let closed = resources.closed_endpoints();
        let is_ready = |ticket: &Ticket| {
            !purses.is_short(ticket.attempt.run.as_str()) && (closed.is_empty() || !resources.needs(ticket, &closed))
        };
        let place = self.waiting.iter().position(is_ready);
        self.held_back = place.is_none() && !closed.is_empty() && !self.waiting.is_empty();
        self.waiting.remove(place?)
    }

    /// Starts trials that waited for an endpoint, if there are any.
    pub(crate) fn start_held_back(&mut self) {
        if self.held_back {
            self.start_ready();
        }
    }

    /// Shows in the metrics how an endpoint is.
    pub(crate) fn show_limit(&self, limit: &Limiter) {
        self.resources.metrics.limit(limit.name(), limit.adaptive_level(), limit.is_breaker_open());
    }

    /// Returns when trials have ended and their slots are free. Waits for ever while none runs.
    pub(crate) async fn finished(&mut self) {
        let Some(ended) = self.tasks.join_next_with_id().await else {
            return std::future::pending().await;
        };
        self.free(ended);
        // The caller looks at everything once, however many trials ended meanwhile.
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.free(ended);
        }
        self.show_slots();
    }

    /// Shows in the metrics whether the coordinator has welcomed us on an open stream.
    pub(crate) fn connected(&self, connected: bool) {
        self.resources.metrics.connected(connected);
    }

    /// Shows in the metrics how many messages wait for the stream.
    pub(crate) fn show_messages(&self, messages: usize) {
        self.resources.metrics.messages(messages);
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
            .chain(self.arrivals.attempts())
            .chain(self.running.keys())
            .chain(unacknowledged)
            .collect();
        ranges(all)
    }

    /// Free slots: this many of the next trials begin at once.
    pub(crate) fn idle(&self) -> u32 {
        self.slots.saturating_sub(self.taken())
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
        let waiting = self.waiting.drain(..).map(|ticket| ticket.attempt).chain(self.arrivals.take_all());
        let waiting: Vec<Attempt> = waiting.collect();
        ranges(waiting.iter().collect())
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
            // A trial that no longer runs was returned, and another worker plays it.
            if let Some(task) = self.running.get(&attempt) {
                task.abort();
                self.unrecorded.insert(attempt, reason.to_owned());
            }
        }
    }

    /// Drops trials that another worker plays now, or that no worker should play.
    pub(crate) fn fence(&mut self, fenced: &[v1::Held]) {
        let is_fenced = |attempt: &Attempt| {
            fenced.iter().any(|held| {
                held.run == attempt.run.as_str()
                    && held.epoch == attempt.epoch
                    && (held.first..held.end).contains(&attempt.trial)
            })
        };
        self.waiting.retain(|ticket| !is_fenced(&ticket.attempt));
        self.arrivals.retain(|attempt| !is_fenced(attempt));
        self.running.retain(|attempt, handle| {
            let keep = !is_fenced(attempt);
            if !keep {
                handle.abort();
            }
            keep
        });
        self.outbox.forget(is_fenced);
    }

    /// Stops a run, or only the first attempts of some trials: what is played again stays. Returns those that waited, and those that were
    /// running and are given up.
    pub(crate) fn stop_run(
        &mut self,
        run: &str,
        first_attempts: Option<&Range<u64>>,
        drain: bool,
    ) -> (Vec<v1::Held>, Vec<v1::Held>) {
        let is_chosen =
            |attempt: &Attempt| first_attempts.is_none_or(|of| attempt.epoch == 1 && of.contains(&attempt.trial));
        let is_stopped = |attempt: &Attempt| attempt.run.as_str() == run && is_chosen(attempt);
        let (mut waited, mut given_up) = (BTreeSet::new(), BTreeSet::new());
        let mut stays = |attempt: &Attempt| {
            let keep = !is_stopped(attempt);
            if !keep {
                waited.insert(attempt.clone());
            }
            keep
        };
        self.waiting.retain(|ticket| stays(&ticket.attempt));
        self.arrivals.retain(&mut stays);
        if !drain {
            self.running.retain(|attempt, handle| {
                let keep = !is_stopped(attempt);
                if !keep {
                    handle.abort();
                    given_up.insert(attempt.clone());
                }
                keep
            });
            self.outbox.forget(is_stopped);
        }
        (ranges(waited.iter().collect()), ranges(given_up.iter().collect()))
    }

    /// Ends every conversation, and waits until none is left: what one that is still ending gives to the outbox, or says of its
    /// money, would belong to the next session.
    pub(crate) async fn abandon_all(&mut self) {
        self.waiting.clear();
        self.arrivals = Arrivals::default();
        self.tasks.shutdown().await;
        self.resources.purses.forget();
        self.resources.limits.iter().for_each(|limit| limit.forget_day());
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
    #[error("find out when its load began")]
    NoStart,
}

#[cfg(test)]
mod tests;
