//! The search for the highest rate that meets the requirements: what it found, step by step.

use record::{
    Summary,
    summary::{LoadSearch, LoadSearchStep},
};

use super::{
    events::said,
    model::{Block, Cell, Column, Kind, LineKind, Section, Table},
    room::Room,
};
use crate::{
    clean::clean,
    figures::{count, number},
};

pub(super) fn section(summary: &Summary, room: Room) -> Section {
    let title = "Search for the highest load";
    let Some(search) = summary.load.as_ref().and_then(|load| load.search.as_ref()) else {
        return Section::new(Kind::LoadSearch, title, None);
    };
    let heads = ["rate", "from", "until"].map(Column::right);
    let figures = (!room.narrow).then(|| Column::left("figures"));
    let mut table = Table::new(heads.into_iter().chain([Column::left("")]).chain(figures));
    table.rows = search.steps.iter().take(room.breakdown_rows).map(|step| cells(step, room)).collect();
    let left_out = search.steps.len().saturating_sub(room.breakdown_rows) as u64;
    table.left_out = (left_out > 0).then(|| format!("{} more", count(left_out)));
    let lines = Block::Lines { kind: LineKind::Item, lines: lines(search) };
    Section::new(Kind::LoadSearch, title, [lines, Block::Table(table)])
}

fn lines(search: &LoadSearch) -> Vec<String> {
    let what = search.requirements.iter().map(|text| clean(text)).collect::<Vec<_>>().join(" and ");
    let end = match &search.ended {
        Some(why) => format!("it ended because {}", clean(why)),
        None => "it is not over".to_owned(),
    };
    let must = format!("each step must meet {what} with 95% confidence");
    vec![clean(&search.result), must, end]
}

fn cells(step: &LoadSearchStep, room: Room) -> Vec<Cell> {
    let seconds = |at: f64| Cell::figure(format!("{} s", number((at * 10.0).round() / 10.0)));
    let verdict = step.verdict.map_or("not judged", said);
    let verdict = verdict.trim_start_matches("is ").to_owned();
    let figures = [Cell::figure(format!("{}/s", number(step.rate))), seconds(step.measured_from_seconds)];
    let reason = (!room.narrow).then(|| Cell::text(&step.reason));
    figures.into_iter().chain([seconds(step.until_seconds), Cell::figure(verdict)]).chain(reason).collect()
}
