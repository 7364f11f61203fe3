//! Whether a window empties steadily within a minute, as a limit of a minute does.
//!
//! Answers name no length. Of a window that empties steadily, the time until it is empty grows in proportion to what is used, so
//! two answers with different use give the same length. A fixed window ends at one moment: that time falls while the
//! use grows, and the lengths that it seems to have pass through a minute. So several answers in a row must agree.
//! Fixed windows need no limit here: when one is used up, calls pause until it ends.

use std::{cmp::Ordering, num::NonZeroU64, ops::RangeInclusive};

use crate::named_limits::{Filling, Window};

/// Pairs of answers in a row that must agree. Answers of a fixed window agree only by chance, and then once.
const AGREEMENTS: u8 = 3;

/// The lengths of two answers, one divided by the other: times in headers are rounded.
const ALIKE: RangeInclusive<f64> = 0.8..=1.25;

/// What the answers so far say of one window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    last: Option<Filling>,
    agreements: u8,
}

impl Evidence {
    /// The limit of a minute; `None` while the answers do not prove one.
    pub(super) fn take(&mut self, window: Window) -> Option<NonZeroU64> {
        let seen = match window {
            Window::Minute(limit) => return Some(limit),
            Window::Unnamed(seen) => seen,
        };
        match self.last.filter(|last| last.limit == seen.limit).map(|last| agree(&last, &seen)) {
            // It says nothing that the last one did not say.
            Some(None) => {}
            Some(Some(true)) => {
                *self = Self { last: Some(seen), agreements: self.agreements.saturating_add(1) };
            }
            Some(Some(false)) | None => *self = Self { last: Some(seen), agreements: 0 },
        }
        (self.agreements >= AGREEMENTS).then_some(seen.limit)
    }
}

/// Whether two answers, in any order, are of a window that empties steadily in about a minute; `None` where they say the
/// same.
fn agree(one: &Filling, other: &Filling) -> Option<bool> {
    match (other.used.cmp(&one.used), other.empty_in.cmp(&one.empty_in)) {
        (Ordering::Equal, Ordering::Equal) => None,
        (Ordering::Equal, _) => Some(are_alike(one, other)).filter(|alike| !alike),
        // The times are rounded.
        (_, Ordering::Equal) => None,
        (use_grows, time_grows) => Some(
            use_grows == time_grows && one.is_about_a_minute() && other.is_about_a_minute() && are_alike(one, other),
        ),
    }
}

fn are_alike(one: &Filling, other: &Filling) -> bool {
    ALIKE.contains(&(other.seconds_if_steady() / one.seconds_if_steady()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn filling(limit: u64, used: u64, seconds: f64) -> Filling {
        let [limit, used] = [limit, used].map(|number| NonZeroU64::new(number).expect("a number"));
        Filling { limit, used, empty_in: Duration::from_secs_f64(seconds) }
    }

    /// The answer with which the limit is proved.
    fn proved_at(answers: impl IntoIterator<Item = Filling>) -> Option<usize> {
        let mut evidence = Evidence::default();
        answers.into_iter().position(|seen| evidence.take(Window::Unnamed(seen)).is_some())
    }

    #[test]
    fn a_minute_is_proved_by_four_answers_with_different_use() {
        let steady = |used: &[u64], limit: u64| {
            proved_at(used.iter().map(|used| filling(limit, *used, 60.0 * *used as f64 / limit as f64)))
        };
        assert_eq!(steady(&[1, 2, 3, 4], 500), Some(3));
        assert_eq!(steady(&[4, 2, 3, 1], 500), Some(3), "in any order");
        assert_eq!(steady(&[1, 1, 2, 1, 1, 2], 500), Some(5), "answers alike prove nothing");
        assert_eq!(steady(&[1, 1, 1, 1, 1, 1], 500), None);
        assert_eq!(Evidence::default().take(Window::Minute(NonZeroU64::MIN)), Some(NonZeroU64::MIN));
    }

    #[test]
    fn windows_of_other_lengths_are_no_minute() {
        for seconds in [1.0, 10.0, 30.0, 3_600.0, 86_400.0] {
            let answers = (1..200).map(|used| filling(1_000, used, seconds * used as f64 / 1_000.0));
            assert_eq!(proved_at(answers), None, "{seconds}");
        }
    }

    #[test]
    fn a_new_limit_needs_a_new_proof() {
        let of = |limit: u64| (1..=4).map(move |used| filling(limit, used, 60.0 * used as f64 / limit as f64));
        let mut evidence = Evidence::default();
        let proved: Vec<_> =
            of(500).chain(of(900)).map(|seen| evidence.take(Window::Unnamed(seen)).map(NonZeroU64::get)).collect();
        assert_eq!(proved, [None, None, None, Some(500), None, None, None, Some(900)]);
    }

    proptest! {
        /// Calls at any times, each answered with what its window has used by then.
        #[test]
        fn a_fixed_window_is_never_a_minute(
            limit in 2_u64..5_000, length in prop_oneof![1.0..5.0_f64, 5.0..60.0, Just(60.0), Just(3_600.0)],
            gaps in prop::collection::vec(0.001..2.0_f64, 1..300), whole_seconds: bool,
        ) {
            let (mut now, mut window, mut used) = (0.0_f64, 0.0_f64, 0);
            let answers = gaps.iter().map(|gap| {
                now += gap;
                if (now / length).floor() > window {
                    (window, used) = ((now / length).floor(), 0);
                }
                used = (used + 1).min(limit);
                let left = (window + 1.0) * length - now;
                filling(limit, used, if whole_seconds { left.ceil() } else { left.max(0.0) })
            });
            let answers: Vec<Filling> = answers.collect();
            prop_assert_eq!(proved_at(answers), None);
        }
    }
}
