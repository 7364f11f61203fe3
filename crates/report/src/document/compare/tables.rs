//! The tables of a comparison: figures, and success rates by group.

use record::latency::floor_of;
use statistics::compare::found::{Comparison, Direction, Figure, FigureFound, GroupFound, GroupKind};

use super::words;
use crate::{
    document::model::{Block, Cell, Column, Table},
    figures::{TOO_FEW, count, decimal, millis, plural, usd},
};

const ENDLESS: &str = "no answer";
/// The only percentile of the tail in the table.
const TAIL: f64 = 0.95;

pub(super) fn figures(comparison: &Comparison) -> Option<Table> {
    let mut table = Table::new([
        Column::left("").may_cut(),
        Column::right("BASE"),
        Column::right("NEW"),
        Column::right("difference").rank(1),
        Column::right("interval").rank(0),
        Column::left("changed"),
    ]);
    table.rows = comparison.figures.iter().map(row).collect();
    (!table.rows.is_empty()).then_some(table)
}

fn row(of: &FigureFound) -> Vec<Cell> {
    let figure = of.figure;
    let side = |value: Option<f64>, values: u64| match value {
        Some(value) => text(figure, value),
        None if of.too_few && values < floor_of(TAIL) => TOO_FEW.to_owned(),
        None => ENDLESS.to_owned(),
    };
    let difference = of.difference.map_or_else(|| "–".to_owned(), |difference| signed(figure, difference));
    let interval = match (of.low, of.high) {
        (None, None) if of.too_few => "–".to_owned(),
        (None, None) => "unbounded".to_owned(),
        (low, high) => {
            let end =
                |end: Option<f64>, endless: &str| end.map_or_else(|| endless.to_owned(), |end| signed(figure, end));
            format!("{} to {}", end(low, "−∞"), end(high, "+∞"))
        }
    };
    let changed = match of.changed {
        None => "not shown",
        Some(direction) => word(figure, direction),
    };
    [
        title(figure).to_owned(),
        side(of.base, of.base_values),
        side(of.new, of.new_values),
        difference,
        interval,
        changed.to_owned(),
    ]
    .map(Cell::figure)
    .to_vec()
}

fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::ResponseP50Ms => "response p50",
        Figure::ResponseP95Ms => "response p95",
        Figure::TtftP50Ms => "first token p50",
        Figure::TtftP95Ms => "first token p95",
        Figure::AgentTokensP50 => "tokens a conversation, p50",
        Figure::CostP50Usd => "cost a conversation, p50",
        Figure::CostP95Usd => "cost a conversation, p95",
    }
}

fn word(figure: Figure, direction: Direction) -> &'static str {
    match (figure, direction) {
        (Figure::AgentTokensP50, Direction::Up) => "more",
        (Figure::AgentTokensP50, Direction::Down) => "fewer",
        (Figure::CostP50Usd | Figure::CostP95Usd, Direction::Up) => "dearer",
        (Figure::CostP50Usd | Figure::CostP95Usd, Direction::Down) => "cheaper",
        (_, Direction::Up) => "slower",
        (_, Direction::Down) => "faster",
    }
}

fn text(figure: Figure, value: f64) -> String {
    match figure {
        Figure::AgentTokensP50 => decimal(value),
        Figure::CostP50Usd | Figure::CostP95Usd => usd(value),
        _ => millis(value),
    }
}

fn signed(figure: Figure, value: f64) -> String {
    let sign = if value < 0.0 {
        "−"
    } else if value > 0.0 {
        "+"
    } else {
        ""
    };
    format!("{sign}{}", text(figure, value.abs()))
}

/// The groups that differ most come first.
pub(super) fn groups(comparison: &Comparison, kind: GroupKind, room: usize) -> Vec<Block> {
    let mut groups: Vec<&GroupFound> = comparison.groups.iter().filter(|group| group.kind == kind).collect();
    groups.sort_by(|a, b| a.difference.unwrap_or(0.0).total_cmp(&b.difference.unwrap_or(0.0)));
    let more = groups.len().saturating_sub(room);
    groups.truncate(room);
    if groups.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new([
        Column::left("").may_cut(),
        Column::right("cases").rank(1),
        Column::right("worse"),
        Column::right("better").rank(0),
        Column::right("BASE"),
        Column::right("NEW"),
        Column::right("points"),
        Column::right("interval").rank(2),
    ]);
    table.rows = groups.into_iter().map(group).collect();
    let more =
        (more > 0).then(|| Block::Note(format!("{} in `--json`", plural(more as u64, "more group", "more groups"))));
    std::iter::once(Block::Table(table)).chain(more).collect()
}

fn group(of: &GroupFound) -> Vec<Cell> {
    let interval = of.low.zip(of.high).map(|(low, high)| format!("{} to {}", words::signed(low), words::signed(high)));
    vec![
        Cell::text(&of.name),
        Cell::figure(count(of.cells)),
        Cell::figure(count(of.worse_cases)),
        Cell::figure(count(of.better_cases)),
        Cell::figure(format!("{}/{}", count(of.base_pass), count(of.base_trials))),
        Cell::figure(format!("{}/{}", count(of.new_pass), count(of.new_trials))),
        Cell::known(of.difference.map(words::signed)),
        Cell::known(interval),
    ]
}
