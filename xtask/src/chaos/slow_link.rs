//! A worker behind a link on which a batch takes tens of seconds. No session may be lost, and the run must finish.

use std::time::Duration;

use super::{
    fault::Fault,
    fleet::{Fleet, Setup},
    link::{Pace, Weather},
    place::{LONG_REPLIES, Place},
    play,
    result::Outcome,
    storm,
};

/// 64 kbit/s.
const BYTES_PER_SECOND: u32 = 8 * 1024;
const PACE: Pace = Pace {
    delay: Duration::from_millis(200),
    bytes_per_second: Some(BYTES_PER_SECOND),
    // One piece in ten is lost and sent again.
    stall: Duration::from_millis(400),
};

/// The coordinator's log messages about a session that is over.
const LOST: [&str; 2] = ["worker lost", "session ended"];

pub(crate) fn play(seed: u64, place: &Place) -> anyhow::Result<Outcome> {
    let setup = || Setup { workers: 1, slots: 4, seed, ..Setup::default() };
    let (mut calm, carried_bytes) = storm::calm(place, "fast-link", &LONG_REPLIES, setup())?;
    // The unavoidable transfer time on such a link is part of the time of an undisturbed run.
    calm.took += Duration::from_secs_f64(carried_bytes as f64 / f64::from(BYTES_PER_SECOND));
    let mut fleet = Fleet::new(place, "slow-link", &LONG_REPLIES, setup())?;
    fleet.workers[0].link.set(Weather::Slow(PACE));
    let mut outcome = Outcome::new("slow link", Vec::new());
    outcome.struck.insert(Fault::SlowLink, 1);
    outcome.note = format!("{} KB at 8 KB/s", carried_bytes / 1024);
    let mut outcome = play::play(&mut fleet, outcome, &calm)?;
    let log = fleet.coordinator.logged();
    let lost: Vec<&str> = log.lines().filter(|line| LOST.iter().any(|text| line.contains(text))).collect();
    if let Some(first) = lost.first() {
        outcome.broken.push(format!("{} sessions were lost: {first}", lost.len()));
    }
    if outcome.lost.is_some_and(|lost| lost > 0) {
        outcome.broken.push(format!("{} attempts were lost", outcome.lost.unwrap_or_default()));
    }
    Ok(outcome)
}
