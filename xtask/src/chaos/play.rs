//! Plays one run under a script: injects and heals faults, restarts processes, and watches until the run ends.

use std::time::{Duration, Instant};

use invariants::{Findings, Invariant, Known};
use rustix::process::Signal;

use super::{
    clock::{self, TICK, now},
    fault::Fault,
    fleet::{Fleet, RUN, SLOTS},
    found::Found,
    link::{Pace, Weather},
    place::{PRICE, nanos},
    process::{Role, tail},
    result::Outcome,
    script::Step,
};

/// How long a late run is watched, to distinguish a slow run from one that never ends.
const LATE: Duration = Duration::from_secs(60);
/// From `submit` to the first progress.
const SUBMITTED_WITHIN: Duration = Duration::from_secs(60);
/// SIGTERM takes effect within this time under every fault.
const STOPS_WITHIN: Duration = Duration::from_secs(60);
/// The pause before another try if the target is away.
const AGAIN: Duration = Duration::from_millis(300);
const DELAYED: Duration = Duration::from_millis(200);
const SLOW_BYTES_PER_SECOND: u32 = 8 * 1024;
/// Watchers that ended for another reason than the end of the run.
const WATCHERS: u32 = 5;

/// Of a coordinator, in bytes.
pub(crate) const MOST_MEMORY: u64 = 512 << 20;

/// The reference that a run is compared with.
#[derive(Debug, Clone)]
pub(crate) struct Calm {
    pub(crate) took: Duration,
    pub(crate) code: i32,
    pub(crate) view: String,
    pub(crate) trials: u64,
}

