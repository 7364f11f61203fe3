//! The coordinator's clock as this worker sees it: when the coordinator's clock shows a time, on our own clock.
//!
//! The coordinator tells in an answer when it read the question and when it sent the answer. We sent the question before
//! that, and got the answer after it, so each answer bounds the difference of the clocks. The narrowest bounds of the latest
//! answers count (a min filter). Older answers are forgotten, since two clocks drift apart by up to 100 µs a second.

use std::{collections::VecDeque, time::Duration};

use proto::v1;
use tokio::time::Instant;

/// How many answers are compared: with heartbeats alone, those of 30 s.
const MOST_SAMPLES: usize = 16;

#[derive(Debug, Default)]
pub(super) struct CoordinatorClock {
    samples: VecDeque<Sample>,
}

/// When the coordinator's clock showed zero, on our clock: between these.
#[derive(Debug, Clone, Copy)]
struct Sample {
    earliest: Instant,
    latest: Instant,
}

impl CoordinatorClock {
    /// On a new stream another coordinator may answer, with another clock.
    pub(super) fn forget(&mut self) {
        self.samples.clear();
    }

    /// `asked`: when the question was ready to be sent. `now`: when the answer came.
    pub(super) fn heard(&mut self, asked: Instant, answer: Option<&v1::Clock>, now: Instant) {
        // A coordinator from before loads reports nothing.
        let Some(answer) = answer else { return };
        let zero = |time: Instant, micros: u64| time.checked_sub(Duration::from_micros(micros));
        let (Some(earliest), Some(latest)) = (zero(asked, answer.heard_micros), zero(now, answer.said_micros)) else {
            return;
        };
        if self.samples.len() == MOST_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample { earliest, latest });
    }

    /// When the coordinator's clock shows this, in microseconds from its zero; `None` before its first answer.
    pub(super) fn at(&self, micros: i64) -> Option<Instant> {
        let earliest = self.samples.iter().map(|sample| sample.earliest).max()?;
        let latest = self.samples.iter().map(|sample| sample.latest).min()?;
        // The bounds of clocks that drift can miss each other by a little: then both are as good.
        let zero =
            if earliest < latest { earliest + (latest - earliest) / 2 } else { latest + (earliest - latest) / 2 };
        let offset = Duration::from_micros(micros.unsigned_abs());
        if micros < 0 { zero.checked_sub(offset) } else { zero.checked_add(offset) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    /// An answer over a link with these delays in milliseconds, of a coordinator that takes `work` in between. Its clock shows
    /// `ahead` where ours shows `base`.
    fn hear(clock: &mut CoordinatorClock, base: Instant, at: u32, (there, work, back): (u32, u32, u32), ahead: u64) {
        let heard = Duration::from_micros(ahead) + (at + there) * MILLI;
        let micros = |shown: Duration| u64::try_from(shown.as_micros()).unwrap();
        let answer = v1::Clock { heard_micros: micros(heard), said_micros: micros(heard + work * MILLI) };
        clock.heard(base + at * MILLI, Some(&answer), base + (at + there + work + back) * MILLI);
    }

    #[tokio::test(start_paused = true)]
    async fn the_narrowest_bounds_count_and_the_coordinator_s_work_does_not() {
        let base = Instant::now();
        let mut clock = CoordinatorClock::default();
        assert_eq!(clock.at(0), None);
        let ahead = 7_000_000;
        hear(&mut clock, base, 0, (1, 500, 1), ahead);
        assert_eq!(clock.at(7_000_000), Some(base), "equal delays, whatever the coordinator did in between");
        hear(&mut clock, base, 1_000, (0, 3, 90), ahead);
        hear(&mut clock, base, 2_000, (80, 0, 0), ahead);
        assert_eq!(clock.at(7_000_000), Some(base), "one is narrow on each side");
        assert_eq!(clock.at(6_000_000), base.checked_sub(Duration::from_secs(1)));
        assert_eq!(clock.at(-1), base.checked_sub(Duration::from_micros(7_000_001)));
        clock.forget();
        assert_eq!(clock.at(0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn old_answers_are_forgotten_since_clocks_drift() {
        let base = Instant::now();
        let mut clock = CoordinatorClock::default();
        for answer in 0_u32..100 {
            // The coordinator's clock gains 200 µs between two answers.
            hear(&mut clock, base, answer * 2_000, (1, 0, 1), u64::from(answer) * 200);
        }
        let shown = i64::try_from(Duration::from_millis(99 * 2_000).as_micros()).unwrap() + 99 * 200;
        let (told, true_time) = (clock.at(shown).unwrap(), base + 99 * 2_000 * MILLI);
        let error = told.duration_since(true_time).max(true_time.duration_since(told));
        // Without forgetting it would be 10 ms.
        assert!(error < 2 * MILLI, "{error:?}");
    }
}
