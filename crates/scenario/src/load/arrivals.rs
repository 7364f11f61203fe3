//! The arrivals of a lane with a rate: how many there are, and when each is due.

use std::time::Duration;

use super::{
    gap::{ONE, gap},
    pace::Spacing,
    profile::{Inverse, Profile},
};

/// The gaps of so many arrivals are drawn to find one: a sum is kept for each block.
pub(super) const BLOCK: u64 = 64;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrivals {
    pub(super) spacing: Spacing,
    key: u64,
    /// Of even arrivals: how much of a gap the first one comes after 0.
    phase: f64,
    pub(super) rate: Inverse,
    pub(super) count: u64,
    pub(super) ends: Duration,
    /// The sum of all gaps before each block, in the units of `gap`. Empty where the gaps are even.
    blocks: Vec<u64>,
}

impl Arrivals {
    pub(super) fn of(spacing: Spacing, rate: &Profile, key: u64, phase: f64) -> Self {
        let inverse = Inverse::of(rate);
        let ends = Duration::from_micros(rate.micros());
        let mut arrivals = Self { spacing, key, phase, rate: inverse, count: 0, ends, blocks: Vec::new() };
        arrivals.count_again();
        arrivals
    }

    /// Counts how many arrivals the rate has room for. Sums of gaps that are known stay.
    pub(super) fn count_again(&mut self) {
        if self.spacing == Spacing::Even {
            // A sum of products may miss a whole number by the last digits.
            self.count = (self.rate.total - self.phase - 1e-6).ceil().max(0.0) as u64;
            return;
        }
        let end = (self.rate.total * ONE) as u64;
        let known = self.blocks.partition_point(|sum| *sum < end);
        self.blocks.truncate(known);
        let mut sum = self.blocks.pop().unwrap_or(0);
        self.count = self.blocks.len() as u64 * BLOCK;
        loop {
            if self.count.is_multiple_of(BLOCK) {
                self.blocks.push(sum);
            }
            sum += gap(self.spacing, self.key, self.count);
            if sum >= end {
                return;
            }
            self.count += 1;
        }
    }

    /// The sum of the gaps of all arrivals before this one.
    pub(super) fn sum_before(&self, local: u64) -> u64 {
        if self.spacing == Spacing::Even {
            return 0;
        }
        let block = usize::try_from(local / BLOCK).ok().and_then(|block| self.blocks.get(block));
        let of_block = (local - local % BLOCK..local).map(|other| gap(self.spacing, self.key, other));
        block.copied().unwrap_or(0) + of_block.sum::<u64>()
    }

    /// The last microsecond before the end: an arrival just before it may be rounded up.
    fn last(&self) -> u64 {
        micros(self.ends).saturating_sub(1)
    }

    /// When an arrival is due, in microseconds; adds its gap to the sum of those before.
    pub(super) fn next(&self, local: u64, sum: &mut u64) -> u64 {
        if self.spacing == Spacing::Even {
            // The first arrival of the first group is due at once, as constant-arrival-rate of k6.
            return self.rate.micros(local as f64 + self.phase).min(self.last());
        }
        *sum += gap(self.spacing, self.key, local);
        self.rate.micros(*sum as f64 / ONE).min(self.last())
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
