//! Histograms that merge: fixed bounds, and memory only for the buckets that hold something.
//!
//! Merging is exact: any parts in any order give the same histogram as one that recorded all values.

mod stored;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// 1 h in microseconds. Every histogram has these bounds, so any two merge.
pub const HIGHEST: u64 = 3_600_000_000;

/// Values below this have a bucket each; above, a bucket is at most a thousandth of its values wide.
const EXACT: u64 = 1 << EXACT_BITS;
const EXACT_BITS: u32 = 11;
/// Buckets from one power of two to the next.
const STEPS: u64 = EXACT / 2;
/// So many values wait before they are sorted in: at least these, and an eighth of the filled buckets.
const LEAST_RECENT: usize = 64;

/// Counts of values from 0 to [`HIGHEST`], with three significant digits.
///
/// The buckets are those of `HdrHistogram`. A dense array of them takes 184 KiB; a run has thousands of histograms, and a
/// typical one fills a few hundred buckets, at 6 bytes each.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(into = "stored::Stored", try_from = "stored::Stored")]
pub struct Histogram {
    /// The buckets with a count, ascending.
    buckets: Vec<u16>,
    /// One for each of `buckets`.
    counts: Vec<u32>,
    /// The buckets of the latest values, which are not among `counts` yet. A search for each value by itself would wait for memory at each
    /// of its steps, as a turn goes into many histograms.
    recent: Vec<u16>,
    count: u64,
    sum: u128,
    /// Exact. The buckets know it only roughly.
    highest: u64,
}

