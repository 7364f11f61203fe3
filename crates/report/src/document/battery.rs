//! The results of quality batteries by requirement.

use record::Summary;

use super::{
    model::{Block, Caption, Cell, Column, Kind, Section, Table},
    room::Room,
};
use crate::{
    battery::examined::{self, Examined, names},
    figures,
};

const LEGEND: &str = "Conversations in which a requirement held; replies that passed, each taken for itself; passed of tried at each level.";

pub(super) fn section(summary: &Summary, examined: &Examined, room: Room) -> Section {
    let cases = examined.sections(summary);
    let left_out = cases.len().saturating_sub(room.batteries) as u64;
    let mut blocks: Vec<Block> =
        cases.iter().take(room.batteries).map(|case| Block::Table(table(case, room))).collect();
    if let Some(Block::Table(last)) = blocks.last_mut().filter(|_| left_out > 0) {
        last.left_out = Some(figures::plural(left_out, "more case", "more cases"));
    }
    Section { legend: Some(LEGEND), ..Section::new(Kind::Battery, "Quality battery", blocks) }
}

fn table(case: &examined::Section<'_>, room: Room) -> Table {
    let mut columns = if room.narrow {
        vec![Column::left(""), Column::left("").may_cut().rank(0)]
    } else {
        vec![Column::left("requirement"), Column::left("")]
    };
    columns.extend(["conversations", "replies", "rate"].map(Column::right));
    columns.push(Column::right(if room.narrow { "95%" } else { "95% interval" }).rank(1));
    if !room.narrow {
        columns.push(Column::left("by level of error"));
    }
    let mut table = Table::new(columns);
    table.caption = Some(Caption { words: "Requirements of", name: case.case.clone() });
    for (requirement, tested) in &case.rows {
        let rate = tested.rate();
        let mut row = vec![
            names(*requirement),
            requirement.title().to_owned(),
            tested.conversations_text(),
            tested.replies_text(),
            figures::estimate(&rate),
            figures::interval(&rate),
        ];
        if !room.narrow {
            row.push(tested.levels_text());
        }
        table.rows.push(row.into_iter().map(Cell::figure).collect());
    }
    table
}
