//! The tables by agent, by tag, by the values of axes, and by check.

use std::cmp::Reverse;

use record::Summary;
use serde::Serialize;

use crate::{figures::count, parts};

const ROWS_SHOWN: usize = 100;

#[derive(Serialize)]
pub(super) struct Parts {
    tables: Vec<Table>,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Table {
    by: String,
    is_axis: bool,
    rows: Vec<Row>,
    left_out: Option<String>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    trials: String,
    failures: String,
    rate: String,
    interval: String,
    p50: String,
    p95: String,
    cost: String,
    kinds: String,
}

#[derive(Serialize)]
struct Check {
    name: String,
    informs: bool,
    judged: String,
    pass: String,
    fail: String,
    not_judged: String,
}

impl Parts {
    pub(super) fn of(summary: &Summary) -> Self {
        let mut checks: Vec<_> = summary.by_check.iter().collect();
        checks.sort_by_key(|check| (!check.required, Reverse(check.fail), Reverse(check.not_judged)));
        Self {
            tables: parts::tables(summary).into_iter().map(table).collect(),
            checks: checks
                .into_iter()
                .map(|check| Check {
                    name: check.check.clone(),
                    informs: !check.required,
                    judged: count(check.pass + check.fail),
                    pass: count(check.pass),
                    fail: count(check.fail),
                    not_judged: count(check.not_judged),
                })
                .collect(),
        }
    }
}

fn table(of: parts::Table) -> Table {
    let left_out = of.rows.len().saturating_sub(ROWS_SHOWN) as u64;
    let rows = of.rows.into_iter().take(ROWS_SHOWN).map(|row| Row {
        name: row.name,
        trials: row.trials,
        failures: row.failures,
        rate: row.rate,
        interval: row.interval,
        p50: row.p50,
        p95: row.p95,
        cost: row.cost,
        kinds: row.kinds,
    });
    Table { by: of.by, is_axis: of.is_axis, rows: rows.collect(), left_out: (left_out > 0).then(|| count(left_out)) }
}
