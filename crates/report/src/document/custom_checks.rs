//! Checks of the user's own: how often they answered, and which of them are not what they say.

use record::{Summary, summary::CustomCheckSummary};

use super::model::{Block, Cell, Column, Kind, LineKind, Section, Table};
use crate::figures::{count, estimate, interval, plural};

const LEGEND: &str = "gabfest asks a check with `deterministic: true` twice in 1 % of its calls. A check whose answers differ is unstable.";

pub(super) fn section(summary: &Summary) -> Section {
    let checks = &summary.custom_checks;
    let mut blocks = Vec::new();
    let warnings: Vec<String> = checks.iter().flat_map(warnings).collect();
    if !warnings.is_empty() {
        blocks.push(Block::Lines { kind: LineKind::Warning, lines: warnings });
    }
    if !checks.is_empty() {
        blocks.push(Block::Table(table(checks)));
    }
    Section { legend: Some(LEGEND), ..Section::new(Kind::CustomChecks, "Checks of your own", blocks) }
}

fn warnings(check: &CustomCheckSummary) -> impl Iterator<Item = String> {
    let CustomCheckSummary { check, programs, asked_twice, differed, .. } = check;
    let unstable = (*differed > 0).then(|| {
        let twice = plural(*asked_twice, "transcript", "transcripts");
        format!("{check} is unstable: of {twice} that it got twice, it answered {} in two ways", count(*differed))
    });
    let versions = (programs.len() > 1).then(|| {
        format!("{} versions of {check} answered, so its findings may not be comparable", count(programs.len() as u64))
    });
    unstable.into_iter().chain(versions)
}

fn table(checks: &[CustomCheckSummary]) -> Table {
    let heads = ["answers", "asked twice", "differed", "unstable", "95%"].map(Column::right);
    let mut table = Table::new(std::iter::once(Column::left("check")).chain(heads));
    for check in checks {
        let [answers, twice, differed] = [check.answers, check.asked_twice, check.differed].map(count);
        let figures = [answers, twice, differed, estimate(&check.unstable), interval(&check.unstable)];
        let name = Cell::text(check.check.clone());
        table.rows.push(std::iter::once(name).chain(figures.map(Cell::figure)).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use record::summary::Rate;

    use super::*;

    fn check(name: &str, programs: usize, asked_twice: u64, differed: u64) -> CustomCheckSummary {
        CustomCheckSummary {
            check: name.to_owned(),
            answers: 300,
            programs: (0..programs).map(|number| format!("{number:016}")).collect(),
            asked_twice,
            differed,
            unstable: Rate { estimate: Some(0.25), low: 0.05, high: 0.7, method: String::new(), n: asked_twice },
        }
    }

    #[test]
    fn a_check_that_differs_is_called_unstable() {
        assert_eq!(warnings(&check("totals", 1, 4, 0)).count(), 0);
        let found: Vec<String> = warnings(&check("totals", 2, 4, 1)).collect();
        let expected = [
            "totals is unstable: of 4 transcripts that it got twice, it answered 1 in two ways",
            "2 versions of totals answered, so its findings may not be comparable",
        ];
        assert_eq!(found, expected);
        let rows = table(&[check("totals", 1, 4, 1)]).rows;
        let texts: Vec<&str> = rows[0].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["totals", "300", "4", "1", "25%", "5–70%"]);
    }
}
