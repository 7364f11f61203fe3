//! The gap before an arrival where the rate is 1: a pure function of seed, lane and place.

use super::pace::Spacing;
use crate::draws::{Draws, mix};

/// Gaps are summed as integers, so that a sum does not depend on where it begins.
pub(super) const ONE: f64 = (1_u64 << 28) as f64;

/// The gap before arrival `index`, in units of 1/[`ONE`].
pub(super) fn gap(spacing: Spacing, key: u64, index: u64) -> u64 {
    let mut draws = Draws::of(mix(key ^ mix(index)));
    let gap = match spacing {
        Spacing::Even => 1.0,
        Spacing::Poisson => draws.exponential(),
        Spacing::Gamma { burstiness } => draws.gamma(burstiness) / burstiness,
    };
    (gap * ONE) as u64
}
