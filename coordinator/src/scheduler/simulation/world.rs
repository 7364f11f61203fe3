//! A coordinator, its store and its workers, step by step from a seed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures_util::FutureExt as _;
use record::{FailureKind, Usd, summary::RunState};
use scenario::{Digest, RunId};
use store::{Lease, Memory, RunRow, Store};

use super::{
    super::{Event, Held, Scheduler},
    batch::commit,
    chance::Chance,
    ledger::Ledger,
    mutation::Mutation,
    script::FaultScript,
    worker::{Batch, Down, Up, Worker},
};
use crate::Timing;

mod actions;

const STEP: Duration = Duration::from_millis(250);
/// Faults happen until then.
const HEALED: Duration = Duration::from_secs(100);
/// The longest that a healed run may take: the time of a partition, what waits for it, and dozens of suspects.
const PATIENCE: Duration = Duration::from_secs(1_500);

pub(super) struct World {
    pub(super) script: FaultScript,
    mutation: Mutation,
    pub(super) chance: Chance,
    pub(super) now: Duration,
    timing: Timing,
    pub(super) store: Memory,
    pub(super) scheduler: Scheduler,
    /// Down until then.
    pub(super) restart_at: Option<Duration>,
    pub(super) asleep_until: Duration,
    pub(super) workers: Vec<Worker>,
    /// Streams that closed, and when the coordinator notices.
    pub(super) closing: Vec<(Duration, u64)>,
    /// Which worker a session was opened for.
    opened_for: BTreeMap<u64, usize>,
    resume_at: BTreeMap<RunId, Duration>,
    finished: u64,
    own: Option<(u64, u64)>,
    /// What has begun and is not stored yet, by session.
    begun: BTreeMap<u64, Vec<Lease>>,
    pub(super) next_crash: Duration,
    is_calm: bool,
    pub(super) ledger: Ledger,
}

pub(super) type Checked = Result<(), String>;

/// The in-memory store answers at once.
pub(super) fn at_once<T>(future: impl Future<Output = Result<T, store::Error>>) -> Result<T, String> {
    future.now_or_never().expect("the store in memory never waits").map_err(|error| error.to_string())
}

impl World {
    pub(super) fn new(script: FaultScript, mutation: Mutation) -> Self {
        let mut timing = Timing::default();
        let never = Duration::from_secs(1_000_000);
        match mutation {
            Mutation::NoReconcile => (timing.unlisted, timing.relisted) = (never, never),
            Mutation::NoSweep => (timing.session_ttl, timing.closed_stream) = (never, never),
            _ => {}
        }
        let mut chance = Chance::new(script.seed ^ 0x5eed);
        let workers = (0..script.workers)
            .map(|_| Worker::new(script.slots.unwrap_or(1 + chance.below(4) as usize), chance.one_in(4)))
            .collect();
        Self {
            script,
            mutation,
            chance,
            now: Duration::ZERO,
            timing,
            store: Memory::new(),
            scheduler: Scheduler::new(timing),
            restart_at: None,
            asleep_until: Duration::ZERO,
            workers,
            closing: Vec::new(),
            opened_for: BTreeMap::new(),
            resume_at: BTreeMap::new(),
            finished: 0,
            own: None,
            begun: BTreeMap::new(),
            next_crash: Duration::ZERO,
            is_calm: false,
            ledger: Ledger::default(),
        }
    }

    /// Keeps everything that was carried out, for comparison.
    pub(super) fn recorded(mut self) -> Self {
        self.ledger.history = Some(Vec::new());
        self
    }

    pub(super) fn play(mut self) -> Result<Ledger, String> {
        for (planned, index) in self.script.planned.clone().into_iter().zip(0_u64..) {
            let run = RunId::new(format!("run-{index}"));
            self.ledger.planned.insert(run.clone(), planned);
            self.create(&run, planned)?;
            self.start(&run)?;
        }
        if self.script.planned.len() > 1 {
            self.ledger.events.insert("two runs");
        }
        if (0..self.workers.len()).any(|worker| self.script.agents_of(worker).len() < self.script.planned.len()) {
            self.ledger.events.insert("unknown agent");
        }
        while self.finished < self.script.planned.len() as u64 {
            if self.now > HEALED + PATIENCE {
                return Err(format!("stuck: {:?}", self.scheduler));
            }
            self.now += STEP;
            self.step()?;
        }
        self.audit()?;
        self.ledger.finished_at = self.now;
        Ok(self.ledger)
    }

    fn step(&mut self) -> Checked {
        if self.now < HEALED && !self.script.quiet {
            self.fault()?;
        }
        self.scripted_faults();
        self.coordinator_wakes()?;
        for index in 0..self.workers.len() {
            self.worker_lives(index)?;
        }
        if self.is_up() {
            for index in 0..self.workers.len() {
                self.coordinator_reads(index)?;
            }
            if self.now >= HEALED && !self.is_calm {
                self.is_calm = true;
                self.resume_all()?;
            }
            let (over, closing) = self.closing.drain(..).partition(|(at, _)| *at <= self.now);
            self.closing = closing;
            let over: Vec<(Duration, u64)> = over;
            for (_, session) in over {
                let open = self.workers.iter().any(|worker| worker.session == Some(session) && worker.connected);
                if !open {
                    self.on(Event::Disconnected { session })?;
                }
            }
            self.on(Event::Tick)?;
        }
        Ok(())
    }

