//! The tuples of values that no row has yet.

use std::cmp::Reverse;

/// All tuples of any `strength` factors.
#[derive(Debug)]
pub(super) struct Tuples {
    sets: Vec<Set>,
    /// The sets that each factor is in.
    sets_of: Vec<Vec<usize>>,
    sizes: Vec<usize>,
    left: u64,
}

/// The tuples of one choice of factors, the last factor fastest.
#[derive(Debug)]
struct Set {
    factors: Vec<usize>,
    is_open: Vec<bool>,
    left: u64,
    /// None before it is open.
    first: usize,
}

impl Tuples {
    /// `None`: there are more than `most`. A strength beyond the number of factors means all of them.
    pub(super) fn of(sizes: &[usize], strength: usize, most: u64) -> Option<Self> {
        let strength = strength.min(sizes.len());
        let mut tuples =
            Self { sets: Vec::new(), sets_of: vec![Vec::new(); sizes.len()], sizes: sizes.to_vec(), left: 0 };
        let mut factors: Vec<usize> = (0..strength).collect();
        loop {
            let product = factors.iter().fold(1_u64, |product, factor| product.saturating_mul(sizes[*factor] as u64));
            tuples.left = tuples.left.saturating_add(product);
            if tuples.left > most {
                return None;
            }
            factors.iter().for_each(|factor| tuples.sets_of[*factor].push(tuples.sets.len()));
            tuples.sets.push(Set {
                factors: factors.clone(),
                is_open: vec![true; usize::try_from(product).ok()?],
                left: product,
                first: 0,
            });
            if !next(&mut factors, sizes.len()) {
                return Some(tuples);
            }
        }
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// How many tuples are looked at to fill one row.
    pub(super) fn steps(&self) -> u64 {
        self.sizes.iter().zip(&self.sets_of).map(|(size, sets)| (size * sets.len()) as u64).sum()
    }

    /// The sets with most open tuples, at most so many: those with at least half as many as the first.
    pub(super) fn fullest(&self, number: usize) -> Vec<usize> {
        let most = self.sets.iter().map(|set| set.left).max().unwrap_or_default();
        let mut sets: Vec<usize> =
            (0..self.sets.len()).filter(|set| self.sets[*set].left >= most.div_ceil(2)).collect();
        sets.sort_by_key(|set| (Reverse(self.sets[*set].left), *set));
        sets.truncate(number);
        sets
    }

    /// The first open tuple of a set, as factors and their values.
    pub(super) fn first_of(&mut self, set: usize) -> Option<Vec<(usize, usize)>> {
        let Self { sets, sizes, .. } = self;
        let set = &mut sets[set];
        set.first += set.is_open[set.first..].iter().position(|is_open| *is_open)?;
        let mut place = set.first;
        let mut tuple = Vec::with_capacity(set.factors.len());
        for factor in set.factors.iter().rev() {
            tuple.push((*factor, place % sizes[*factor]));
            place /= sizes[*factor];
        }
        tuple.reverse();
        Some(tuple)
    }

    /// Takes the first open tuple of a set out: no row can have it.
    pub(super) fn close(&mut self, set: usize) {
        let first = self.sets[set].first;
        self.take(set, first);
    }

    /// How many open tuples a value would cover, together with the values that the row has.
    pub(super) fn gained(&self, row: &[Option<usize>], factor: usize, value: usize) -> u64 {
        let value_of = |of: usize| if of == factor { Some(value) } else { row[of] };
        let is_open = |set: &&usize| {
            let set = &self.sets[**set];
            self.place(set, value_of).is_some_and(|place| set.is_open[place])
        };
        self.sets_of[factor].iter().filter(is_open).count() as u64
    }

    pub(super) fn covered_by(&self, row: &[usize]) -> u64 {
        let is_open =
            |set: &&Set| self.place(set, |factor| row.get(factor).copied()).is_some_and(|place| set.is_open[place]);
        self.sets.iter().filter(is_open).count() as u64
    }

    pub(super) fn cover(&mut self, row: &[usize]) {
        for set in 0..self.sets.len() {
            if let Some(place) = self.place(&self.sets[set], |factor| row.get(factor).copied()) {
                self.take(set, place);
            }
        }
    }

    /// Leaves only the tuples of these rows open.
    pub(super) fn only(&mut self, rows: &[Vec<usize>]) {
        self.left = 0;
        for set in 0..self.sets.len() {
            let mut is_open = vec![false; self.sets[set].is_open.len()];
            for row in rows {
                if let Some(place) = self.place(&self.sets[set], |factor| row.get(factor).copied()) {
                    is_open[place] = true;
                }
            }
            let left = is_open.iter().filter(|is_open| **is_open).count() as u64;
            self.left += left;
            self.sets[set].left = left;
            self.sets[set].is_open = is_open;
        }
    }

    fn take(&mut self, set: usize, place: usize) {
        let set = &mut self.sets[set];
        if std::mem::take(&mut set.is_open[place]) {
            set.left -= 1;
            self.left -= 1;
        }
    }

    /// `None` if a factor of the set has no value yet.
    fn place(&self, set: &Set, value_of: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        set.factors.iter().try_fold(0, |place, factor| Some(place * self.sizes[*factor] + value_of(*factor)?))
    }
}

/// The next choice of as many factors, in order; `false` after the last.
fn next(factors: &mut [usize], all: usize) -> bool {
    let number = factors.len();
    let Some(place) = (0..number).rev().find(|place| factors[*place] < all - number + place) else { return false };
    factors[place] += 1;
    for later in place + 1..number {
        factors[later] = factors[later - 1] + 1;
    }
    true
}
