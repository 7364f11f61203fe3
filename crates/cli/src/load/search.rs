//! A pace that searches for the highest rate: from its keys to the search that the planner takes.

use scenario::load::{self, Profile, Search, Spacing};

use super::{
    fault::{Fault, Found, fault},
    settings::Pace,
    units::Amount,
};

/// What a search has where the settings say nothing.
const USUAL_FACTOR: f64 = 2.0;
const USUAL_PRECISION: f64 = 0.05;
const USUAL_MAX_STEPS: u32 = 16;
const USUAL_EVERY_MICROS: u64 = 30_000_000;
const USUAL_CONVERSATIONS: u64 = 100;
const USUAL_SETTLE_MICROS: u64 = 5_000_000;

/// Keys that a search has beside it.
const BESIDE: [&str; 5] = ["search", "rate", "duration", "arrivals", "burstiness"];

/// The search of a pace that has one; `None`: it has none. `keys`: those of the pace that are written.
pub(super) fn search(written: &Pace, keys: &[&'static str]) -> Found<Option<Search>> {
    let Some(search) = &written.search else { return Ok(None) };
    if let Some(other) = keys.iter().find(|key| !BESIDE.contains(key)) {
        return fault(
            other,
            "does not go with `search`, which looks for the highest rate and chooses the rates itself\n\
             hint: beside `search` stand `rate`, `duration`, `arrivals` and `burstiness`",
        );
    }
    let Some(rate) = written.rate else {
        return fault("search", "needs `rate`, the rate of its first step\nhint: write `rate: 5/s`");
    };
    let Some(to) = search.to else {
        return fault("search", "needs `to`, so that it knows how far it may go\nhint: write `to: 500/s`");
    };
    let per_second = |amount: Amount| amount.per_second(written.time_unit);
    let (from, to) = (per_second(rate), per_second(to));
    let in_range =
        |key: &str, holds: bool, why: String| if holds { Ok(()) } else { fault(&format!("search.{key}"), why) };
    if from <= 0.0 {
        return fault("rate", "is 0: nothing would start");
    }
    in_range("to", to >= from, format!("is {to}/s, below the first rate of {from}/s"))?;
    in_range("to", to <= 1e6, format!("is {to}/s, and at most 1000000 conversations start each second"))?;
    let factor = search.factor.unwrap_or(USUAL_FACTOR);
    in_range("factor", (1.01..=100.0).contains(&factor), format!("is {factor}, and must be from 1.01 to 100"))?;
    let precision = search.precision.unwrap_or(USUAL_PRECISION);
    in_range(
        "precision",
        (0.001..=1.0).contains(&precision),
        format!("is {precision}, and must be a share from 0.001 to 1: 0.05 is 5 %"),
    )?;
    let max_steps = search.max_steps.unwrap_or(USUAL_MAX_STEPS);
    let most = load::MOST_SEARCH_STEPS;
    in_range("max_steps", (1..=most).contains(&max_steps), format!("is {max_steps}, and must be from 1 to {most}"))?;
    let micros = |span: Option<super::units::Span>, usual: u64| span.map_or(usual, |span| span.micros);
    let every_micros = micros(search.every, USUAL_EVERY_MICROS);
    in_range("every", every_micros > 0, "is 0: a step would have no conversation".to_owned())?;
    let conversations = search.conversations.unwrap_or(USUAL_CONVERSATIONS);
    in_range("conversations", conversations > 0, "is 0: a step would have no conversation".to_owned())?;
    let settle_micros = micros(search.settle, USUAL_SETTLE_MICROS);
    Ok(Some(Search { from, to, factor, precision, max_steps, every_micros, conversations, settle_micros }))
}

/// The pace that the search begins with: its first rate, for as long as the search may last.
pub(super) fn pace(written: &Pace, search: &Search, spacing: Spacing) -> Found<load::Pace> {
    let first = search.step(search.from, std::time::Duration::ZERO).until.as_micros();
    let micros = written.duration.map_or_else(|| search.usual_micros(), |span| span.micros);
    if u128::from(micros) <= first {
        let seconds = first / 1_000_000;
        return fault("duration", format!("is not longer than the first step, which takes {seconds} s"));
    }
    let pace = load::Pace::Arrivals { spacing, rate: Profile::constant(search.from, micros) };
    match pace.consistent() {
        Ok(()) => Ok(pace),
        Err(reason) => Err(Fault { key: vec!["search".to_owned()], reason: format!("cannot be played: {reason}") }),
    }
}
