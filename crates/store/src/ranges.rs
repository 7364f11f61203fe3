//! Ranges of trials: from numbers to ranges, and the rest of a lease after parts of it were released.

use std::ops::Range;

use crate::Lease;

/// Ascending numbers as the fewest disjoint ranges.
pub(crate) fn fold(numbers: impl IntoIterator<Item = u64>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => ranges.push(number..number + 1),
        }
    }
    ranges
}

/// The rest of a lease without the released trials of its run, epoch and session. Lease ids do not matter, because a
/// worker knows only which trials it holds.
pub(crate) fn without(lease: &Lease, released: &[Lease]) -> Vec<Lease> {
    let mut left = vec![lease.trials.clone()];
    for cut in released.iter().filter(|cut| cut.run == lease.run && cut.epoch == lease.epoch) {
        left = left.into_iter().flat_map(|piece| subtract(&piece, &cut.trials)).collect();
    }
    left.into_iter().map(|trials| lease.part(trials)).collect()
}

/// The part before the cut and the part after it, if they are not empty.
fn subtract(piece: &Range<u64>, cut: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let (before, after) = if cut.is_empty() {
        (piece.clone(), piece.end..piece.end)
    } else {
        (piece.start..piece.end.min(cut.start), piece.start.max(cut.end)..piece.end)
    };
    [before, after].into_iter().filter(|part| !part.is_empty())
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "the tables list ranges, some of them one")]
mod tests {
    use scenario::RunId;

    use super::*;

    fn lease(trials: Range<u64>, epoch: u32) -> Lease {
        let begun = trials.start;
        Lease { id: 7, run: RunId::new("run"), trials, epoch, session: 1, begun }
    }

    #[test]
    fn numbers_fold_into_ranges() {
        let rows: [(&[u64], Vec<Range<u64>>); 4] =
            [(&[], vec![]), (&[4], vec![4..5]), (&[0, 1, 2], vec![0..3]), (&[0, 2, 3, 9], vec![0..1, 2..4, 9..10])];
        for (numbers, ranges) in rows {
            assert_eq!(fold(numbers.iter().copied()), ranges, "{numbers:?}");
        }
    }

    #[test]
    fn a_release_leaves_the_rest() {
        type Trials = Vec<Range<u64>>;
        let rows: [(Trials, Trials); 8] = [
            (vec![], vec![2..9]),
            (vec![2..9], vec![]),
            (vec![0..100], vec![]),
            (vec![2..4], vec![4..9]),
            (vec![8..12], vec![2..8]),
            (vec![4..5], vec![2..4, 5..9]),
            (vec![3..4, 6..7], vec![2..3, 4..6, 7..9]),
            (vec![5..5, 20..30], vec![2..9]),
        ];
        for (cuts, left) in rows {
            let released: Vec<Lease> = cuts.iter().map(|cut| lease(cut.clone(), 1)).collect();
            let found: Vec<_> = without(&lease(2..9, 1), &released).into_iter().map(|lease| lease.trials).collect();
            assert_eq!(found, left, "{cuts:?}");
        }
        assert_eq!(without(&lease(2..9, 1), &[lease(2..9, 2)]), [lease(2..9, 1)], "another epoch is another lease");
    }
}
