//! Judges: findings that only inform because a judge is not calibrated, and verdicts by the length of the judged text.

use record::{
    Summary,
    summary::{JudgedCriterion, Judges},
};

use super::model::{Block, Cell, Column, Kind, LineKind, Section, Table};
use crate::figures::{self, count, plural};

/// The purpose of the table.
const LEGEND: &str = "Words of the agent in the judged text. If the pass rate grows with the length, the judge may be judging the length.";
/// The meaning of corrected rates.
const CORRECTED: &str = "Met: the judges' answers. Corrected: what people would answer, by how often these judges agree with labels of people (Rogan and Gladen); the interval carries the uncertainty of the labels too.";
const MOST_CRITERIA: usize = 20;

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

/// What judges answered, beside what people would have answered.
pub(super) fn corrected(summary: &Summary) -> Section {
    let mut blocks = Vec::new();
    if let Some(judges) = &summary.judges {
        blocks.extend(unreliable(judges).map(Block::Warning));
        blocks.extend(by_criterion(judges).map(Block::Table));
    }
    Section {
        legend: Some(CORRECTED),
        ..Section::new(Kind::Corrected, "Judged, corrected by labels of people", blocks)
    }
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

/// `None`: no judge was measured.
fn by_criterion(judges: &Judges) -> Option<Table> {
    let measured = judges.by_criterion.iter().filter(|row| row.corrected.is_some());
    let heads = ["met", "corrected", "95%", "kappa", "answers"].map(Column::right);
    let mut table = Table::new(std::iter::once(Column::left("criterion").may_cut()).chain(heads));
    for row in measured.clone().take(MOST_CRITERIA) {
        let Some(corrected) = &row.corrected else { continue };
        let [rate, interval] = match &corrected.rate {
            Some(rate) => [figures::estimate(rate), figures::interval(rate)],
            None => ["unknown", "–"].map(str::to_owned),
        };
        let kappa = format!("{:.2}", corrected.kappa);
        let cells = [figures::estimate(&row.rate), rate, interval, kappa, count(row.met + row.not_met)];
        table.rows.push(std::iter::once(Cell::text(named(row))).chain(cells.map(Cell::figure)).collect());
    }
    let more = measured.count().saturating_sub(MOST_CRITERIA) as u64;
    table.left_out = (more > 0).then(|| plural(more, "more criterion", "more criteria"));
    (!table.rows.is_empty()).then_some(table)
}

fn named(row: &JudgedCriterion) -> String {
    match &row.criterion {
        Some(criterion) => format!("{}: {criterion}", row.check),
        None => row.check.clone(),
    }
}

fn unreliable(judges: &Judges) -> Option<String> {
    let guesses = |row: &&JudgedCriterion| row.corrected.as_ref().is_some_and(|of| of.rate.is_none());
    let guessed = judges.by_criterion.iter().filter(guesses).count() as u64;
    (guessed > 0).then(|| {
        format!(
            "{} answered by a judge that is no better than chance on its labels: its answers say nothing",
            plural(guessed, "criterion is", "criteria are")
        )
    })
}

#[cfg(test)]
mod tests {
    use record::summary::{CorrectedRate, JudgedLength, Rate, Uncalibrated};

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
        let judges = Judges {
            by_length: vec![range(0, Some(25), 3, 1), range(400, None, 6, 2)],
            uncalibrated,
            by_criterion: Vec::new(),
        };
        assert_eq!(warnings(&judges), ["1 finding of required checks only inform: judge ab12 is not calibrated"]);
        let rows = by_length(&judges).rows;
        let texts: Vec<Vec<&str>> =
            rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(texts[0], ["0–24", "75%", "30–95%", "3", "1", "1"]);
        assert_eq!(texts[1][0], "400 or more");
        assert!(by_criterion(&judges).is_none() && unreliable(&judges).is_none(), "no judge was measured");
    }

    #[test]
    fn corrected_rates_are_beside_what_judges_say() {
        let rate = |estimate, n| Rate { estimate: Some(estimate), low: 0.6, high: 0.95, method: String::new(), n };
        let row = |criterion: &str, corrected: Option<Rate>| JudgedCriterion {
            check: "rubric".to_owned(),
            criterion: (!criterion.is_empty()).then(|| criterion.to_owned()),
            met: 90,
            not_met: 10,
            rate: rate(0.9, 100),
            corrected: Some(CorrectedRate {
                rate: corrected,
                kappa: 0.71,
                sensitivity: rate(0.8, 50),
                specificity: rate(0.95, 50),
                of_criterion: true,
                date: "2026-11-23".to_owned(),
            }),
        };
        let by_criterion_of = vec![row("tone", Some(rate(0.82, 100))), row("", None)];
        let judges = Judges { by_length: Vec::new(), uncalibrated: Vec::new(), by_criterion: by_criterion_of };
        let rows = by_criterion(&judges).unwrap().rows;
        let texts: Vec<Vec<&str>> =
            rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(texts[0], ["rubric: tone", "90%", "82%", "60–95%", "0.71", "100"]);
        assert_eq!(texts[1], ["rubric", "90%", "unknown", "–", "0.71", "100"]);
        assert!(unreliable(&judges).unwrap().starts_with("1 criterion is answered by a judge"));
    }
}
