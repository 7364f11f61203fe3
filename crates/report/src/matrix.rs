//! The cases of a run folded to scenario x persona: the table that every page shows first.

use std::collections::BTreeMap;

use record::{
    Verdict,
    summary::{CaseSummary, Rate},
    tally::Counts,
};

use statistics::success::success_rate;

use crate::{
    cases::{self, persona},
    figures,
};

#[derive(Debug)]
pub(crate) struct Matrix {
    /// In the order in which the plan names them.
    pub(crate) personas: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// Scenario and agent to row: runs may have thousands of scenarios.
    places: BTreeMap<(String, Option<String>), usize>,
    pub(crate) several_agents: bool,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) scenario: String,
    /// Set if the run has more than one.
    pub(crate) agent: Option<String>,
    /// One per persona; `None` if the plan has no such case.
    pub(crate) cells: Vec<Option<Cell>>,
    pub(crate) total: Cell,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub(crate) cases: u64,
    pub(crate) trials: u64,
    pub(crate) counts: Counts,
    pub(crate) flaky_cases: u64,
}

impl Matrix {
    pub(crate) fn of(cases: &[CaseSummary]) -> Self {
        let mut personas: Vec<String> = Vec::new();
        for case in cases {
            let name = persona(case);
            if !personas.iter().any(|known| known == name) {
                personas.push(name.to_owned());
            }
        }
        let several_agents = cases::several_agents(cases);
        let mut matrix = Self { personas, rows: Vec::new(), places: BTreeMap::new(), several_agents };
        for case in cases {
            matrix.add(case);
        }
        matrix
    }

    /// The row and the column of a case.
    pub(crate) fn place(&self, case: &CaseSummary) -> Option<(usize, usize)> {
        let row = *self.places.get(&self.key(case))?;
        let column = self.personas.iter().position(|name| name == persona(case))?;
        Some((row, column))
    }

    /// At most `cap` rows with their indexes, in the plan's order, and how many are left out. Rows in which everything
    /// passed are left out first.
    pub(crate) fn shown(&self, cap: usize) -> (Vec<(usize, &Row)>, usize) {
        let mut rows: Vec<(usize, &Row)> = self.rows.iter().enumerate().collect();
        if rows.len() > cap {
            rows.sort_by_key(|(index, row)| (row.total.counts.pass == row.total.trials, *index));
            rows.truncate(cap);
            rows.sort_by_key(|(index, _)| *index);
        }
        (rows, self.rows.len().saturating_sub(cap))
    }

    fn add(&mut self, case: &CaseSummary) {
        let key = self.key(case);
        let index = self.places.get(&key).copied().unwrap_or(self.rows.len());
        if index == self.rows.len() {
            self.rows.push(Row {
                scenario: key.0.clone(),
                agent: key.1.clone(),
                cells: vec![None; self.personas.len()],
                total: Cell::default(),
            });
            self.places.insert(key, index);
        }
        let column = self.personas.iter().position(|name| name == persona(case));
        let row = &mut self.rows[index];
        row.total.add(case);
        if let Some(column) = column {
            row.cells[column].get_or_insert_default().add(case);
        }
    }

    fn key(&self, case: &CaseSummary) -> (String, Option<String>) {
        (cases::scenario(case).to_owned(), self.several_agents.then(|| case.agent.clone()))
    }
}

impl Cell {
    fn add(&mut self, case: &CaseSummary) {
        self.cases += 1;
        self.trials += case.trials;
        self.counts.merge(&case.counts());
        self.flaky_cases += u64::from(case.flaky);
    }

    pub(crate) fn rate(&self) -> Rate {
        success_rate(&self.counts)
    }

    /// `4/5`: how many of the trials in the success rate passed.
    pub(crate) fn passed(&self) -> String {
        figures::passed(&self.counts)
    }

    /// The worst that happened in it.
    pub(crate) fn verdict(&self) -> Verdict {
        let counts = &self.counts;
        if counts.fail > 0 {
            Verdict::Fail
        } else if counts.error > 0 {
            Verdict::Error
        } else if counts.inconclusive > 0 || counts.pass < self.trials {
            Verdict::Inconclusive
        } else {
            Verdict::Pass
        }
    }

    /// How many trials ended without PASS or FAIL, by how they ended.
    pub(crate) fn unjudged(&self) -> Vec<(Verdict, u64, &'static str)> {
        unjudged(&self.counts)
    }
}

/// How many trials ended without PASS or FAIL, by how they ended.
pub(crate) fn unjudged(counts: &Counts) -> Vec<(Verdict, u64, &'static str)> {
    let all = [
        (Verdict::Error, counts.error, "error"),
        (Verdict::Inconclusive, counts.inconclusive, "inconclusive"),
        (Verdict::Skipped, counts.skipped, "skipped"),
    ];
    all.into_iter().filter(|(_, number, _)| *number > 0).collect()
}
