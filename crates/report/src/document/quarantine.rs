//! Quarantined cases: their results, who looks after them until when, and which need a look.

use record::{
    Summary,
    count::plural,
    summary::{Past, QuarantineAlert},
};

use super::{
    model::{Block, Cell, Column, Kind, LineKind, Section, Table},
    room::Room,
};
use crate::{
    cases,
    figures::{self, percent},
};

const LEGEND: &str = "No gate depends on these cases. Every figure of the report has their trials in it.";

pub(super) fn section(summary: &Summary, room: Room) -> Section {
    let quarantined = summary.cases.iter().filter_map(|case| Some((case, case.quarantine.as_ref()?)));
    let mut table = Table::new([
        Column::left("case").may_cut(),
        Column::right("passed"),
        Column::left("owner"),
        Column::left("until"),
        Column::left("reason").may_cut(),
    ]);
    table.rows = quarantined
        .clone()
        .take(room.scenarios)
        .map(|(case, entry)| {
            vec![
                Cell::text(cases::full_name(case)),
                Cell::figure(figures::passed(&case.counts())),
                Cell::text(&entry.owner),
                Cell::text(&entry.expires),
                Cell::text(&entry.reason),
            ]
        })
        .collect();
    let left_out = quarantined.count().saturating_sub(room.scenarios) as u64;
    table.left_out = (left_out > 0).then(|| plural(left_out, "more case", "more cases"));
    let warnings = summary.past.as_ref().map(warnings).unwrap_or_default();
    let block = (!warnings.is_empty()).then_some(Block::Lines { kind: LineKind::Warning, lines: warnings });
    let block = block.into_iter().chain((!table.rows.is_empty()).then_some(Block::Table(table)));
    Section { legend: Some(LEGEND), ..Section::new(Kind::Quarantine, "Quarantined cases", block) }
}

/// For the top of the report.
pub(super) fn alert(summary: &Summary) -> Option<String> {
    let past = summary.past.as_ref()?;
    let worse = (!past.alerts.is_empty())
        .then(|| plural(past.alerts.len() as u64, "case is worse than before", "cases are worse than before"));
    let over = (!past.expired.is_empty()).then(|| {
        plural(
            past.expired.len() as u64,
            "entry has expired, so its gates count again",
            "entries have expired, so their gates count again",
        )
    });
    let said: Vec<String> = worse.into_iter().chain(over).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Cases that got worse, and entries that are over.
fn warnings(past: &Past) -> Vec<String> {
    let worse = past.alerts.iter().map(|QuarantineAlert { case, passed, trials, expected_rate, chance, owner }| {
        format!(
            "{case} is worse than before: {} of {} passed, and before {} did (chance {chance:.4}); its owner is {owner}",
            figures::count(*passed),
            plural(*trials, "trial", "trials"),
            percent(*expected_rate)
        )
    });
    let over = past.expired.iter().map(|entry| {
        format!(
            "the entry of {} expired on {}: its gates count again; its owner is {}",
            entry.case, entry.expires, entry.owner
        )
    });
    worse.chain(over).collect()
}
