//! A coordinator, its store and its workers, step by step from a seed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures_util::FutureExt as _;
use record::{FailureKind, summary::RunState};
use scenario::{Digest, RunId};
use store::{Lease, Memory, RunRow, Store};

use super::{
    super::{Action, Event, Scheduler, session::lease_id},
    Chance, Mutation, Script,
    batch::commit,
    ledger::Ledger,
    worker::{Batch, Down, Up, Worker},
};
use crate::Timing;

const STEP: Duration = Duration::from_millis(250);
/// Faults happen until then.
const HEALED: Duration = Duration::from_secs(100);
/// The longest a healed run may take: a partition's time, what waits for it, and a solo lane of dozens.
const PATIENCE: Duration = Duration::from_secs(1_500);

pub(super) struct World {
    script: Script,
    mutation: Mutation,
    chance: Chance,
    now: Duration,
    timing: Timing,
    store: Memory,
    scheduler: Scheduler,
    /// Down until then.
    restart_at: Option<Duration>,
    asleep_until: Duration,
    workers: Vec<Worker>,
    /// Streams that closed, and when the coordinator notices.
    closing: Vec<(Duration, u64)>,
    /// Which worker a session was opened for.
    opened_for: BTreeMap<u64, usize>,
    resume_at: BTreeMap<RunId, Duration>,
    finished: u64,
    own: Option<(u64, u64)>,
    ledger: Ledger,
}

type Checked = Result<(), String>;

/// The store in memory answers at once.
fn at_once<T>(future: impl Future<Output = Result<T, store::Error>>) -> Result<T, String> {
    future.now_or_never().expect("the store in memory never waits").map_err(|error| error.to_string())
}

impl World {
    pub(super) fn new(script: Script, mutation: Mutation) -> Self {
        let mut timing = Timing::default();
        let never = Duration::from_secs(1_000_000);
        match mutation {
            Mutation::NoReconcile => timing.unlisted = never,
            Mutation::NoSweep => (timing.session_ttl, timing.closed_stream) = (never, never),
            _ => {}
        }
        let mut chance = Chance::new(script.seed ^ 0x5eed);
        let workers =
            (0..script.workers).map(|_| Worker::new(1 + chance.below(4) as usize, chance.one_in(4))).collect();
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
        Ok(self.ledger)
    }

