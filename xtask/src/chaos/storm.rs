//! The runs of a session that are compared with an undisturbed run.

use anyhow::{Context as _, ensure};
use invariants::Known;

use super::{
    Chaos,
    chance::Chance,
    clock::{TICK, now},
    fault::Fault,
    fleet::{Fleet, SLOTS, Setup},
    found::Found,
    place::{MIXED, PRICE, Place, Plan, nanos},
    play::{self, Calm},
    process::tail,
    result::{Outcome, Results},
    script,
};

const WORKERS: usize = 3;
/// In one run.
const KILLS: u32 = 10;

pub(crate) fn setup(seed: u64) -> Setup {
    Setup { workers: WORKERS, slots: SLOTS, seed, ..Setup::default() }
}

/// Plays the plan on an undisturbed fleet.
pub(crate) fn undisturbed(place: &Place) -> anyhow::Result<Calm> {
    let (calm, _) = calm(place, "undisturbed", &MIXED, setup(0))?;
    Ok(calm)
}

/// The same for any plan and fleet, with the bytes that all workers sent.
pub(crate) fn calm(place: &Place, name: &str, plan: &Plan, setup: Setup) -> anyhow::Result<(Calm, u64)> {
    let mut fleet = Fleet::new(place, name, plan, setup)?;
    fleet.start_workers()?;
    let began = now();
    let mut watcher = play::submit(&mut fleet)?;
    let code = loop {
        if let Some(code) = watcher.ended()? {
            break code;
        }
        std::thread::sleep(TICK);
    };
    let took = began.elapsed();
    ensure!([0, 1].contains(&code), "the undisturbed run ended with {code}: {}", tail(&watcher.logged(), 3));
    let view = fleet.view()?;
    let found = Found::read(&fleet.folder, plan.trials, view.clone(), nanos(PRICE));
    let found = found.context("failed to read the undisturbed run")?;
    let broken: Vec<String> = found.findings(&view, &Known::default(), &[]).broken().collect();
    ensure!(broken.is_empty(), "the undisturbed run: {}", broken.join("; "));
    ensure!(found.number("/attempts/lost") == 0, "the undisturbed run lost attempts");
    let carried_bytes = fleet.workers.iter().map(|worker| worker.link.carried_bytes()).sum();
    Ok((Calm { took, code, view, trials: plan.trials }, carried_bytes))
}

/// Runs with drawn scripts until there were enough kills.
pub(crate) fn rounds(
    chaos: &Chaos,
    faults: &[Fault],
    place: &Place,
    calm: &Calm,
    results: &mut Results,
) -> anyhow::Result<()> {
    let kills = faults.iter().any(|fault| fault.is_kill());
    // A run that ends before its whole script has struck leaves kills for the next one, up to a limit.
    let most = 2 * chaos.kills.div_ceil(KILLS) + 1;
    for round in 1..=most {
        let left = chaos.kills.saturating_sub(results.kills());
        if round > 1 && (left == 0 || !kills) {
            return Ok(());
        }
        let name = format!("round {round}");
        let mut chance = Chance::new(chaos.seed, u64::from(round));
        let script = script::mixed(&mut chance, faults, left.min(KILLS), WORKERS, calm.took);
        let mut fleet = Fleet::new(place, &format!("round-{round}"), &MIXED, setup(chaos.seed))?;
        results.add(play::play(&mut fleet, Outcome::new(&name, script), calm)?);
    }
    Ok(())
}

pub(crate) fn crash_loop(place: &Place, calm: &Calm) -> anyhow::Result<Outcome> {
    let mut fleet = Fleet::new(place, "crash-loop", &MIXED, setup(0))?;
    let script = script::crash_loop(2 * calm.limit());
    play::play(&mut fleet, Outcome::new("crash loop", script), calm)
}

pub(crate) fn kill_storm(seed: u64, place: &Place, calm: &Calm) -> anyhow::Result<Outcome> {
    let mut fleet = Fleet::new(place, "kill-storm", &MIXED, setup(seed))?;
    let script = script::kill_storm(&mut Chance::new(seed, 0), WORKERS);
    play::play(&mut fleet, Outcome::new("kill storm", script), calm)
}
