//! The failures of a history: those of the latest night first.

use statistics::{recurring::Recurring, trends::Trends};

use super::{TrendsRoom, left_out};
use crate::{
    clip,
    document::model::{Block, Cell, Column, Kind, Section, Table},
    figures::count,
};

const CASES_SHOWN: usize = 2;
const REASON_CHARS: usize = 60;
/// How a check begins to quote the reply.
const QUOTED: &str = "; it is \"";
const LEGEND: &str = "A failure is the same if agent, verdict, place and reason are the same, without numbers, ids and quoted replies. Nights without one of its cases are not counted.";

pub(super) fn section(trends: &Trends, room: TrendsRoom) -> Section {
    let several = trends.cases.iter().any(|case| case.agent != trends.cases[0].agent);
    let mut table = Table::new([
        Column::left("failure").may_cut(),
        Column::left("where").rank(1),
        Column::left("cases").may_cut().rank(0),
        Column::right("trials").rank(2),
        Column::left("first seen"),
        Column::left("last seen").rank(3),
        Column::right("nights"),
    ]);
    table.rows = trends.failures.iter().take(room.cases).map(|failure| row(failure, several)).collect();
    table.left_out = left_out(trends.failures.len(), room.cases, ("more failure", "more failures"));
    let block = (!table.rows.is_empty()).then_some(Block::Table(table));
    Section { legend: Some(LEGEND), ..Section::new(Kind::Recurring, "Failures over nights", block) }
}

fn row(failure: &Recurring, several: bool) -> Vec<Cell> {
    let agent = if several { format!(" @ {}", failure.agent) } else { String::new() };
    let reason = failure.reason.split(QUOTED).next().unwrap_or_default();
    let reason = clip::ellipsis(reason, REASON_CHARS);
    vec![
        Cell::text(format!("{} {reason}{agent}", failure.verdict.name())),
        Cell::text(&failure.place),
        Cell::text(cases(&failure.cases)),
        Cell::figure(count(failure.trials)),
        Cell::figure(day(&failure.first_seen)),
        Cell::figure(day(&failure.last_seen)),
        Cell::figure(format!("{} of {}", count(failure.seen), count(failure.nights))),
    ]
}

/// `refund, hours and 3 more`.
fn cases(names: &[String]) -> String {
    let shown = names.iter().take(CASES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(CASES_SHOWN) {
        0 => shown,
        more => format!("{shown} and {} more", count(more as u64)),
    }
}

/// `2026-03-14`.
fn day(started_at: &str) -> &str {
    started_at.split('T').next().unwrap_or(started_at)
}
