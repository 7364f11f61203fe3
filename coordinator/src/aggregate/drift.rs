//! From slices of a load to what drifted while its pace was steady.

use std::{ops::Range, time::Duration};

use record::{
    memory_over_time::{MemoryOverTime, MemorySlice},
    slices::{SeriesSlice, Slices},
    summary::{Drift, DriftName, Watched},
};
use scenario::load::Schedule;
use statistics::drift::{LEAST_SLICES, figure};

/// At least half of them remain when a load takes long enough. More slices would each have too few turns for a p99, and
/// neighbours would depend on each other.
const MOST_SLICES: usize = 40;

/// In less time a trend is noise: a bad second in twenty would be an hour's catastrophe.
const LEAST_WATCHED_MS: u64 = 5 * 60_000;

type Points = Vec<(f64, f64)>;

pub(super) fn of(schedule: &Schedule, slices: &Slices, memory: &MemoryOverTime) -> Drift {
    let nothing = |why: &str| Drift { watched: None, figures: Vec::new(), undecided: Some(why.to_owned()) };
    let Some(steady) = schedule.steady() else { return nothing("the pace changes all the time") };
    let steady = millis(steady.start)..millis(steady.end);
    let Some(series) = slices.coarse(MOST_SLICES) else { return nothing("no conversation was played") };
    // What is played after the last start is no load any more.
    let last = series.slices.iter().rposition(|slice| slice.starts > 0).unwrap_or(0);
    let within = |slice: &&SeriesSlice| is_within(&steady, slice.from_ms, series.width_ms);
    let watched: Vec<&SeriesSlice> = series.slices[..last].iter().filter(within).collect();
    let (Some(first), Some(end)) = (watched.first(), watched.last()) else {
        return nothing("the pace was steady for less than 5 minutes");
    };
    if end.from_ms + series.width_ms - first.from_ms < LEAST_WATCHED_MS {
        return nothing("the pace was steady for less than 5 minutes");
    }
    let points = |value: fn(&SeriesSlice) -> Option<f64>| -> Points {
        watched.iter().filter_map(|slice| Some((middle(slice.from_ms, series.width_ms), value(slice)?))).collect()
    };
    let mut tokens = points(|slice| (slice.ends > 0).then(|| slice.output_tokens as f64 / slice.ends as f64));
    if tokens.iter().all(|(_, tokens)| *tokens == 0.0) {
        // The agent does not say.
        tokens.clear();
    }
    let of_memory = |value: fn(&MemorySlice) -> u64| settled(memory, &steady, value);
    let (worker, mut coordinator) = (of_memory(|slice| slice.worker_bytes), of_memory(|slice| slice.coordinator_bytes));
    if worker == coordinator {
        // One process has both.
        coordinator.clear();
    }
    let figures = [
        (DriftName::ResponseP50Ms, points(|slice| (slice.response.count > 0).then_some(slice.response.p50_ms))),
        (DriftName::ResponseP99Ms, points(|slice| slice.response.p99_ms)),
        (DriftName::PassRate, points(|slice| share(slice.pass, slice))),
        (DriftName::ErrorRate, points(|slice| share(slice.agent_errors, slice))),
        (DriftName::OutputTokens, tokens),
        (DriftName::WorkerMemoryBytes, worker),
        (DriftName::CoordinatorMemoryBytes, coordinator),
    ];
    let figures: Vec<_> = figures.iter().filter_map(|(name, points)| figure(*name, points)).collect();
    let has = |name| figures.iter().any(|figure| figure.name == name);
    let undecided = if watched.len() < LEAST_SLICES {
        Some(format!("{} slices of the steady part, and at least {LEAST_SLICES} are needed", watched.len()))
    } else if has(DriftName::ResponseP50Ms) && !has(DriftName::ResponseP99Ms) {
        Some(format!("p99 needs 662 turns in each of at least {LEAST_SLICES} slices"))
    } else {
        None
    };
    let seconds = |millis: u64| millis as f64 / 1_000.0;
    let watched = Watched {
        from_seconds: seconds(first.from_ms),
        to_seconds: seconds(end.from_ms + series.width_ms),
        slice_seconds: seconds(series.width_ms),
    };
    Drift { watched: Some(watched), figures, undecided }
}

/// Of the conversations that say something about the agent.
fn share(count: u64, slice: &SeriesSlice) -> Option<f64> {
    let all = slice.pass + slice.fail + slice.agent_errors;
    (all > 0).then(|| count as f64 / all as f64)
}

/// The memory of a process in the steady part, without its first quarter: caches and buffers fill at the beginning.
fn settled(memory: &MemoryOverTime, steady: &Range<u64>, value: fn(&MemorySlice) -> u64) -> Points {
    let from = |place: usize| memory.width_ms.saturating_mul(place as u64);
    let slices = memory.slices.iter().enumerate();
    let slices = slices.filter(|(place, slice)| value(slice) > 0 && is_within(steady, from(*place), memory.width_ms));
    let points: Points =
        slices.map(|(place, slice)| (middle(from(place), memory.width_ms), value(slice) as f64)).collect();
    points[points.len() / 4..].to_vec()
}

fn is_within(steady: &Range<u64>, from_ms: u64, width_ms: u64) -> bool {
    from_ms >= steady.start && from_ms.saturating_add(width_ms) <= steady.end
}