    pub(super) fn is_up(&self) -> bool {
        self.restart_at.is_none() && self.asleep_until <= self.now
    }

    fn coordinator_wakes(&mut self) -> Checked {
        if self.restart_at.is_some_and(|at| at <= self.now) {
            self.restart_at = None;
            self.scheduler = Scheduler::new(self.timing);
            self.own = None;
            self.begun.clear();
            self.ledger.restarted(self.now);
            for row in at_once(self.store.runs())? {
                if row.state == RunState::Running {
                    self.start(&row.id)?;
                }
            }
        }
        if self.is_up() {
            let due: Vec<RunId> =
                self.resume_at.iter().filter(|(_, at)| **at <= self.now).map(|(run, _)| run.clone()).collect();
            for run in due {
                self.resume_at.remove(&run);
                self.end_pause(&run)?;
                at_once(self.store.resume(&run, &[], 2))?;
                self.ledger.resumed(&run);
                self.start(&run)?;
            }
        }
        Ok(())
    }

    fn worker_lives(&mut self, index: usize) -> Checked {
        if self.workers[index].frozen_until > self.now {
            return Ok(());
        }
        if self.workers[index].session.is_none() && self.is_up() {
            let session = at_once(self.store.open_session("w", &Digest::new(""), self.at()))?;
            self.on(Event::Joined { session })?;
            self.opened_for.insert(session, index);
            self.workers[index].joined(session, self.now);
        }
        if !self.workers[index].connected && self.is_up() && self.chance.one_in(6) {
            self.connect(index)?;
        }
        let worker = &mut self.workers[index];
        while worker.down.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((_, message)) = worker.down.pop_front() {
                worker.hear(message, self.now, &mut self.chance);
            }
        }
        worker.live(self.now, &mut self.chance);
        let killer = self.script.killer.filter(|killer| worker.plays(&RunId::new("run-0"), *killer));
        if killer.is_some() && self.chance.one_in(4) {
            self.crash(index);
        }
        Ok(())
    }

    /// Does what the dispatcher does with a Hello.
    fn connect(&mut self, index: usize) -> Checked {
        let Some(session) = self.workers[index].session else { return Ok(()) };
        let Some(acknowledged) = at_once(self.store.watermark(session))? else {
            self.ledger.events.insert("goodbye");
            self.workers[index].reset();
            return Ok(());
        };
        if !self.scheduler.knows(session) {
            self.on(Event::Joined { session })?;
        }
        self.workers[index].connected = true;
        self.send(session, Down::Welcome { acknowledged });
        let known = if self.mutation == Mutation::AgentsIgnored { 0 } else { index };
        self.on(Event::Connected { session, agents: self.script.agents_of(known), slots: 4 })
    }

    fn coordinator_reads(&mut self, index: usize) -> Checked {
        while let Some((at, _)) = self.workers[index].up.front() {
            if *at > self.now {
                break;
            }
            let (Some(session), Some((_, message))) = (self.workers[index].session, self.workers[index].up.pop_front())
            else {
                break;
            };
            match message {
                Up::Heartbeat(held) => self.heartbeat(session, held)?,
                Up::Claim { number, want, idle, ahead } => {
                    self.on(Event::Claimed { session, number, want, idle, ahead })?;
                }
                Up::Begun(trials) => self.on(Event::Begun { session, trials })?,
                Up::Release { trials, begun } => self.on(Event::Released { session, trials, begun })?,
                Up::Leave => self.on(Event::Left { session })?,
                Up::Batch(batch) => self.commit(session, &batch)?,
            }
        }
        Ok(())
    }

    pub(super) fn at(&self) -> i64 {
        self.now.as_millis() as i64
    }

    fn heartbeat(&mut self, session: u64, held: Vec<Held>) -> Checked {
        let begun = self.begun.remove(&session).unwrap_or_default();
        match self.store.heartbeat(session, Usd(0), &begun, self.at()).now_or_never() {
            // A worker learns that its session is over from the answer to a batch, or from a closed stream.
            Some(Ok(()) | Err(store::Error::SessionOver(_))) => {}
            other => return Err(format!("a heartbeat was not stored: {other:?}")),
        }
        self.on(Event::Heartbeat { session, held: Some(held) })
    }

    fn commit(&mut self, session: u64, batch: &Batch) -> Checked {
        // Our side breaks every seventh trial, on every worker and in every attempt.
        let failure = |number: u64| (number % 7 == 3).then_some(FailureKind::SimulatorFailed);
        let ended = batch.ended.iter().map(|(number, epoch)| (*number, *epoch, failure(*number))).collect();
        let mut commit = commit(session, batch.sequence, &batch.run, ended);
        commit.begun = self.begun.remove(&session).unwrap_or_default();
        let committed = at_once(self.store.commit(&commit, self.at()))?;
        if committed.session_over {
            self.send(session, Down::Goodbye);
            return Ok(());
        }
        if committed.duplicate {
            self.ledger.events.insert("duplicate batch");
        }
        for number in &committed.counted {
            let epoch = batch.ended.iter().find(|(trial, _)| trial == number).map_or(0, |(_, epoch)| *epoch);
            self.ledger.counted(&batch.run, *number, session, epoch)?;
        }
        for number in &committed.again {
            let epoch = batch.ended.iter().find(|(trial, _)| trial == number).map_or(0, |(_, epoch)| *epoch);
            self.ledger.ended_for_now(&batch.run, *number, session, epoch)?;
        }
        if !committed.fenced.is_empty() {
            self.ledger.events.insert("fenced trial");
        }
        self.send(session, Down::Acknowledged { sequence: batch.sequence });
        self.on(Event::Ended { session, run: batch.run.clone(), trials: committed.counted })?;
        if committed.again.is_empty() {
            return Ok(());
        }
        self.on(Event::Again { session, run: batch.run.clone(), trials: committed.again })
    }

    pub(super) fn on(&mut self, event: Event) -> Checked {
        for action in self.scheduler.on(event, self.now) {
            if let Some(history) = &mut self.ledger.history {
                history.push(format!("{:?} {action:?}", self.now));
            }
            self.act(action)?;
        }
        Ok(())
    }

    fn create(&mut self, run: &RunId, planned: u64) -> Checked {
        let row = RunRow {
            id: run.clone(),
            name: String::new(),
            plan_digest: Digest::new("plan"),
            seed: 0,
            planned,
            state: RunState::Running,
            started_at: 0,
            ended_at: None,
            version: String::new(),
            exhausted: false,
            max_cost: None,
            preflight: record::call::Spend::default(),
        };
        at_once(self.store.create_run(&row, b"{}"))
    }

    fn start(&mut self, run: &RunId) -> Checked {
        let planned = at_once(self.store.run(run))?.ok_or("the run is not stored")?.planned;
        let mut recovered = at_once(self.store.recover(run))?;
        let unknown: BTreeSet<u64> = recovered
            .leases
            .iter()
            .map(|lease| lease.session)
            .filter(|session| !self.scheduler.knows(*session))
            .collect();
        if self.script.embedded {
            for session in unknown {
                self.ledger.events.insert("reclaimed");
                let lost = at_once(self.store.end_session(session, "restart", false, &[], self.at()))?;
                self.ledger.lost(session, false, &lost, self.now)?;
            }
            recovered = at_once(self.store.recover(run))?;
        } else if !unknown.is_empty() {
            self.ledger.events.insert("resumed session");
        }
        if recovered.lost_attempts != self.ledger.lost_attempts(run) {
            return Err(format!("{} attempts are stored as lost", recovered.lost_attempts));
        }
        let agents = BTreeSet::from([run.as_str().to_owned()]);
        let silence = |(session, seen): &(u64, i64)| (*session, Duration::from_millis((self.at() - seen) as u64));
        let silent = recovered.seen.iter().map(silence).collect();
        let work = self.work(run, planned, &recovered);
        let stored = recovered.clone();
        self.on(Event::RunStarted { run: run.clone(), work, agents, recovered: recovered.into(), silent })?;
        self.obey_stored_pause(run, &stored)
    }

    fn send(&mut self, session: u64, message: Down) {
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.session == Some(session) && worker.connected)
        else {
            return;
        };
        let earliest = worker.down.back().map_or(self.now, |(at, _)| *at).max(self.now);
        let late = if self.chance.one_in(20) { self.chance.below(3_000) } else { 0 };
        worker.down.push_back((earliest + Duration::from_millis(late), message));
    }

    /// At the end every trial is done exactly once, and only trials that crash workers are poisoned.
    fn audit(&self) -> Checked {
        for (run, planned) in &self.ledger.planned {
            let stored = at_once(self.store.trials(run, 0, u32::MAX))?;
            let numbers: Vec<u64> = stored.iter().map(|stored| stored.trial.number).collect();
            if numbers != (0..*planned).collect::<Vec<_>>() || self.ledger.done(run) != *planned {
                return Err(format!("{run}: {numbers:?} of {planned} are done"));
            }
            if let Some(unplayed) = stored.iter().find(|stored| stored.again) {
                return Err(format!("{run}: {} is to be played again", unplayed.trial.number));
            }
            let recovered = at_once(self.store.recover(run))?;
            if recovered.replayed_attempts != self.ledger.replayed(run) {
                return Err(format!("{run}: {} attempts are stored as replayed", recovered.replayed_attempts));
            }
            if recovered.lost_attempts != self.ledger.lost_attempts(run) || !recovered.leases.is_empty() {
                return Err(format!("{run}: {recovered:?}"));
            }
        }
        match self.ledger.poisoned.iter().find(|(_, trial)| Some(*trial) != self.script.killer) {
            Some(innocent) => Err(format!("{innocent:?} is poisoned and brings nothing down")),
            None => Ok(()),
        }
    }
}
