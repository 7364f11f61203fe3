//! Quarantined cases: their results, and who looks after them until when.

use record::Summary;

use super::{
    model::{Block, Cell, Column, Kind, Section, Table},
    room::Room,
};
use crate::{
    cases,
    figures::{self, plural},
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
    let block = (!table.rows.is_empty()).then_some(Block::Table(table));
    Section { legend: Some(LEGEND), ..Section::new(Kind::Quarantine, "Quarantined cases", block) }
}
