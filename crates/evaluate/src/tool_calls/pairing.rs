//! Pairs expected calls (rows) with calls that the agent made (columns).

use super::comparison::{Comparison, is_fail};
use crate::outcome::Outcome;

#[derive(Debug)]
pub(super) struct Pairs {
    rows: usize,
    columns: usize,
    /// In row-major order; `None`: not compared, because the names differ.
    compared: Vec<Option<Comparison>>,
}

#[derive(Debug)]
pub(super) enum Fit {
    Holds,
    /// No call answers this row.
    Missing(usize),
    /// This column should not be there.
    Unexpected(usize),
    /// The result depends on a judge that gave no answer.
    Undecided(Outcome),
}

impl Pairs {
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns, compared: vec![None; rows * columns] }
    }

    pub(super) fn set(&mut self, row: usize, column: usize, comparison: Comparison) {
        self.compared[row * self.columns + column] = Some(comparison);
    }

    /// Why the calls of this row's tool do not answer it; `None`: there are none, or one of them fits.
    pub(super) fn reasons(&self, row: usize) -> Option<String> {
        let mut of_the_row = (0..self.columns).filter_map(|column| self.at(row, column));
        let last = of_the_row.next_back()?;
        last.as_ref().err().map(|outcome| outcome.reason.clone())
    }

    pub(super) fn diagonal(&self) -> Fit {
        self.decided(|pairs| (0..self.rows).find(|row| !pairs(*row, *row)).map(Fit::Missing))
    }

    /// Greedy: the earliest call that fits leaves the most calls for the rows after it.
    pub(super) fn in_order(&self) -> Fit {
        self.decided(|pairs| {
            let mut next = 0;
            for row in 0..self.rows {
                match (next..self.columns).find(|column| pairs(row, *column)) {
                    Some(column) => next = column + 1,
                    None => return Some(Fit::Missing(row)),
                }
            }
            None
        })
    }

    pub(super) fn any_order(&self) -> Fit {
        self.decided(|pairs| unmatched(self.rows, self.columns, pairs).map(Fit::Missing))
    }

    /// Every call made answers a row of its own.
    pub(super) fn covered(&self) -> Fit {
        self.decided(|pairs| unmatched(self.columns, self.rows, &|column, row| pairs(row, column)).map(Fit::Unexpected))
    }

    pub(super) fn none(&self) -> Fit {
        let fits = |column: &usize| (0..self.rows).any(|row| matches!(self.at(row, *column), Some(Ok(()))));
        match (0..self.columns).find(fits) {
            Some(column) => Fit::Unexpected(column),
            None => self.undecided().map_or(Fit::Holds, |outcome| Fit::Undecided(outcome.clone())),
        }
    }

    /// `look` finds a fault, given which pairs fit. If it finds one even when every undecided pair fits, the check fails.
    fn decided(&self, look: impl Fn(&dyn Fn(usize, usize) -> bool) -> Option<Fit>) -> Fit {
        let surely = |row: usize, column: usize| matches!(self.at(row, column), Some(Ok(())));
        let perhaps = |row: usize, column: usize| match self.at(row, column) {
            Some(Ok(())) => true,
            Some(Err(outcome)) => !is_fail(outcome),
            None => false,
        };
        let Some(fault) = look(&surely) else { return Fit::Holds };
        match (look(&perhaps), self.undecided()) {
            (None, Some(outcome)) => Fit::Undecided(outcome.clone()),
            _ => fault,
        }
    }

    fn undecided(&self) -> Option<&Outcome> {
        let failed = self.compared.iter().flatten().filter_map(|comparison| comparison.as_ref().err());
        failed.into_iter().find(|outcome| !is_fail(outcome))
    }

    fn at(&self, row: usize, column: usize) -> Option<&Comparison> {
        self.compared[row * self.columns + column].as_ref()
    }
}

/// The first of `left` without a partner in a largest matching. Augmenting paths are searched breadth first: recursion
/// would let a large number of calls exhaust the stack.
fn unmatched(left: usize, right: usize, fits: &dyn Fn(usize, usize) -> bool) -> Option<usize> {
    let mut partner_of: Vec<Option<usize>> = vec![None; right];
    (0..left).find(|start| {
        let mut reached_from: Vec<Option<usize>> = vec![None; right];
        let mut partners: Vec<(usize, Option<usize>)> = vec![(*start, None)];
        let mut next = 0;
        while let Some((one, _)) = partners.get(next).copied() {
            next += 1;
            for other in (0..right).filter(|other| fits(one, *other)) {
                if reached_from[other].is_some() {
                    continue;
                }
                reached_from[other] = Some(next - 1);
                match partner_of[other] {
                    Some(partner) => partners.push((partner, Some(other))),
                    None => {
                        // Back along the path, each takes the partner that the search found for it.
                        let mut place = Some(other);
                        while let Some(spot) = place {
                            let from = reached_from[spot].expect("every place of the path was reached");
                            let (who, earlier) = partners[from];
                            partner_of[spot] = Some(who);
                            place = earlier;
                        }
                        return false;
                    }
                }
            }
        }
        true
    })
}

#[cfg(test)]
mod tests {
    use super::unmatched;

    #[test]
    fn a_largest_matching_is_found() {
        type Row<'a> = (usize, usize, &'a [(usize, usize)], Option<usize>);
        let rows: [Row<'_>; 7] = [
            (0, 0, &[], None),
            (1, 0, &[], Some(0)),
            (1, 1, &[(0, 0)], None),
            // The first must give way to the second.
            (2, 2, &[(0, 0), (0, 1), (1, 0)], None),
            (2, 2, &[(0, 0), (1, 0)], Some(1)),
            (3, 3, &[(0, 0), (0, 1), (1, 0), (1, 2), (2, 0)], None),
            (3, 3, &[(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)], Some(2)),
        ];
        for (left, right, edges, expected) in rows {
            assert_eq!(unmatched(left, right, &|one, other| edges.contains(&(one, other))), expected, "{edges:?}");
        }
        assert_eq!(unmatched(300, 300, &|one, other| other == 0 || one + 1 >= other), None);
    }
}
