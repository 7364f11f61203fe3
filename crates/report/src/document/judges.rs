//! Judges: findings that only inform because a judge is not calibrated, and verdicts by the length of the judged text.

use record::{Summary, summary::Judges};

use super::model::{Block, Cell, Column, Kind, LineKind, Section, Table};
use crate::figures::{self, count, plural};

/// The purpose of the table.
const LEGEND: &str = "Words of the agent in the judged text. If the pass rate grows with the length, the judge may be judging the length.";

pub(super) fn section(summary: &Summary) -> Section {
    let mut blocks = Vec::new();
    if let Some(judges) = &summary.judges {
        let warnings = warnings(judges);
        if !warnings.is_empty() {
            blocks.push(Block::Lines { kind: LineKind::Warning, lines: warnings });
        }
        blocks.push(Block::Table(by_length(judges)));
    }
    Section { legend: Some(LEGEND), ..Section::new(Kind::Judges, "Judged, by length of the replies", blocks) }
}

fn warnings(judges: &Judges) -> Vec<String> {
    let line = |reason: &str, findings| {
        format!("{} of required checks only inform: {reason}", plural(findings, "finding", "findings"))
    };
    judges.uncalibrated.iter().map(|it| line(&it.reason, it.findings)).collect()
}

fn by_length(judges: &Judges) -> Table {
    let heads = ["pass rate", "95%", "passed", "failed", "not judged"].map(Column::right);
    let mut table = Table::new(std::iter::once(Column::left("words")).chain(heads));
    for range in &judges.by_length {
        let words = match range.below_words {
            Some(below) => format!("{}–{}", range.from_words, below - 1),
            None => format!("{} or more", range.from_words),
        };
        let [pass, fail, open] = [range.pass, range.fail, range.not_judged].map(count);
        let figures = [words, figures::estimate(&range.rate), figures::interval(&range.rate), pass, fail, open];
        table.rows.push(figures.map(Cell::figure).into());
    }
    table
}

#[cfg(test)]
mod tests {
    use record::summary::{JudgedLength, Rate, Uncalibrated};

    use super::*;

    #[test]
    fn verdicts_are_listed_by_length_and_informing_judges_named() {
        let range = |from_words, below_words, pass, fail| JudgedLength {
            from_words,
            below_words,
            pass,
            fail,
            not_judged: 1,
            not_applicable: 0,
            rate: Rate { estimate: Some(0.75), low: 0.3, high: 0.95, method: String::new(), n: pass + fail },
        };
        let uncalibrated = vec![Uncalibrated { reason: "judge ab12 is not calibrated".to_owned(), findings: 1 }];
        let judges = Judges { by_length: vec![range(0, Some(25), 3, 1), range(400, None, 6, 2)], uncalibrated };
        assert_eq!(warnings(&judges), ["1 finding of required checks only inform: judge ab12 is not calibrated"]);
        let rows = by_length(&judges).rows;
        let texts: Vec<Vec<&str>> =
            rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(texts[0], ["0–24", "75%", "30–95%", "3", "1", "1"]);
        assert_eq!(texts[1][0], "400 or more");
    }
}
