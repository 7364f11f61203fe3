//! Crashes at named points of the code: a process aborts when it gets there for the Nth time, and is started again.
//!
//! The points are `fail_point!` in the coordinator, the worker and the store. Only a build with the feature `crash-points` has them.

use std::time::Duration;

use super::{
    Chaos,
    fault::Fault,
    fleet::{Crash, Fleet, Setup},
    place::{BRIEF, Place},
    play::{self, Calm},
    result::{Outcome, Results},
    script::Step,
    storm,
};

/// Each point is played so often.
pub(super) const ROUNDS: usize = 3;

/// What it takes to come to a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A run as usual.
    Run,
    /// The coordinator starts with a run: it is killed once before. Of two coordinators, the other one takes over.
    Restart,
    /// A worker is lost.
    LostWorker,
    /// The coordinator in charge is asked to stop.
    Stop,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) name: &'static str,
    /// `false`: the coordinator crashes.
    pub(super) in_worker: bool,
    pub(super) way: Way,
    /// Only on PostgreSQL.
    of_duty: bool,
    /// The visit that crashes, in each round.
    pub(super) visits: [u64; ROUNDS],
}

impl Point {
    /// As an option of a process.
    pub(super) fn at(self, round: usize) -> String {
        format!("{}:{}", self.name, self.visits[round])
    }

    pub(super) fn title(self, round: usize) -> String {
        format!("{}, visit {}", self.name, self.visits[round])
    }
}

const fn of_coordinator(name: &'static str, visits: [u64; ROUNDS]) -> Point {
    Point { name, in_worker: false, way: Way::Run, of_duty: false, visits }
}

const fn of_worker(name: &'static str, visits: [u64; ROUNDS]) -> Point {
    Point { name, in_worker: true, way: Way::Run, of_duty: false, visits }
}

/// Of the duty that one of several coordinators has.
const fn of_duty(way: Way, name: &'static str, visits: [u64; ROUNDS]) -> Point {
    Point { name, in_worker: false, way, of_duty: true, visits }
}

const fn by(way: Way, point: Point) -> Point {
    Point { way, ..point }
}

pub(super) const POINTS: [Point; 33] = [
    of_coordinator("run-unstored", [1, 1, 1]),
    of_coordinator("run-stored", [1, 1, 1]),
    of_coordinator("session-opened", [1, 2, 1]),
    of_coordinator("grant-unstored", [1, 2, 5]),
    of_coordinator("grant-unsent", [1, 2, 5]),
    of_coordinator("batch-unstored", [1, 4, 10]),
    of_coordinator("batch-half-stored", [1, 4, 10]),
    of_coordinator("batch-stored", [1, 4, 10]),
    of_coordinator("batch-acknowledged", [1, 4, 10]),
    of_coordinator("money-unstored", [1, 2, 3]),
    of_coordinator("money-unsent", [1, 2, 3]),
    of_coordinator("heartbeat-unanswered", [1, 2, 3]),
    of_coordinator("run-end-unstored", [1, 1, 1]),
    of_coordinator("run-end-stored", [1, 1, 1]),
    by(Way::Restart, of_coordinator("run-unrecovered", [1, 1, 1])),
    by(Way::Restart, of_coordinator("run-recovered", [1, 1, 1])),
    by(Way::LostWorker, of_coordinator("session-end-unstored", [1, 1, 1])),
    by(Way::LostWorker, of_coordinator("session-end-stored", [1, 1, 1])),
    of_worker("worker-joined", [1, 1, 1]),
    of_worker("welcome-heard", [1, 1, 1]),
    of_worker("lease-heard", [1, 2, 4]),
    of_worker("money-heard", [1, 1, 1]),
    of_worker("trial-begun", [1, 5, 15]),
    of_worker("turn-unrecorded", [1, 5, 25]),
    of_worker("trial-unrecorded", [1, 5, 15]),
    of_worker("trial-recorded", [1, 5, 15]),
    of_worker("message-unsent", [1, 5, 15]),
    of_worker("message-sent", [1, 5, 15]),
    of_worker("acknowledgement-heard", [1, 4, 8]),
    of_duty(Way::Restart, "duty-taken", [1, 1, 1]),
    // Every half second.
    of_duty(Way::Run, "duty-renewed", [6, 8, 10]),
    of_duty(Way::Stop, "duty-unreleased", [1, 1, 1]),
    of_duty(Way::Stop, "duty-released", [1, 1, 1]),
];

/// Nothing costs so much: the budget is there for its messages.
pub(super) const BUDGET: &str = "1000";
pub(super) const KILLED_AT: Duration = Duration::from_millis(1_500);
pub(super) const BACK_AFTER: Duration = Duration::from_millis(200);

pub(super) fn run(chaos: &Chaos, place: &Place, results: &mut Results) -> anyhow::Result<()> {
    let (calm, _) = storm::calm(place, "undisturbed", &BRIEF, setup(None))?;
    results.undisturbed(&calm);
    for round in 0..ROUNDS {
        for point in POINTS.into_iter().filter(|point| !point.of_duty) {
            results.add(play(chaos, place, &calm, point, round)?);
        }
    }
    Ok(())
}

fn setup(crash: Option<Crash>) -> Setup {
    Setup { workers: 2, slots: 4, budget: Some(BUDGET), crash, ..Setup::default() }
}

fn play(chaos: &Chaos, place: &Place, calm: &Calm, point: Point, round: usize) -> anyhow::Result<Outcome> {
    let Point { name, in_worker, way, .. } = point;
    let kill = |fault| Step { at: KILLED_AT, fault, worker: 1, lasts: Some(BACK_AFTER) };
    let script = match way {
        Way::Run | Way::Stop => Vec::new(),
        Way::Restart => vec![kill(Fault::KillCoordinator)],
        Way::LostWorker => vec![kill(Fault::KillWorker)],
    };
    let crash = Crash { in_worker, at: point.at(round) };
    let setup = Setup { seed: chaos.seed, ..setup(Some(crash)) };
    let mut fleet = Fleet::new(place, &format!("{name}-{}", round + 1), &BRIEF, setup)?;
    let mut outcome = play::play(&mut fleet, Outcome::new(&point.title(round), script), calm)?;
    let crashes = fleet.crashes();
    outcome.crashed(crashes);
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_point_of_the_code_is_played() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut found = Vec::new();
        let mut folders =
            ["coordinator/src", "worker/src", "crates/store/src"].map(|folder| root.join(folder)).to_vec();
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let names = text.split("fail_point!(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
                found.extend(names);
            }
        }
        found.sort();
        // Both stores have one of them.
        found.dedup();
        let mut played: Vec<String> = POINTS.iter().map(|point| point.name.to_owned()).collect();
        played.sort();
        assert_eq!(found, played);
    }
}
