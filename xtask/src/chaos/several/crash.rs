//! Crashes at named points of the code, with two coordinators: the other one takes over while the crashed one starts again.

use std::time::Duration;

use super::{
    super::{
        Chaos,
        clock::now,
        place::Place,
        points::{BACK_AFTER, BUDGET, KILLED_AT, POINTS, Point, ROUNDS, Way},
        result::{self, Results},
    },
    Act, Calm, Outcome, finish,
    fleet::{Fleet, Target},
    undisturbed,
};

/// Long enough for the other coordinator to take over from one that was killed.
const BACK_AFTER_ANOTHER: Duration = Duration::from_secs(6);
/// Of a run: a few seconds, so that each point has its turn.
const TRIALS: u64 = 120;

pub(crate) fn crash_points(chaos: &Chaos, place: &Place, results: &mut Results) -> anyhow::Result<()> {
    let chaos = Chaos { trials: TRIALS, ..chaos.clone() };
    let calm = undisturbed(&chaos, place)?;
    results.announce(TRIALS, calm.took, calm.limit());
    for round in 0..ROUNDS {
        for point in POINTS {
            results.add(play(&chaos, place, &calm, point, round)?);
        }
    }
    Ok(())
}

fn play(chaos: &Chaos, place: &Place, calm: &Calm, point: Point, round: usize) -> anyhow::Result<result::Outcome> {
    // The second coordinator is in charge after the first one is gone.
    let (first, second) = (Target::Coordinator(0), Target::Coordinator(1));
    let kill = |target, back_after| vec![(KILLED_AT, Act::Kill(target, back_after))];
    let (crashing, agenda) = match point.way {
        Way::Run if point.in_worker => (Target::Worker(0), Vec::new()),
        Way::Run => (first, Vec::new()),
        Way::Restart => (second, kill(first, BACK_AFTER_ANOTHER)),
        Way::LostWorker => (first, kill(Target::Worker(1), BACK_AFTER)),
        Way::Stop => (first, vec![(KILLED_AT, Act::Stop(first))]),
    };
    let mut fleet = Fleet::new(place, &format!("{}-{}", point.name, round + 1), chaos)?;
    fleet.crash_at(crashing, &point.at(round));
    fleet.start()?;
    let budget = BUDGET.parse()?;
    let submitted = now();
    let mut watcher = fleet.submit(budget)?;
    fleet.accepted(&mut watcher)?;
    let mut played = Outcome::new(chaos, calm);
    finish(chaos, fleet, watcher, agenda, (submitted, now()), (calm, budget), &mut played)?;
    let kills = played.kills();
    let mut outcome = result::Outcome::new(&point.title(round), Vec::new());
    (outcome.took, outcome.limit) = (played.took.first().copied(), calm.limit());
    (outcome.kills, outcome.processes, outcome.lost) = (kills, kills, Some(played.lost));
    outcome.broken = played.broken;
    outcome.crashed(played.crashes);
    Ok(outcome)
}
