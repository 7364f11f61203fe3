//! Pieces of queues whose trials have the same next epoch: a lease has one.

use std::{collections::BTreeMap, ops::Range};

use super::ranges::Ranges;

/// At most `most` trials of a queue, of these numbers, in at most `pieces` ranges of equal epochs.
pub(super) fn take_within(
    queue: &mut Ranges,
    attempts: &BTreeMap<u64, u32>,
    numbers: Range<u64>,
    most: u64,
    pieces: usize,
) -> Vec<(Range<u64>, u32)> {
    let (mut taken, mut left) = (Vec::new(), most);
    while taken.len() < pieces
        && let Some(range) = queue.take_first_within(numbers.clone(), left)
    {
        let (piece, epoch) = of_one_epoch(attempts, &range);
        queue.insert(piece.end..range.end);
        left -= piece.end - piece.start;
        taken.push((piece, epoch));
    }
    taken
}

pub(super) fn length(pieces: &[(Range<u64>, u32)]) -> u64 {
    pieces.iter().map(|(piece, _)| piece.end - piece.start).sum()
}

/// The longest prefix of the range whose trials have the same next epoch.
pub(super) fn of_one_epoch(attempts: &BTreeMap<u64, u32>, range: &Range<u64>) -> (Range<u64>, u32) {
    let next = |trial: u64| attempts.get(&trial).copied().unwrap_or(0) + 1;
    let epoch = next(range.start);
    let end = range.clone().find(|trial| next(*trial) != epoch).unwrap_or(range.end);
    (range.start..end, epoch)
}
