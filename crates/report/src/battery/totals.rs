//! The totals of a case's conversations: a row a run, and all of them together.

use std::collections::BTreeMap;

use super::{Sheet, sheet::Sum};

/// How many rows are kept; later ones are only in the totals.
pub const MOST_ROWS: usize = 10_000;

/// The totals of one case's conversations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Totals {
    /// In the order of the runs; the columns of one run by name.
    pub columns: Vec<String>,
    /// One a run: by column, its sets together.
    pub rows: Vec<BTreeMap<String, Sum>>,
    pub runs: u64,
    /// Over all runs.
    pub all: BTreeMap<String, Sum>,
    /// The original's totals if they are wrong.
    strung: BTreeMap<String, Sum>,
}

impl Totals {
    pub fn add(&mut self, sheet: &Sheet) {
        let mut row: BTreeMap<String, Sum> = BTreeMap::new();
        for (name, sum) in sheet.columns.iter().filter_map(|column| column.total.as_ref()) {
            let sum = row.get(name).map_or_else(|| sum.clone(), |before| before.plus(sum));
            row.insert(name.clone(), sum);
        }
        self.columns.extend(row.keys().filter(|name| !self.all.contains_key(*name)).cloned());
        for (name, sum) in &row {
            let Some(before) = self.all.get(name) else {
                self.all.insert(name.clone(), sum.clone());
                continue;
            };
            if sheet.compat && matches!(sum, Sum::ByLevel(_)) {
                let strung = strung(self.strung.get(name).unwrap_or(before), sum);
                self.strung.insert(name.clone(), strung);
            }
            let sum = before.plus(sum);
            self.all.insert(name.clone(), sum);
        }
        self.runs += 1;
        if self.rows.len() < MOST_ROWS {
            self.rows.push(row);
        }
    }

    /// The summary's last row for a column.
    #[must_use]
    pub fn last_row(&self, column: &str) -> Option<&Sum> {
        self.strung.get(column).or_else(|| self.all.get(column))
    }
}

/// Revision 9043c93 adds the first two levels of histograms as if they were counts, which concatenates them.
fn strung(before: &Sum, more: &Sum) -> Sum {
    let lists = |sum: &Sum| -> Vec<Vec<u64>> {
        match sum {
            Sum::ByLevel(levels) => levels.iter().map(|level| level.to_vec()).collect(),
            Sum::Strung(lists) => lists.clone(),
            Sum::Passed(_) => Vec::new(),
        }
    };
    let pairs = lists(more).into_iter().zip(lists(before)).take(2);
    Sum::Strung(pairs.map(|(more, before)| [more, before].concat()).collect())
}
