//! Pairs expected calls (rows) with calls that the agent made (columns).

use record::{Ballot, Finding};

use crate::{branches::ballots_of, outcome::Outcome};

#[derive(Debug)]
pub(super) struct Pairs {
    rows: usize,
    columns: usize,
    /// In row-major order; `None`: not compared, because the names differ.
    compared: Vec<Option<Outcome>>,
    /// Every vote of judges about a pair.
    pub(super) ballots: Vec<Ballot>,
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
        Self { rows, columns, compared: vec![None; rows * columns], ballots: Vec::new() }
    }

    pub(super) fn set(&mut self, row: usize, column: usize, mut outcome: Outcome) {
        if !outcome.ballots.is_empty() {
            self.ballots.extend(ballots_of(&format!("call {}", column + 1), &mut outcome));
        }
        self.compared[row * self.columns + column] = Some(outcome);
    }

    /// Why judges that decided a pair only inform.
    pub(super) fn uncalibrated(&self) -> Option<&str> {
        self.compared.iter().flatten().find_map(|outcome| outcome.uncalibrated.as_deref())
    }

    /// The same without the word of judges that only inform: what they decided is undecided.
    pub(super) fn without_uncalibrated(&self) -> Self {
        let ignored = |outcome: &Outcome| match outcome.uncalibrated {
            Some(_) => Outcome { finding: Finding::Inconclusive, ..outcome.clone() },
            None => outcome.clone(),
        };
        let compared = self.compared.iter().map(|outcome| outcome.as_ref().map(ignored)).collect();
        Self { compared, ballots: Vec::new(), ..*self }
    }

    /// Why the calls of this row's tool do not match it; `None`: there are none, or one of them matches.
    pub(super) fn reasons(&self, row: usize) -> Option<String> {
        let mut of_the_row = (0..self.columns).filter_map(|column| self.at(row, column));
        let last = of_the_row.next_back()?;
        (last.finding != Finding::Pass).then(|| last.reason.clone())
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

    /// Every call matches a row of its own.
    pub(super) fn covered(&self) -> Fit {
        self.decided(|pairs| unmatched(self.columns, self.rows, &|column, row| pairs(row, column)).map(Fit::Unexpected))
    }

    pub(super) fn none(&self) -> Fit {
        let fits = |column: &usize| (0..self.rows).any(|row| self.at(row, *column).is_some_and(fits_surely));
        match (0..self.columns).find(fits) {
            Some(column) => Fit::Unexpected(column),
            None => self.undecided().map_or(Fit::Holds, |outcome| Fit::Undecided(outcome.clone())),
        }
    }

    /// `look` finds a fault, given which pairs fit. If it finds one even when every undecided pair fits, the check fails.
    fn decided(&self, look: impl Fn(&dyn Fn(usize, usize) -> bool) -> Option<Fit>) -> Fit {
        let surely = |row: usize, column: usize| self.at(row, column).is_some_and(fits_surely);
        let perhaps =
            |row: usize, column: usize| self.at(row, column).is_some_and(|outcome| outcome.finding != Finding::Fail);
        if look(&surely).is_none() {
            return Fit::Holds;
        }
        look(&perhaps)
            .or_else(|| self.undecided().cloned().map(Fit::Undecided))
            .expect("what holds perhaps and not surely has an undecided pair")
    }

    /// The first, or the first that does not rest on judges which only inform.
    fn undecided(&self) -> Option<&Outcome> {
        let undecided = self.compared.iter().flatten().filter(|outcome| !outcome.is_decided());
        undecided.min_by_key(|outcome| outcome.uncalibrated.is_some())
    }

    fn at(&self, row: usize, column: usize) -> Option<&Outcome> {
        self.compared[row * self.columns + column].as_ref()
    }
}

fn fits_surely(outcome: &Outcome) -> bool {
    outcome.finding == Finding::Pass
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
