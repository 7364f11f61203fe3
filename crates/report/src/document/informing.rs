//! Checks that only inform, and scores by weight. The verdict does not depend on them.

use record::Summary;

use super::{
    model::{Block, Cell, Column, Kind, LineKind, Section, Table},
    room::Room,
};
use crate::{
    figures::{count, plural},
    informing::Informing,
};

pub(super) fn section(summary: &Summary, informing: &Informing, room: Room) -> Section {
    let mut blocks = Vec::new();
    let scores = informing.scores(summary);
    if !scores.is_empty() {
        let scores = scores.iter().take(room.informing);
        let lines = scores.map(|(case, score)| format!("{case}: score by weight {score}")).collect();
        blocks.push(Block::Lines { kind: LineKind::Item, lines });
    }
    let checks = informing.lines(summary);
    if !checks.is_empty() {
        let mut table = Table::new([
            Column::left("only informs").may_cut(),
            Column::left("case").may_cut(),
            Column::right("passed"),
            Column::right("failed"),
            Column::right("not judged").rank(0),
        ]);
        for line in checks.iter().take(room.informing) {
            let is_described = !room.narrow && !line.description.is_empty();
            let description = if is_described { format!(": {}", line.description) } else { String::new() };
            let check = Cell::text(format!("{}{description}", line.check));
            let figures = [line.findings.pass, line.findings.fail, line.findings.open];
            let figures = figures.map(|figure| Cell::figure(count(figure)));
            table.rows.push([check, Cell::text(&line.case)].into_iter().chain(figures).collect());
        }
        let left_out = checks.len().saturating_sub(room.informing) as u64;
        table.left_out = (left_out > 0).then(|| plural(left_out, "more", "more"));
        blocks.push(Block::Table(table));
    }
    Section::new(Kind::Informing, "Beside the verdict", blocks)
}
