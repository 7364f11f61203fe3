//! Two coordinators on PostgreSQL, five workers, and a run with a budget, while a random one of all these processes is killed.

mod crash;
mod fleet;
mod outcome;

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use invariants::{Findings, Invariant, Known};
use rustix::process::Signal;

use super::{
    Chaos,
    chance::Chance,
    clock::{TICK, now},
    found::Found,
    place::{Place, nanos},
    play::MOST_MEMORY,
    process::{Role, tail},
};
pub(super) use crash::crash_points;
use fleet::{Fleet, PRICE, Target, limit};
use outcome::{Calm, Outcome};

/// Of the undisturbed run's cost. What killed workers held counts as spent.
const BUDGET: f64 = 3.0;
/// The same, while the store is slow: workers hold more, as it takes its time to hear what their calls cost.
const SLOW_BUDGET: f64 = 30.0;
/// Enough for every run; a budget changes what is measured, so the undisturbed run has one too.
const PLENTY: f64 = 1_000.0;
/// How long a process hangs. A coordinator in charge is replaced after three seconds.
const HANGS_MS: (u64, u64) = (1_000, 12_000);
/// One that hangs for longer certainly is: its time in charge, and the looks of the other one.
const REPLACED_AFTER: Duration = Duration::from_secs(5);
/// A supervisor's pause.
const AGAIN: Duration = Duration::from_millis(300);
const LATE: Duration = Duration::from_secs(60);
/// More would leave a run of 5,000 trials no time to go on between them.
const MOST_KILLS_OF_A_RUN: u32 = 30;
const MOST_PAUSES_OF_A_RUN: u32 = 10;
/// Watchers that ended for another reason than the end of the run.
const WATCHERS: u32 = 3;

/// `--max-cost` was given with six digits.
const ROUNDED: f64 = 1e-5;

/// What a coordinator may say when it ends by itself: its database is away, and a supervisor starts it again.
const MAY_END: [&str; 2] = ["failed to open the store", "failed to start the coordinator"];

pub(super) fn run(chaos: &Chaos, place: &Place) -> anyhow::Result<Outcome> {
    let calm = undisturbed(chaos, place)?;
    let mut outcome = Outcome::new(chaos, &calm);
    outcome.announce();
    let mut round = 0;
    // What one run does not take is left to the next one.
    let is_done = |outcome: &Outcome| outcome.kills() >= chaos.kills && outcome.pauses() >= chaos.pauses;
    while !is_done(&outcome) && outcome.broken.is_empty() && round < 2 + (chaos.kills + chaos.pauses) / 5 {
        round += 1;
        let kills = chaos.kills.saturating_sub(outcome.kills()).min(MOST_KILLS_OF_A_RUN);
        let pauses = chaos.pauses.saturating_sub(outcome.pauses()).min(MOST_PAUSES_OF_A_RUN);
        disturbed(chaos, place, &calm, (round, kills, pauses), &mut outcome)?;
    }
    if !is_done(&outcome) {
        outcome.broken.push(format!("only {} kills and {} pauses struck", outcome.kills(), outcome.pauses()));
    }
    Ok(outcome)
}

fn undisturbed(chaos: &Chaos, place: &Place) -> anyhow::Result<Calm> {
    let mut fleet = Fleet::new(place, "undisturbed", chaos)?;
    fleet.start()?;
    let began = now();
    let mut watcher = fleet.submit(PLENTY)?;
    let code = loop {
        if let Some(code) = watcher.ended()? {
            break code;
        }
        std::thread::sleep(TICK);
    };
    let took = began.elapsed();
    ensure!([0, 1].contains(&code), "the undisturbed run ended with {code}: {}", tail(&watcher.logged(), 3));
    let view = fleet.view()?;
    let found = Found::read(&fleet.folder, chaos.trials, view.clone(), nanos(PRICE));
    let found = found.context("failed to read the undisturbed run")?;
    let broken: Vec<String> =
        found.findings(&view, &Known { limit: Some(limit(chaos.trials)), ..Known::default() }, &[]).broken().collect();
    ensure!(broken.is_empty(), "the undisturbed run: {}", broken.join("; "));
    let cost = found.run.report["summary"]["budget"]["spent_usd"].as_f64().context("the report has no budget")?;
    Ok(Calm { took, code, view, cost })
}

/// The budget of a run with kills, of the undisturbed run's cost.
fn times(chaos: &Chaos) -> f64 {
    if chaos.slow_fsync > 0 { SLOW_BUDGET } else { BUDGET }
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Kill(Target, Duration),
    Start(Target),
    Hang(Target, Duration),
    Wake(Target),
    Stop(Target),
}

