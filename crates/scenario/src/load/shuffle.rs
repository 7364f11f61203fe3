//! A permutation that is computed and not stored: which place of a block comes at which turn.

use crate::draws::mix;

/// Where `place` of 0..`length` goes: a Feistel network over the next power of four, walked until it is inside.
pub(super) fn shuffled(key: u64, length: u64, place: u64) -> u64 {
    if length < 2 {
        return 0;
    }
    let half = (64 - (length - 1).leading_zeros()).div_ceil(2);
    let mask = (1_u64 << half) - 1;
    let mut at = place;
    loop {
        let (mut left, mut right) = (at >> half, at & mask);
        for round in 0..4 {
            (left, right) = (right, left ^ (mix(key ^ mix(right << 2 | round)) & mask));
        }
        at = left << half | right;
        // At most four times as many places as asked for, so a few steps on average.
        if at < length {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::key;

    #[test]
    fn every_place_is_taken_once() {
        for length in (1..70).chain([255, 256, 257, 1000]) {
            for key in 0..5 {
                let mut places: Vec<u64> = (0..length).map(|place| shuffled(key, length, place)).collect();
                places.sort_unstable();
                assert!(places.into_iter().eq(0..length), "{length}, {key}");
            }
        }
    }

    #[test]
    fn orders_are_equally_likely() {
        let mut counts = std::collections::BTreeMap::<Vec<u64>, u32>::new();
        for seed in 0..6000 {
            *counts.entry((0..3).map(|place| shuffled(key(&[seed]), 3, place)).collect()).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
