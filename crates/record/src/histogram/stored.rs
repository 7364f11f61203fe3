//! A histogram as it is stored: its sum, its highest value, and its filled buckets.

use serde::{Deserialize, Serialize};

use super::{HIGHEST, Histogram, bucket};

/// The filled buckets as pairs of numbers: how far the bucket is from the one before (the first: from 0), and its count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    /// Larger sums are stored as the largest number.
    sum: u64,
    highest: u64,
    buckets: Vec<u32>,
}

impl From<Histogram> for Stored {
    fn from(mut histogram: Histogram) -> Self {
        histogram.settle();
        let mut last = 0;
        let pairs = histogram.filled().flat_map(|(at, count)| {
            let gap = u32::from(at - last);
            last = at;
            [gap, count]
        });
        let buckets = pairs.collect();
        Self { sum: u64::try_from(histogram.sum).unwrap_or(u64::MAX), highest: histogram.highest, buckets }
    }
}

impl TryFrom<Stored> for Histogram {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let mut found = Self { sum: u128::from(stored.sum), highest: stored.highest, ..Self::default() };
        let (pairs, rest) = stored.buckets.as_chunks::<2>();
        if !rest.is_empty() {
            return Err("a histogram has pairs of numbers");
        }
        let mut at = 0_u32;
        for (index, [gap, count]) in pairs.iter().enumerate() {
            at = at.saturating_add(*gap);
            let place = u16::try_from(at).ok().filter(|place| *place <= bucket(HIGHEST));
            let Some(place) = place.filter(|_| *count > 0 && (index == 0 || *gap > 0)) else {
                return Err("a histogram has ascending buckets with counts");
            };
            found.buckets.push(place);
            found.counts.push(*count);
            found.count += u64::from(*count);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_comes_back_as_it_was_stored() {
        let mut times = Histogram::default();
        for value in [0, 0, 7, 1_500, 250_000, 250_010, 3_000_000, 2 * HIGHEST] {
            times.record(value);
        }
        let text = serde_json::to_string(&times).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), times);
        assert!(text.contains(r#""highest":7200000000,"buckets":[0,2,7,1,1493,1,"#), "{text}");
        let empty = serde_json::to_string(&Histogram::default()).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&empty).unwrap(), Histogram::default());
    }

    #[test]
    fn buckets_that_no_histogram_has_are_refused() {
        for buckets in ["[1]", "[1,0]", "[1,1,0,1]", "[70000,1]", "[23221,1]"] {
            let text = format!(r#"{{"sum":1,"highest":1,"buckets":{buckets}}}"#);
            assert!(serde_json::from_str::<Histogram>(&text).is_err(), "{buckets}");
        }
    }
}
