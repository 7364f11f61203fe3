//! The tables of cases: scenario x persona as a heat map, and every case with its parameters.

use record::{
    Summary,
    summary::{CaseSummary, RunVerdict},
    tally::Counts,
};
use serde::Serialize;

use super::conversation::Conversations;
use crate::{
    cases, clip,
    figures::{self, count, percent},
    marks::Mark,
    matrix::{self, Cell, Matrix},
};

const SCENARIOS_SHOWN: usize = 500;
/// The most columns that fit on a page.
const COLUMNS: usize = 8;
const CASES_SHOWN: usize = 300;
const PARAMETER_CHARS: usize = 120;

/// Scenarios are its rows and personas its columns, unless there are many personas and few scenarios.
#[derive(Serialize)]
pub(super) struct MatrixTable {
    corner: &'static str,
    columns: Vec<Head>,
    rows: Vec<Row>,
    left_out: Option<String>,
}

#[derive(Clone, Serialize)]
struct Head {
    name: String,
    agent: Option<String>,
}

#[derive(Serialize)]
struct Row {
    head: Head,
    cells: Vec<Option<Heat>>,
}

#[derive(Serialize)]
struct Heat {
    /// 0 to 10: tenths of the success rate; 10 only if all passed.
    tenths: Option<u64>,
    rate: String,
    passed: String,
    interval: String,
    flaky: bool,
    unjudged: Vec<String>,
    /// To its first conversation that did not pass.
    href: Option<String>,
    /// For its filter: `refund × polite`.
    label: String,
    total: bool,
    /// The mark on the conversations of this cell, for filtering.
    row: usize,
    column: usize,
}

#[derive(Serialize)]
pub(super) struct CaseTable {
    pass_k: u32,
    rows: Vec<CaseRow>,
    several_agents: bool,
    left_out: Option<String>,
}

#[derive(Serialize)]
struct CaseRow {
    mark: Mark,
    name: String,
    persona: String,
    agent: String,
    source: String,
    parameters: Vec<(String, String)>,
    passed: String,
    rate: String,
    interval: String,
    /// The chance that k trials all pass, with the run's k; `None` if fewer have a result.
    pass_hat_k: Option<String>,
    /// Set if it is not 1.
    weight: Option<String>,
    flaky: bool,
    unjudged: Vec<String>,
    href: Option<String>,
}

impl MatrixTable {
    pub(super) fn of(summary: &Summary, conversations: &Conversations) -> Self {
        let matrix = Matrix::of(&summary.cases);
        let (rows, left_out) = matrix.shown(SCENARIOS_SHOWN);
        let all = Head { name: "All".to_owned(), agent: None };
        let personas = matrix.personas.iter().map(|name| Head { name: name.clone(), agent: None });
        let columns: Vec<Head> = personas.chain([all]).collect();
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|(row, of)| {
                let head = Head { name: of.scenario.clone(), agent: of.agent.clone() };
                let cells = of.cells.iter().enumerate().map(|(column, cell)| {
                    let href = conversations.first_of_cell(row, column);
                    let label = format!("{} × {}", head.words(), columns[column].name);
                    cell.as_ref().map(|cell| Heat { label, href, ..heat(cell, row, column) })
                });
                let total = Heat { total: true, ..heat(&of.total, row, matrix.personas.len()) };
                Row { cells: cells.chain([Some(total)]).collect(), head }
            })
            .collect();
        let left_out = (left_out > 0).then(|| figures::plural(left_out as u64, "more scenario", "more scenarios"));
        if columns.len() > COLUMNS && rows.len() <= COLUMNS {
            let (columns, rows) = transposed(columns, rows);
            return Self { corner: "Persona", columns, rows, left_out };
        }
        Self { corner: "Scenario", columns, rows, left_out }
    }
}

impl CaseTable {
    pub(super) fn of(summary: &Summary, conversations: &Conversations) -> Self {
        let mut shown: Vec<&CaseSummary> = summary.cases.iter().collect();
        shown.sort_by_key(|case| (case.verdict == RunVerdict::Pass && !case.flaky, case.number));
        let left_out = shown.len().saturating_sub(CASES_SHOWN) as u64;
        shown.truncate(CASES_SHOWN);
        shown.sort_by_key(|case| case.number);
        Self {
            pass_k: summary.summary.pass_k,
            several_agents: cases::several_agents(&summary.cases),
            rows: shown.into_iter().map(|case| case_row(case, summary.summary.pass_k, conversations)).collect(),
            left_out: (left_out > 0).then(|| figures::plural(left_out, "more case", "more cases")),
        }
    }
}

impl Head {
    fn words(&self) -> String {
        self.agent.as_ref().map_or_else(|| self.name.clone(), |agent| format!("{} @ {agent}", self.name))
    }
}

/// Columns and rows exchanged.
fn transposed(columns: Vec<Head>, rows: Vec<Row>) -> (Vec<Head>, Vec<Row>) {
    let heads = rows.iter().map(|row| row.head.clone()).collect();
    let mut turned: Vec<Row> = columns.into_iter().map(|head| Row { head, cells: Vec::new() }).collect();
    for row in rows {
        for (cell, turned) in row.cells.into_iter().zip(&mut turned) {
            turned.cells.push(cell);
        }
    }
    (heads, turned)
}

fn heat(cell: &Cell, row: usize, column: usize) -> Heat {
    let rate = cell.rate();
    Heat {
        tenths: rate.estimate.map(|share| (share * 10.0).floor() as u64),
        rate: figures::estimate(&rate),
        passed: cell.passed(),
        interval: figures::interval(&rate),
        flaky: cell.flaky_cases > 0,
        unjudged: unjudged(&cell.counts),
        href: None,
        label: String::new(),
        total: false,
        row,
        column,
    }
}

fn unjudged(counts: &Counts) -> Vec<String> {
    matrix::unjudged(counts).into_iter().map(|(_, number, word)| format!("{} {word}", count(number))).collect()
}

fn case_row(case: &CaseSummary, pass_k: u32, conversations: &Conversations) -> CaseRow {
    let name = cases::name_but_persona(case);
    let parameters = case.parameters.iter().map(|(path, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (path.clone(), clip::ellipsis(&value, PARAMETER_CHARS))
    });
    CaseRow {
        mark: Mark::of_run(case.verdict),
        name,
        persona: cases::persona(case).to_owned(),
        agent: case.agent.clone(),
        source: case.source.clone(),
        parameters: parameters.collect(),
        passed: figures::passed(&case.counts()),
        rate: figures::estimate(&case.success_rate),
        interval: figures::interval(&case.success_rate),
        pass_hat_k: (pass_k as usize)
            .checked_sub(1)
            .and_then(|at| case.pass_hat_k.get(at))
            .map(|share| percent(*share)),
        weight: figures::weight(case),
        flaky: case.flaky,
        unjudged: unjudged(&case.counts()),
        href: conversations.first_of_case(case.number),
    }
}
