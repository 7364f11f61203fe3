//! Held trials as the coordinator wants them: in ranges.

use std::collections::BTreeSet;

use proto::v1;

use crate::outbox::Attempt;

/// Neighbouring attempts of one run and epoch as one range.
pub(super) fn ranges(attempts: BTreeSet<&Attempt>) -> Vec<v1::Held> {
    let mut sorted: Vec<&Attempt> = attempts.into_iter().collect();
    sorted.sort_by(|a, b| (&a.run, a.epoch, a.trial).cmp(&(&b.run, b.epoch, b.trial)));
    let mut ranges: Vec<v1::Held> = Vec::new();
    for attempt in sorted {
        match ranges.last_mut() {
            Some(last)
                if last.run == attempt.run.as_str() && last.epoch == attempt.epoch && last.end == attempt.trial =>
            {
                last.end += 1
            }
            _ => ranges.push(v1::Held {
                run: attempt.run.as_str().to_owned(),
                first: attempt.trial,
                end: attempt.trial + 1,
                epoch: attempt.epoch,
            }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use scenario::RunId;

    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        let attempt = |trial, epoch| Attempt { run: RunId::new("r"), trial, epoch };
        let all = [attempt(3, 1), attempt(1, 1), attempt(2, 1), attempt(4, 2), attempt(6, 1)];
        let held = ranges(all.iter().collect());
        let shape: Vec<_> = held.iter().map(|held| (held.first, held.end, held.epoch)).collect();
        assert_eq!(shape, [(1, 4, 1), (6, 7, 1), (4, 5, 2)]);
    }
}
