//! A set of trial numbers that is small when the numbers are neighbours.

use std::{collections::BTreeMap, ops::Range};

/// Disjoint ranges that do not touch, by their first number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Ranges {
    ends: BTreeMap<u64, u64>,
    count: u64,
}

impl Ranges {
    pub(super) fn of(range: Range<u64>) -> Self {
        let mut all = Self::default();
        all.insert(range);
        all
    }

    /// How many numbers there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The range must not overlap the set.
    pub(super) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        self.count += range.end - range.start;
        let mut merged = range;
        if let Some((first, end)) = self.ends.range(..merged.start).next_back().map(|(first, end)| (*first, *end))
            && end == merged.start
        {
            self.ends.remove(&first);
            merged.start = first;
        }
        if let Some(end) = self.ends.remove(&merged.end) {
            merged.end = end;
        }
        self.ends.insert(merged.start, merged.end);
    }

    /// Removes the numbers of the range that are in the set.
    pub(super) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let before = self.ends.range(..range.start).next_back().map(|(first, _)| *first);
        let within = self.ends.range(range.clone()).map(|(first, _)| *first);
        let touched: Vec<u64> = before.into_iter().chain(within).collect();
        for first in touched {
            let Some(end) = self.ends.get(&first).copied() else { continue };
            let cut = first.max(range.start)..end.min(range.end);
            if cut.is_empty() {
                continue;
            }
            self.ends.remove(&first);
            self.count -= cut.end - cut.start;
            if first < cut.start {
                self.ends.insert(first, cut.start);
            }
            if cut.end < end {
                self.ends.insert(cut.end, end);
            }
        }
    }

    /// From which number on the set has every number up to `end`, which it does not have.
    pub(super) fn tail(&self, end: u64) -> u64 {
        self.ends.range(..end).next_back().filter(|(_, last)| **last == end).map_or(end, |(first, _)| *first)
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.ends.range(..=number).next_back().is_some_and(|(_, end)| *end > number)
    }

    /// How many ranges there are.
    pub(super) fn pieces(&self) -> usize {
        self.ends.len()
    }

    /// How many numbers are less than this.
    pub(super) fn count_below(&self, limit: u64) -> u64 {
        self.ends.range(..limit).map(|(first, end)| end.min(&limit) - first).sum()
    }

    /// Takes out the first numbers of the range that are in the set and are neighbours, at most `most`.
    pub(super) fn take_first_within(&mut self, range: Range<u64>, most: u64) -> Option<Range<u64>> {
        if most == 0 || range.is_empty() {
            return None;
        }
        let over = self.ends.range(..=range.start).next_back().filter(|(_, end)| **end > range.start);
        let (first, end) = over.or_else(|| self.ends.range(range.clone()).next())?;
        let first = range.start.max(*first);
        let taken = first..range.end.min(*end).min(first.saturating_add(most));
        self.remove(taken.clone());
        Some(taken)
    }

    /// Takes out the first range, or its first `most` numbers.
    pub(super) fn take_first(&mut self, most: u64) -> Option<Range<u64>> {
        let (first, end) = self.ends.pop_first()?;
        let cut = end.min(first.saturating_add(most));
        if cut < end {
            self.ends.insert(cut, end);
        }
        self.count -= cut - first;
        Some(first..cut)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Change {
        Insert(Range<u64>),
        Remove(Range<u64>),
        Take(u64),
        TakeWithin(Range<u64>, u64),
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let range = || (0_u64..60, 0_u64..12).prop_map(|(first, length)| first..first + length);
        let change = prop_oneof![
            range().prop_map(Change::Insert),
            range().prop_map(Change::Remove),
            (1_u64..9).prop_map(Change::Take),
            (range(), 0_u64..9).prop_map(|(range, most)| Change::TakeWithin(range, most))
        ];
        proptest::collection::vec(change, 0..60)
    }

    proptest! {
        #[test]
        fn it_is_a_set_of_numbers(changes in changes()) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for change in changes {
                match change {
                    Change::Insert(range) => {
                        ranges.remove(range.clone());
                        ranges.insert(range.clone());
                        set.extend(range);
                    }
                    Change::Remove(range) => {
                        ranges.remove(range.clone());
                        set.retain(|number| !range.contains(number));
                    }
                    Change::TakeWithin(range, most) => {
                        let taken = ranges.take_first_within(range.clone(), most);
                        let first = set.range(range.clone()).next().copied().filter(|_| most > 0);
                        prop_assert_eq!(taken.as_ref().map(|taken| taken.start), first);
                        for number in taken.into_iter().flatten() {
                            prop_assert!(range.contains(&number) && set.remove(&number));
                        }
                    }
                    Change::Take(most) => {
                        let taken = ranges.take_first(most);
                        prop_assert_eq!(taken.as_ref().map(|taken| taken.start), set.first().copied());
                        for number in taken.into_iter().flatten() {
                            prop_assert!(set.remove(&number));
                        }
                    }
                }
                prop_assert_eq!(ranges.count_below(30), set.range(..30).count() as u64);
                let numbers: BTreeSet<u64> = ranges.ends.iter().flat_map(|(first, end)| *first..*end).collect();
                prop_assert_eq!(&numbers, &set);
                prop_assert_eq!(ranges.count(), set.len() as u64);
                prop_assert!((0..80).all(|number| ranges.has(number) == set.contains(&number)));
                let touching = ranges.ends.values().any(|end| ranges.ends.contains_key(end));
                prop_assert!(!touching, "neighbours are one range");
            }
        }
    }
}