impl Calm {
    pub(crate) fn limit(&self) -> Duration {
        2 * self.took + Duration::from_secs(30)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Coordinator,
    Worker(usize),
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Strike(Step),
    Start(Who),
    Wake(Who),
    Clear(usize),
}

/// A run in progress.
pub(crate) struct Play<'f, 'p> {
    fleet: &'f mut Fleet<'p>,
    /// The coming steps, by their time since the coordinator has the run.
    agenda: Vec<(Duration, Act)>,
    began: Instant,
    outcome: Outcome,
}

/// Submits the run, plays the script, and checks the results.
pub(crate) fn play(fleet: &mut Fleet<'_>, mut outcome: Outcome, calm: &Calm) -> anyhow::Result<Outcome> {
    fleet.start_workers()?;
    let submitted = now();
    let watcher = submit(fleet)?;
    outcome.limit = calm.limit();
    let agenda = outcome.script.iter().map(|step| (step.at, Act::Strike(*step))).collect();
    let mut play = Play { fleet, agenda, began: now(), outcome };
    let ended = play.until_the_end(watcher, submitted, calm.code)?;
    let Play { fleet, mut outcome, .. } = play;
    finish(fleet, &mut outcome, ended, calm)?;
    Ok(outcome)
}

/// Sends the run and waits for its first progress.
pub(crate) fn submit(fleet: &mut Fleet<'_>) -> anyhow::Result<Role> {
    let mut watcher = fleet.submit()?;
    let accepted = clock::until(SUBMITTED_WITHIN, || {
        fleet.revive()?;
        let ended = watcher.ended()?;
        if ended.is_some() && fleet.crashes() > 0 && watcher.logged().contains("no coordinator answers") {
            // It was sent in the moment of a planned crash, and `submit` does not wait for a first answer.
            watcher = fleet.submit()?;
            return Ok(None);
        }
        anyhow::ensure!(ended.is_none(), "submit ended with {ended:?}: {}", tail(&watcher.logged(), 3));
        Ok(watcher.logged().contains(" trials ").then_some(()))
    })?;
    anyhow::ensure!(accepted.is_some(), "no progress {SUBMITTED_WITHIN:?} after submit");
    Ok(watcher)
}

/// Heals the fleet, and holds the run against the rules.
pub(crate) fn finish(fleet: &mut Fleet<'_>, outcome: &mut Outcome, ended: bool, calm: &Calm) -> anyhow::Result<()> {
    outcome.broken.extend(fleet.panics());
    if !ended {
        return Ok(());
    }
    fleet.heal()?;
    match fleet.view().and_then(|view| Found::read(&fleet.folder, calm.trials, view, nanos(PRICE))) {
        Ok(found) => {
            outcome.lost = Some(found.number("/attempts/lost"));
            let parted = outcome.struck.iter().filter(|(fault, _)| fault.strikes_worker());
            let strikes: u32 = parted.map(|(_, times)| times).sum::<u32>() + fleet.crashes();
            let workers = fleet.workers.len() as u64;
            let known = Known { unheard: u64::from(strikes) * workers * u64::from(SLOTS), ..Known::default() };
            outcome.look(found.findings(&calm.view, &known, &[]));
        }
        Err(error) => outcome.broken.push(format!("the report cannot be read: {error:#}")),
    }
    Ok(())
}

impl Play<'_, '_> {
    /// Whether it ended.
    fn until_the_end(&mut self, mut watcher: Role, submitted: Instant, code: i32) -> anyhow::Result<bool> {
        let mut watchers = 1;
        loop {
            self.act()?;
            self.fleet.revive()?;
            self.look_after()?;
            let took = submitted.elapsed();
            match watcher.ended()? {
                Some(found) if found == code => {
                    self.outcome.took = Some(took);
                    let mut findings = Findings::default();
                    findings.add(Invariant::Ends, invariants::ends(took, self.outcome.limit));
                    let resident = self.fleet.coordinator.most_resident();
                    findings.add(Invariant::Memory, invariants::memory(resident, MOST_MEMORY));
                    self.outcome.look(findings);
                    return Ok(true);
                }
                Some(found) => {
                    let said = tail(&watcher.logged(), 3);
                    self.outcome.broken.push(format!("the watcher ended with {found} instead of {code}: {said}"));
                    if watchers == WATCHERS {
                        return Ok(false);
                    }
                    watchers += 1;
                    // Only the run counts.
                    self.fleet.heal()?;
                    watcher = self.fleet.watch()?;
                }
                None => {}
            }
            if took > self.outcome.limit + LATE {
                let said = tail(&watcher.logged(), 1);
                let text = format!("run {RUN} has not ended after {:.0} s: {said}", took.as_secs_f64());
                self.outcome.broken.push(text);
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
    }

    /// All that is due.
    fn act(&mut self) -> anyhow::Result<()> {
        loop {
            let elapsed = self.began.elapsed();
            let due = self.agenda.iter().position(|(at, _)| *at <= elapsed);
            let Some(place) = due else { return Ok(()) };
            match self.agenda.remove(place).1 {
                Act::Strike(step) => {
                    if self.strike(step) {
                        *self.outcome.struck.entry(step.fault).or_default() += 1;
                    } else {
                        self.later(AGAIN, Act::Strike(step));
                    }
                }
                Act::Start(who) => {
                    let role = self.role(who);
                    if !role.is_there() {
                        role.start()?;
                    }
                }
                Act::Wake(who) => self.role(who).signal(Signal::CONT),
                Act::Clear(worker) => self.fleet.workers[worker].link.set(Weather::Clear),
            }
        }
    }

    fn later(&mut self, after: Duration, act: Act) {
        self.agenda.push((self.began.elapsed() + after, act));
    }

    fn role(&mut self, who: Who) -> &mut Role {
        match who {
            Who::Coordinator => &mut self.fleet.coordinator,
            Who::Worker(number) => &mut self.fleet.workers[number].role,
        }
    }

    /// Returns whether there was a target.
    fn strike(&mut self, step: Step) -> bool {
        let workers = self.fleet.workers.len();
        let worker = step.worker.min(workers - 1);
        let all = if step.worker < workers { worker..worker + 1 } else { 0..workers };
        match step.fault {
            Fault::KillWorker => self.kill(&[Who::Worker(worker)], step),
            Fault::KillCoordinator => self.kill(&[Who::Coordinator], step),
            Fault::KillBoth => {
                let whom: Vec<Who> = std::iter::once(Who::Coordinator).chain(all.map(Who::Worker)).collect();
                self.kill(&whom, step)
            }
            Fault::PauseWorker => self.pause(Who::Worker(worker), step),
            Fault::PauseCoordinator => self.pause(Who::Coordinator, step),
            Fault::StopWorker => self.stop(Who::Worker(worker)),
            Fault::StopCoordinator => self.stop(Who::Coordinator),
            Fault::Delay | Fault::Cut | Fault::HalfOpen | Fault::Slow | Fault::Reset => {
                self.trouble(worker, step.fault);
                self.later(step.lasts.unwrap_or_default(), Act::Clear(worker));
                true
            }
            Fault::KillStorm | Fault::CrashLoop | Fault::FullDisk | Fault::SlowDisk | Fault::SlowLink | Fault::All => {
                true
            }
        }
    }

    /// Kills all of them at the same moment, if they are running.
    fn kill(&mut self, whom: &[Who], step: Step) -> bool {
        if !whom.iter().any(|who| self.role(*who).is_there()) {
            return false;
        }
        // First the signals, then the waits.
        whom.iter().for_each(|who| self.role(*who).signal(Signal::KILL));
        for who in whom {
            if self.role(*who).kill() {
                self.outcome.processes += 1;
            }
            if let Some(lasts) = step.lasts {
                self.later(lasts, Act::Start(*who));
            }
        }
        self.outcome.kills += 1;
        true
    }

    fn pause(&mut self, who: Who, step: Step) -> bool {
        let role = self.role(who);
        if !role.is_there() || role.stopping.is_some() {
            return false;
        }
        role.signal(Signal::STOP);
        self.later(step.lasts.unwrap_or_default(), Act::Wake(who));
        true
    }

    /// Started again when it has ended.
    fn stop(&mut self, who: Who) -> bool {
        let role = self.role(who);
        if !role.is_there() || role.stopping.is_some() {
            return false;
        }
        role.stop();
        true
    }

    fn trouble(&self, worker: usize, fault: Fault) {
        let link = &self.fleet.workers[worker].link;
        let slow = Pace { bytes_per_second: Some(SLOW_BYTES_PER_SECOND), ..Pace::delayed(Duration::ZERO) };
        match fault {
            Fault::Delay => link.set(Weather::Slow(Pace::delayed(DELAYED))),
            Fault::Slow => link.set(Weather::Slow(slow)),
            Fault::Cut => link.cut(),
            Fault::HalfOpen => link.half_open(),
            _ => link.reset(),
        }
    }

    /// Restarts processes that have ended. None may end by itself.
    fn look_after(&mut self) -> anyhow::Result<()> {
        let workers = (0..self.fleet.workers.len()).map(Who::Worker);
        for who in std::iter::once(Who::Coordinator).chain(workers) {
            let role = self.role(who);
            let (name, stopping, young) = (role.name.clone(), role.stopping, role.was_young);
            let Some(code) = role.ended()? else {
                if stopping.is_some_and(|since| since.elapsed() > STOPS_WITHIN) {
                    role.kill();
                    self.outcome.broken.push(format!("{name} goes on {STOPS_WITHIN:?} after SIGTERM"));
                    self.later(AGAIN, Act::Start(who));
                }
                continue;
            };
            let said = tail(&role.logged(), 2);
            role.stopping = None;
            match stopping {
                // Results that it could not send while the coordinator was away are played again.
                Some(_) if code == 0 || (code == 3 && said.contains("the coordinator was away")) => {}
                // Nothing had begun yet.
                Some(_) if code == -1 && young => {}
                Some(_) => self.outcome.broken.push(format!("{name} ended with {code} after SIGTERM: {said}")),
                None => self.outcome.broken.push(format!("{name} ended by itself with {code}: {said}")),
            }
            self.later(AGAIN, Act::Start(who));
        }
        Ok(())
    }
}