struct Play<'f, 'p> {
    fleet: &'f mut Fleet<'p>,
    agenda: Vec<(Duration, Act)>,
    began: Instant,
    /// When the coordinator in charge was killed, until another one is in charge.
    vacant: Option<Instant>,
    hangs: BTreeSet<Target>,
}

fn disturbed(
    chaos: &Chaos,
    place: &Place,
    calm: &Calm,
    (round, kills, pauses): (u32, u32, u32),
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let budget = calm.cost * times(chaos);
    let mut fleet = Fleet::new(place, &format!("round-{round}"), chaos)?;
    fleet.start()?;
    let submitted = now();
    let mut watcher = fleet.submit(budget)?;
    fleet.accepted(&mut watcher)?;
    let mut chance = Chance::new(chaos.seed, u64::from(round));
    let mut agenda = script(&mut chance, kills, calm.took);
    agenda.extend(hangs(&mut chance, pauses, calm.took));
    let began = (submitted, now());
    finish(chaos, fleet, watcher, agenda, began, (calm, budget), outcome)
}

/// Plays the run to its end, and holds it against the rules. `began`: when it was submitted, and when it was accepted.
fn finish(
    chaos: &Chaos,
    mut fleet: Fleet<'_>,
    watcher: Role,
    agenda: Vec<(Duration, Act)>,
    (submitted, began): (Instant, Instant),
    (calm, budget): (&Calm, f64),
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let before = outcome.strikes_on_workers();
    let mut play = Play { fleet: &mut fleet, agenda, began, vacant: None, hangs: BTreeSet::new() };
    let ended = play.until_the_end(watcher, submitted, calm, outcome)?;
    let crashes = fleet.crashes();
    outcome.crashes += crashes;
    outcome.broken.extend(fleet.panics());
    outcome.slow_calls = fleet.slow_calls().map(|calls| calls + outcome.slow_calls.unwrap_or(0));
    if !ended {
        return Ok(());
    }
    fleet.heal()?;
    match fleet.view().and_then(|view| Found::read(&fleet.folder, chaos.trials, view, nanos(PRICE))) {
        Ok(found) => {
            outcome.lost += found.number("/attempts/lost");
            let strikes = u64::from(outcome.strikes_on_workers() - before + crashes);
            let known = Known { limit: Some(limit(chaos.trials)), unheard: strikes * fleet.slots(), excuses: None };
            outcome.look(found.findings(&calm.view, &known, &[fleet.database()]));
            let told = &found.run.report["summary"]["budget"];
            let (most, spent) = (told["max_cost_usd"].as_f64(), told["spent_usd"].as_f64());
            if most.is_none_or(|most| (most - budget).abs() > ROUNDED) {
                outcome.broken.push(format!("the report has a budget of {most:?}, and ${budget:.6} was given"));
            }
            outcome.spent.push(spent.unwrap_or(f64::NAN));
        }
        Err(error) => outcome.broken.push(format!("the report cannot be read: {error:#}")),
    }
    Ok(())
}

/// Each kill in its share of an undisturbed run's time. Five in a row strike both coordinators, the postmaster and two workers,
/// in any order.
fn script(chance: &mut Chance, kills: u32, window: Duration) -> Vec<(Duration, Act)> {
    let share = window / kills.max(1);
    let share_ms = u64::try_from(share.as_millis()).unwrap_or(u64::MAX);
    let mut hand: Vec<Target> = Vec::new();
    let kill = |number| {
        if hand.is_empty() {
            let others = [Target::Coordinator(0), Target::Coordinator(1), Target::Postmaster];
            hand.extend(others.into_iter().chain((0..2).filter_map(|_| chance.pick(&Target::WORKERS))));
            chance.shuffle(&mut hand);
        }
        let at = Duration::from_millis(500) + share * number + chance.between(0, share_ms);
        let target = hand.pop().unwrap_or(Target::Postmaster);
        (at, Act::Kill(target, chance.between(200, 2_000)))
    };
    (0..kills).map(kill).collect()
}

/// Each in its share of the time; half of them strike coordinators.
fn hangs(chance: &mut Chance, pauses: u32, window: Duration) -> Vec<(Duration, Act)> {
    let share = window / pauses.max(1);
    let share_ms = u64::try_from(share.as_millis()).unwrap_or(u64::MAX);
    let hang = |number| {
        let coordinators = [Target::Coordinator(0), Target::Coordinator(1)];
        let whom = if chance.one_in(2) { &coordinators[..] } else { &Target::WORKERS };
        let target = chance.pick(whom).unwrap_or(Target::Coordinator(0));
        let at = Duration::from_millis(500) + share * number + chance.between(0, share_ms);
        (at, Act::Hang(target, chance.between(HANGS_MS.0, HANGS_MS.1)))
    };
    (0..pauses).map(hang).collect()
}