impl Histogram {
    /// A value beyond the bounds counts as the highest, except in the maximum and in the mean.
    pub fn record(&mut self, value: u64) {
        self.recent.push(bucket(value));
        if self.recent.len() >= LEAST_RECENT.max(self.buckets.len() / 8) {
            self.settle();
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.highest = self.highest.max(value);
    }

    /// Counts the latest values, in one pass over all buckets.
    fn settle(&mut self) {
        self.recent.sort_unstable();
        let latest = || self.recent.chunk_by(|one, other| one == other);
        let mut filled = self.buckets.iter().peekable();
        let is_new = |same: &&[u16]| {
            while filled.next_if(|bucket| **bucket < same[0]).is_some() {}
            filled.peek() != Some(&&same[0])
        };
        let new = latest().filter(is_new).count();
        // From the end, so that nothing is overwritten that is still to move.
        let mut from = self.buckets.len();
        let mut to = from + new;
        self.buckets.resize(to, 0);
        self.counts.resize(to, 0);
        for same in latest().rev() {
            while from > 0 && self.buckets[from - 1] > same[0] {
                (from, to) = (from - 1, to - 1);
                (self.buckets[to], self.counts[to]) = (self.buckets[from], self.counts[from]);
            }
            let is_filled = from > 0 && self.buckets[from - 1] == same[0];
            let before = if is_filled { self.counts[from - 1] } else { 0 };
            from -= usize::from(is_filled);
            to -= 1;
            self.buckets[to] = same[0];
            self.counts[to] = before.saturating_add(u32::try_from(same.len()).unwrap_or(u32::MAX));
        }
        self.recent.clear();
    }

    /// The same histogram, without recent values. Reading several figures of it sorts them only once.
    pub(crate) fn settled(&self) -> Cow<'_, Self> {
        if self.recent.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        settled.settle();
        Cow::Owned(settled)
    }

    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.settle();
        let other = other.settled();
        let mut merged = Self {
            buckets: Vec::with_capacity(self.buckets.len().max(other.buckets.len())),
            counts: Vec::with_capacity(self.buckets.len().max(other.buckets.len())),
            recent: Vec::new(),
            count: self.count + other.count,
            sum: self.sum + other.sum,
            highest: self.highest.max(other.highest),
        };
        let mut ours = self.filled().peekable();
        let mut theirs = other.filled().peekable();
        loop {
            let bucket = match (ours.peek(), theirs.peek()) {
                (None, None) => break,
                (Some((one, _)), Some((two, _))) => *one.min(two),
                (Some((one, _)), None) | (None, Some((one, _))) => *one,
            };
            let ours = ours.next_if(|(at, _)| *at == bucket).map_or(0, |(_, count)| count);
            let theirs = theirs.next_if(|(at, _)| *at == bucket).map_or(0, |(_, count)| count);
            merged.buckets.push(bucket);
            merged.counts.push(ours.saturating_add(theirs));
        }
        drop((ours, theirs));
        *self = merged;
    }

    /// The filled buckets with their counts, ascending, without recent values.
    fn filled(&self) -> impl Iterator<Item = (u16, u32)> {
        self.buckets.iter().copied().zip(self.counts.iter().copied())
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact; 0 if nothing was recorded.
    #[must_use]
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Exact; 0.0 if nothing was recorded.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The value that a share of at least `quantile` (0 to 1) of all values does not exceed; 0 if nothing was recorded.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> u64 {
        let rank = ((quantile * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.settled().filled() {
            seen += u64::from(count);
            if seen >= rank {
                return highest_of(bucket).min(self.highest);
            }
        }
        self.highest
    }

    /// How many values are certainly not above this one: those of the bucket in which it lies are not counted, unless it is the
    /// bucket's highest.
    #[must_use]
    pub fn count_up_to(&self, value: u64) -> u64 {
        let settled = self.settled();
        let within = settled.filled().take_while(|(bucket, _)| highest_of(*bucket).min(self.highest) <= value);
        within.map(|(_, count)| u64::from(count)).sum()
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        (self.buckets.capacity() + self.recent.capacity()) * size_of::<u16>()
            + self.counts.capacity() * size_of::<u32>()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.settled(), other.settled());
        let figures = |all: &Self| (all.count, all.sum, all.highest);
        figures(&one) == figures(&other) && one.buckets == other.buckets && one.counts == other.counts
    }
}

impl Eq for Histogram {}

fn bucket(value: u64) -> u16 {
    let value = value.min(HIGHEST);
    let octave = (u64::BITS - value.leading_zeros()).saturating_sub(EXACT_BITS);
    let bucket = u64::from(octave) * STEPS + (value >> octave);
    // The highest value is in bucket 23,220.
    u16::try_from(bucket).unwrap_or(u16::MAX)
}

/// The highest value of a bucket.
fn highest_of(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    let octave = (bucket / STEPS).saturating_sub(1);
    ((bucket - octave * STEPS + 1) << octave) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of<'a>(values: impl IntoIterator<Item = &'a u64>) -> Histogram {
        let mut all = Histogram::default();
        values.into_iter().for_each(|value| all.record(*value));
        all
    }

    /// Times as they occur: microseconds to hours.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = prop_oneof![0..200_u64, 0..3_000_u64, 0..5_000_000_u64, 0..2 * HIGHEST, Just(0), Just(HIGHEST)];
        proptest::collection::vec(value, 0..300)
    }

    proptest! {
        #[test]
        fn any_cuts_into_workers_in_any_order_give_the_same_histogram(
            values in values(), owners in proptest::collection::vec(0..5_usize, 300), order in Just([0, 1, 2, 3, 4]).prop_shuffle(),
        ) {
            let whole = of(&values);
            let mut workers = vec![Histogram::default(); 5];
            values.iter().zip(&owners).for_each(|(value, owner)| workers[*owner].record(*value));
            let mut merged = Histogram::default();
            order.iter().for_each(|worker| merged.merge(&workers[*worker]));
            prop_assert_eq!(&merged, &whole);
            // (0 + 1) + (2 + (3 + 4)), and the other way round.
            let [mut first, second, mut third, mut fourth, fifth]: [Histogram; 5] = workers.try_into().unwrap();
            fourth.merge(&fifth);
            third.merge(&fourth);
            first.merge(&second);
            let mut backwards = third.clone();
            backwards.merge(&first);
            first.merge(&third);
            prop_assert_eq!(&first, &whole);
            prop_assert_eq!(&backwards, &whole);
        }

        #[test]
        fn a_quantile_is_the_value_of_its_rank_with_three_digits(mut values in values(), quantile in 0.0..=1.0_f64) {
            prop_assume!(!values.is_empty());
            let all = of(&values);
            values.sort_unstable();
            let rank = ((quantile * values.len() as f64).ceil() as usize).max(1);
            let (found, value) = (all.quantile(quantile), values[rank - 1].min(HIGHEST));
            prop_assert!(found >= value.min(all.highest()) && found - value <= value / 1_000, "{found} for {value}");
            prop_assert_eq!(all.highest(), values[values.len() - 1]);
            let mean = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
            prop_assert!((all.mean() - mean).abs() <= mean * 1e-9);
        }
    }

    #[test]
    fn every_bucket_ends_where_the_next_begins() {
        for bucket in 0..super::bucket(HIGHEST) {
            let last = highest_of(bucket);
            assert_eq!((super::bucket(last), super::bucket(last + 1)), (bucket, bucket + 1), "{last}");
        }
        assert_eq!((bucket(2_047), bucket(2_048), bucket(2_049), bucket(2_050)), (2_047, 2_048, 2_048, 2_049));
        assert_eq!((bucket(u64::MAX), bucket(HIGHEST)), (23_220, 23_220));
    }

    #[test]
    fn a_typical_series_takes_less_than_eight_kilobytes() {
        // 10,000 replies of 0.9 to 1.5 s, and of nearly the same time.
        let spread: Vec<u64> = (0..10_000_u64).map(|index| 900_000 + index * 7_919 % 600_000).collect();
        let alike: Vec<u64> = (0..10_000_u64).map(|index| 50_000 + index % 400).collect();
        for values in [spread, alike] {
            let bytes = of(&values).heap_bytes();
            assert!(bytes <= 8 * 1024, "{bytes}");
        }
        let some = of(&[10, 20, 20, 5_000_000]);
        let counts = [9, 10, 20, 4_000_000, 5_000_000, u64::MAX].map(|value| some.count_up_to(value));
        assert_eq!(counts, [0, 1, 3, 3, 4, 4]);
        assert_eq!(Histogram::default().heap_bytes(), 0);
        let full: Vec<u64> = (0..=bucket(HIGHEST)).map(highest_of).collect();
        let bytes = of(&full).heap_bytes();
        assert!(bytes <= 200 * 1024, "every bucket filled: {bytes}");
    }
}
