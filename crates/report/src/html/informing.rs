//! What stands beside the verdict: evaluations that only inform, and scores by weight.

use record::Summary;
use serde::Serialize;

use crate::{
    figures::{self, count},
    informing::Informing,
};

const SHOWN: usize = 100;

#[derive(Serialize)]
pub(super) struct Beside {
    rows: Vec<Row>,
    /// The case, and its score.
    scores: Vec<(String, String)>,
    left_out: Option<String>,
}

#[derive(Serialize)]
struct Row {
    case: String,
    check: String,
    description: String,
    pass: String,
    fail: String,
    open: String,
}

impl Beside {
    pub(super) fn of(summary: &Summary, informing: &Informing) -> Self {
        let lines = informing.lines(summary);
        let left_out = lines.len().saturating_sub(SHOWN) as u64;
        let rows = lines.into_iter().take(SHOWN).map(|line| Row {
            case: line.case,
            check: line.check,
            description: line.description,
            pass: count(line.findings.pass),
            fail: count(line.findings.fail),
            open: count(line.findings.open),
        });
        let mut scores = informing.scores(summary);
        scores.truncate(SHOWN);
        Self {
            rows: rows.collect(),
            scores,
            left_out: (left_out > 0).then(|| figures::plural(left_out, "more evaluation", "more evaluations")),
        }
    }
}