    fn step(&mut self) -> Checked {
        if self.now < HEALED && !self.script.quiet {
            self.fault()?;
        }
        self.coordinator_wakes()?;
        for index in 0..self.workers.len() {
            self.worker_lives(index)?;
        }
        if self.is_up() {
            for index in 0..self.workers.len() {
                self.coordinator_reads(index)?;
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

    fn is_up(&self) -> bool {
        self.restart_at.is_none() && self.asleep_until <= self.now
    }

    fn fault(&mut self) -> Checked {
        let index = self.chance.below(self.workers.len() as u64) as usize;
        match self.chance.below(400) {
            0 | 1 => self.crash(index),
            2..=5 => self.close(index),
            6 => {
                self.workers[index].frozen_until = self.now + Duration::from_millis(self.chance.below(60_000));
            }
            7 => self.workers[index].leaving = true,
            8 => {
                self.restart_at = Some(self.now + Duration::from_millis(self.chance.below(12_000)));
                self.asleep_until = Duration::ZERO;
                for index in 0..self.workers.len() {
                    self.workers[index].close();
                    if self.script.embedded {
                        self.workers[index].reset();
                    }
                }
                self.closing.clear();
            }
            9 => self.asleep_until = self.now + Duration::from_millis(self.chance.below(70_000)),
            10 if self.is_up() => {
                let run = RunId::new(format!("run-{}", self.chance.below(self.script.planned.len() as u64)));
                self.on(Event::RunStopped { run, drain: true })?;
            }
            _ => {}
        }
        Ok(())
    }

    fn crash(&mut self, index: usize) {
        self.close(index);
        self.workers[index].reset();
        self.workers[index].frozen_until = self.now + Duration::from_millis(self.chance.below(8_000));
    }

    fn close(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        if let (true, Some(session)) = (worker.connected, worker.session) {
            self.closing.push((self.now + Duration::from_millis(self.chance.below(2_000)), session));
        }
        worker.close();
    }

    fn coordinator_wakes(&mut self) -> Checked {
        if self.restart_at.is_some_and(|at| at <= self.now) {
            self.restart_at = None;
            self.scheduler = Scheduler::new(self.timing);
            self.own = None;
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
            let session = at_once(self.store.open_session("w", 0))?;
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

    /// What the dispatcher does with a Hello.
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
        self.on(Event::Connected { session, agents: self.script.agents_of(known) })
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
                Up::Beat(held) => self.on(Event::Beat { session, held })?,
                Up::Claim { number, want } => self.on(Event::Claimed { session, number, want })?,
                Up::Release { trials, begun } => self.on(Event::Released { session, trials, begun })?,
                Up::Leave => self.on(Event::Left { session })?,
                Up::Batch(batch) => self.commit(session, &batch)?,
            }
        }
        Ok(())
    }

    fn commit(&mut self, session: u64, batch: &Batch) -> Checked {
        // Every seventh trial is one that our side breaks, whoever plays it and however often.
        let failure = |number: u64| (number % 7 == 3).then_some(FailureKind::SimulatorFailed);
        let ended = batch.ended.iter().map(|(number, epoch)| (*number, *epoch, failure(*number))).collect();
        let committed = at_once(self.store.commit(&commit(session, batch.sequence, &batch.run, ended), 0))?;
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

    fn on(&mut self, event: Event) -> Checked {
        for action in self.scheduler.on(event, self.now) {
            if let Some(history) = &mut self.ledger.history {
                history.push(format!("{:?} {action:?}", self.now));
            }
            self.act(action)?;
        }
        Ok(())
    }

    fn act(&mut self, action: Action) -> Checked {
        match action {
            Action::Grant { session, claim, mut leases, new } => {
                if self.mutation == Mutation::EpochStays {
                    leases.iter_mut().for_each(|lease| lease.epoch = 1);
                }
                if new {
                    at_once(self.store.grant(&leases, 0))?;
                    leases.iter().try_for_each(|lease| self.granted(lease))?;
                } else if !leases.is_empty() {
                    self.ledger.events.insert("repeated grant");
                }
                self.send(session, Down::Grant { claim, leases });
            }
            Action::Release { session, leases, begun } => {
                self.ledger.events.insert(if begun { "given up" } else { "returned" });
                if self.mutation != Mutation::ReleaseForgotten {
                    at_once(self.store.release(session, &leases, begun, 0))?;
                    self.ledger.released(&leases, begun)?;
                }
            }
            Action::EndSession { session, solo, .. } => {
                if solo != self.ledger.plays_solo(session) {
                    return Err(format!("session {session} is over, solo: {solo}"));
                }
                if self.mutation != Mutation::EndForgotten {
                    let lost = at_once(self.store.end_session(session, "over", solo, 0))?;
                    self.ledger.lost(session, solo, &lost)?;
                }
                self.send(session, Down::Goodbye);
            }
            Action::Poison { run, trial, epoch } => self.poison(&run, trial, epoch)?,
            Action::Finish { run, state, .. } => {
                at_once(self.store.set_state(&run, state, Some(0)))?;
                if state == RunState::Finished {
                    self.finished += 1;
                } else {
                    self.ledger.events.insert("interrupted");
                    self.resume_at.insert(run, self.now + Duration::from_millis(self.chance.below(20_000)));
                }
            }
            Action::Fence { session, trials } => self.send(session, Down::Fenced(trials)),
            Action::Renew { session } => self.send(session, Down::Renewed),
            Action::Stop { session, run, drain } => self.send(session, Down::Stop { run, drain }),
        }
        Ok(())
    }

    fn granted(&mut self, lease: &Lease) -> Checked {
        let worker = self.opened_for.get(&lease.session).copied().ok_or("a session that was never opened")?;
        if !self.script.agents_of(worker).contains(lease.run.as_str()) {
            return Err(format!("{lease:?} was lent to worker {worker}, which does not know its agent"));
        }
        self.ledger.granted(lease)
    }

    fn poison(&mut self, run: &RunId, trial: u64, epoch: u32) -> Checked {
        self.ledger.poisoned(run, trial)?;
        let (session, sequence) = match self.own {
            Some((session, sequence)) => (session, sequence + 1),
            None => (at_once(self.store.open_session("coordinator", 0))?, 1),
        };
        self.own = Some((session, sequence));
        let lease =
            Lease { id: lease_id(session, sequence, 0), run: run.clone(), trials: trial..trial + 1, epoch, session };
        at_once(self.store.grant(&[lease], 0))?;
        let committed = at_once(
            self.store.commit(&commit(session, sequence, run, vec![(trial, epoch, Some(FailureKind::Poisoned))]), 0),
        )?;
        if committed.counted != [trial] {
            return Err(format!("the poisoned trial {trial} was not counted"));
        }
        self.ledger.poison_counted(run, trial)?;
        self.on(Event::Ended { session, run: run.clone(), trials: committed.counted })
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
                let lost = at_once(self.store.end_session(session, "restart", false, 0))?;
                self.ledger.lost(session, false, &lost)?;
            }
            recovered = at_once(self.store.recover(run))?;
        } else if !unknown.is_empty() {
            self.ledger.events.insert("resumed session");
        }
        if recovered.lost_attempts != self.ledger.lost_attempts(run) {
            return Err(format!("{} attempts are stored as lost", recovered.lost_attempts));
        }
        let agents = BTreeSet::from([run.as_str().to_owned()]);
        self.on(Event::RunStarted { run: run.clone(), planned, agents, recovered })
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

    /// At the end everything is done, once, and only those are poisoned that bring workers down.
    fn audit(&self) -> Checked {
        for (planned, index) in self.script.planned.iter().zip(0_u64..) {
            let run = RunId::new(format!("run-{index}"));
            let stored = at_once(self.store.trials(&run, 0, u32::MAX))?;
            let numbers: Vec<u64> = stored.iter().map(|stored| stored.trial.number).collect();
            if numbers != (0..*planned).collect::<Vec<_>>() || self.ledger.done(&run) != *planned {
                return Err(format!("{run}: {numbers:?} of {planned} are done"));
            }
            if let Some(unplayed) = stored.iter().find(|stored| stored.again) {
                return Err(format!("{run}: {} is to be played again", unplayed.trial.number));
            }
            let recovered = at_once(self.store.recover(&run))?;
            if recovered.replayed_attempts != self.ledger.replayed(&run) {
                return Err(format!("{run}: {} attempts are stored as replayed", recovered.replayed_attempts));
            }
            if recovered.lost_attempts != self.ledger.lost_attempts(&run) || !recovered.leases.is_empty() {
                return Err(format!("{run}: {recovered:?}"));
            }
        }
        let innocent = self.ledger.poisoned.iter().find(|(_, trial)| Some(*trial) != self.script.killer);
        match innocent {
            Some(innocent) if self.script.quiet => Err(format!("{innocent:?} is poisoned and brings nothing down")),
            // Workers that crash by themselves can hit the same trial alone three times.
            _ => Ok(()),
        }
    }
}
