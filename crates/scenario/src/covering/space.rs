//! The rows that are allowed: a value for each factor, and no exclusion.

use super::Fault;

/// Values of factors that no row has together: of each factor, which of its values are meant.
pub(crate) type Exclusion = Vec<(usize, Vec<bool>)>;

/// The most values that are tried to fill one row.
const MOST_TRIED: u32 = 100_000;

/// The sizes of the factors, and what is excluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Space {
    sizes: Vec<usize>,
    excluded: Vec<Exclusion>,
}

impl Space {
    pub(crate) fn new(sizes: Vec<usize>, excluded: Vec<Exclusion>) -> Self {
        Self { sizes, excluded }
    }

    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    pub(super) fn empty(&self) -> Vec<Option<usize>> {
        vec![None; self.sizes.len()]
    }

    /// Whether some allowed row has the values that are there. The row is the same afterwards.
    pub(super) fn allows(&self, row: &mut [Option<usize>]) -> Result<bool, Fault> {
        let mut tried = 0;
        self.can_be_filled(row, &mut tried)
    }

    fn can_be_filled(&self, row: &mut [Option<usize>], tried: &mut u32) -> Result<bool, Fault> {
        // Only an exclusion whose values so far are all meant can still apply.
        let alive = |list: &&Exclusion| {
            list.iter().all(|(factor, values)| row[*factor].is_none_or(|value| values.get(value) == Some(&true)))
        };
        let Some(list) = self.excluded.iter().find(alive) else { return Ok(true) };
        let Some(factor) = list.iter().map(|(factor, _)| *factor).find(|factor| row[*factor].is_none()) else {
            return Ok(false);
        };
        for value in 0..self.sizes[factor] {
            *tried += 1;
            if *tried > MOST_TRIED {
                row[factor] = None;
                return Err(Fault::Tangled);
            }
            row[factor] = Some(value);
            let fits = self.can_be_filled(row, tried);
            row[factor] = None;
            if fits? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