impl Play<'_, '_> {
    /// Whether it ended.
    fn until_the_end(
        &mut self,
        mut watcher: Role,
        submitted: Instant,
        calm: &Calm,
        outcome: &mut Outcome,
    ) -> anyhow::Result<bool> {
        let mut watchers = 1;
        loop {
            self.act(outcome)?;
            self.fleet.revive()?;
            self.look_after(outcome)?;
            let took = submitted.elapsed();
            match watcher.ended()? {
                Some(code) if code == calm.code => {
                    outcome.took.push(took);
                    let mut findings = Findings::default();
                    findings.add(Invariant::Ends, invariants::ends(took, calm.limit()));
                    findings.add(Invariant::Memory, invariants::memory(self.fleet.most_resident(), MOST_MEMORY));
                    outcome.look(findings);
                    return Ok(true);
                }
                Some(code) => {
                    let said = tail(&watcher.logged(), 3);
                    outcome.broken.push(format!("the watcher ended with {code} instead of {}: {said}", calm.code));
                    if watchers == WATCHERS {
                        return Ok(false);
                    }
                    watchers += 1;
                    self.fleet.heal()?;
                    watcher = self.fleet.watch()?;
                }
                None => {}
            }
            if took > calm.limit() + LATE {
                let said = tail(&watcher.logged(), 1);
                outcome.broken.push(format!("the run has not ended after {:.0} s: {said}", took.as_secs_f64()));
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
    }

    fn act(&mut self, outcome: &mut Outcome) -> anyhow::Result<()> {
        loop {
            let elapsed = self.began.elapsed();
            let Some(due) = self.agenda.iter().position(|(at, _)| *at <= elapsed) else { return Ok(()) };
            match self.agenda.remove(due).1 {
                Act::Kill(target, pause) => {
                    let was_in_charge = self.fleet.in_charge() == Some(target);
                    if !self.fleet.kill(target) {
                        self.later(AGAIN, Act::Kill(target, pause));
                        continue;
                    }
                    *outcome.struck.entry(target).or_default() += 1;
                    // Without a database nobody can take over.
                    self.vacant = match target {
                        Target::Postmaster => None,
                        _ if was_in_charge && self.fleet.has_database() => Some(now()),
                        _ => self.vacant,
                    };
                    self.later(pause, Act::Start(target));
                }
                Act::Start(target) => self.fleet.start_one(target)?,
                Act::Hang(target, time) => {
                    let was_in_charge = self.fleet.in_charge() == Some(target);
                    if self.hangs.contains(&target) || !self.fleet.signal(target, Signal::STOP) {
                        self.later(AGAIN, Act::Hang(target, time));
                        continue;
                    }
                    self.hangs.insert(target);
                    *outcome.hung.entry(target).or_default() += 1;
                    if was_in_charge && time > REPLACED_AFTER && self.fleet.has_database() {
                        self.vacant = Some(now());
                    }
                    self.later(time, Act::Wake(target));
                }
                Act::Wake(target) => {
                    self.hangs.remove(&target);
                    self.fleet.signal(target, Signal::CONT);
                }
                Act::Stop(target) => {
                    self.fleet.signal(target, Signal::TERM);
                }
            }
        }
    }

    fn later(&mut self, after: Duration, act: Act) {
        self.agenda.push((self.began.elapsed() + after, act));
    }

    /// Starts again what has ended, which only a coordinator without its database may, and sees who is in charge.
    fn look_after(&mut self, outcome: &mut Outcome) -> anyhow::Result<()> {
        if self.fleet.somebody_new_is_in_charge()
            && let Some(since) = self.vacant.take()
        {
            outcome.failovers.push(since.elapsed());
        }
        for (target, code, said) in self.fleet.ended()? {
            let may =
                matches!(target, Target::Coordinator(_)) && code == 3 && MAY_END.iter().any(|why| said.contains(why));
            if !may {
                outcome.broken.push(format!("{target} ended by itself with {code}: {said}"));
            }
            self.later(AGAIN, Act::Start(target));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_its_kills_in_the_time_of_the_run_and_meets_every_process() {
        let window = Duration::from_secs(60);
        let steps = script(&mut Chance::new(3, 1), 200, window);
        assert_eq!(steps.len(), 200);
        assert!(steps.iter().all(|(at, _)| *at <= window + Duration::from_secs(1)));
        for five in steps.chunks(5) {
            let met =
                |target| five.iter().filter(|(_, act)| matches!(act, Act::Kill(one, _) if *one == target)).count();
            let met = [Target::Coordinator(0), Target::Coordinator(1), Target::Postmaster].map(met);
            assert_eq!(met, [1, 1, 1]);
        }
        for target in Target::ALL {
            let met = steps.iter().any(|(_, act)| matches!(act, Act::Kill(one, _) if *one == target));
            assert!(met, "{target} is never killed");
        }
    }
}