/// In seconds.
fn middle(from_ms: u64, width_ms: u64) -> f64 {
    (from_ms + width_ms / 2) as f64 / 1_000.0
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use record::{Failure, FailureKind, Trial, Verdict, trial::Start, trial::TurnLatency};
    use scenario::{CaseId, TrialId, load::Profile, load::Stage};

    use super::*;
    use crate::scheduler::fixture::{even, schedule, slots};

    const MEBIBYTE: u64 = 1 << 20;

    /// One conversation a second of one turn, that takes so many milliseconds; an odd one in ten fails.
    fn played(seconds: u64, response_ms: impl Fn(f64) -> f64) -> Slices {
        let mut slices = Slices::of_run_started_at(0);
        for second in 0..seconds {
            let planned = scenario::Trial {
                number: second,
                id: TrialId::new("t"),
                case: 0,
                case_id: CaseId::new("c"),
                repeat: 0,
                seed: 0,
            };
            let verdict = if second % 10 == 7 { Verdict::Fail } else { Verdict::Pass };
            let micros = (response_ms(second as f64) * 1_000.0) as u64;
            let turn = TurnLatency { total_micros: micros, response_micros: Some(micros), ..TurnLatency::default() };
            let unplayed = Trial::unplayed(&planned, 1, verdict, Failure::new(FailureKind::CheckFailed, ""));
            let start = Some(Start { at_micros: second * 1_000_000, late_micros: 0 });
            slices.add(&Trial { start, duration_ms: micros / 1_000, latencies: vec![turn; 10], ..unplayed }, None);
        }
        slices
    }

    fn names(drift: &Drift) -> Vec<(DriftName, bool)> {
        drift.figures.iter().map(|figure| (figure.name, figure.drifts)).collect()
    }

    /// 1 % of 200 ms a minute.
    fn slower(second: f64) -> f64 {
        200.0 + second / 60.0 * 2.0
    }

    #[test]
    fn an_agent_that_slows_down_drifts_and_its_pass_rate_does_not() {
        let mut memory = MemoryOverTime::default();
        // It fills for a while, and then a worker leaks 1 MiB a minute and the coordinator nothing.
        for beat in 0..450_u64 {
            memory.add(beat * 2_000, (60 + beat.min(60) + beat / 30) * MEBIBYTE, 40 * MEBIBYTE);
        }
        let drift = of(&schedule(vec![even(1.0, 900)]), &played(900, slower), &memory);
        let expected = [
            (DriftName::ResponseP50Ms, true),
            (DriftName::PassRate, false),
            (DriftName::ErrorRate, false),
            (DriftName::WorkerMemoryBytes, true),
            (DriftName::CoordinatorMemoryBytes, false),
        ];
        assert_eq!(names(&drift), expected);
        let response = &drift.figures[0];
        assert!((response.slope_per_hour - 120.0).abs() < 3.0, "{response:?}");
        assert!(response.low_per_hour <= 120.0 && 120.0 <= response.high_per_hour, "{response:?}");
        let per_hour = drift.figures[3].slope_per_hour / MEBIBYTE as f64;
        assert!((per_hour - 60.0).abs() < 4.0, "{per_hour} MiB an hour");
        assert_eq!(drift.undecided.as_deref(), Some("p99 needs 662 turns in each of at least 10 slices"));
        let watched = drift.watched.expect("it was watched");
        assert_eq!((watched.from_seconds, watched.to_seconds, watched.slice_seconds), (0.0, 896.0, 32.0));
    }

    #[test]
    fn where_the_pace_changes_nothing_drifts() {
        let stage = |seconds: u64, from: f64, to: f64| Stage { micros: seconds * 1_000_000, from, to };
        let ramp = |stages: Vec<Stage>| {
            let rate = Profile { stages };
            let spacing = scenario::load::Spacing::Even;
            schedule(vec![scenario::load::Pace::Arrivals { spacing, rate }])
        };
        let memory = MemoryOverTime::default();
        let changing = of(&ramp(vec![stage(900, 0.5, 1.5)]), &played(900, slower), &memory);
        assert_eq!((changing.figures.len(), changing.undecided.as_deref()), (0, Some("the pace changes all the time")));
        // Of a ramp that holds, the part that holds.
        let holds = ramp(vec![stage(300, 0.0, 1.0), stage(600, 1.0, 1.0)]);
        let level = of(&holds, &played(900, |second| if second < 300.0 { 100.0 + second } else { 400.0 }), &memory);
        assert_eq!(level.watched.map(|watched| watched.from_seconds), Some(320.0));
        assert!(level.figures.len() == 3 && level.figures.iter().all(|figure| !figure.drifts), "{level:?}");
    }

    #[test]
    fn a_short_load_and_one_without_conversations_are_undecided() {
        let memory = MemoryOverTime::default();
        let short = of(&schedule(vec![even(1.0, 290)]), &played(290, slower), &memory);
        assert_eq!(
            (short.figures.len(), short.undecided.as_deref()),
            (0, Some("the pace was steady for less than 5 minutes"))
        );
        let none = of(&schedule(vec![even(1.0, 9)]), &Slices::default(), &memory);
        assert_eq!(none.undecided.as_deref(), Some("no conversation was played"));
    }

    #[test]
    fn slots_that_end_by_number_are_watched_until_their_last_start() {
        let drift = of(&schedule(vec![slots(3.0, Some(900), None)]), &played(900, slower), &MemoryOverTime::default());
        assert_eq!(drift.watched.map(|watched| watched.to_seconds), Some(896.0));
        assert!(drift.figures[0].drifts);
    }
}
