//! How long the agent takes to answer.

use record::{Summary, latency::Quantiles};

use super::{
    model::{Block, Cell, Column, Kind, Section, Table},
    room::Room,
};
use crate::figures::{self, count, millis};

pub(super) fn section(summary: &Summary, room: Room) -> Section {
    let latency = &summary.summary.latency;
    let mut blocks: Vec<Block> = figures::unanswered(latency).map(Block::Warning).into_iter().collect();
    if latency.turn.count > 0 {
        let mut columns = vec![
            Column::left(""),
            Column::right("n").rank(1),
            Column::right("p50"),
            Column::right("p90").rank(0),
            Column::right("p95"),
            Column::right("p99"),
        ];
        if !room.narrow {
            columns.push(Column::right("p99.9"));
        }
        columns.push(Column::right("max"));
        let mut table = Table::new(columns);
        for (name, of) in [("whole reply", &latency.turn), ("first token", &latency.ttft)] {
            if of.count > 0 {
                table.rows.push(row(name, of, room));
            }
        }
        blocks.push(Block::Table(table));
    }
    Section::new(Kind::Latency, "Latency of the agent", blocks)
}

fn row(name: &str, of: &Quantiles, room: Room) -> Vec<Cell> {
    let mut times = vec![of.p50_ms, of.p90_ms, of.p95_ms, of.p99_ms];
    if !room.narrow {
        times.push(of.p999_ms);
    }
    times.push(of.max_ms);
    let figures = std::iter::once(count(of.count)).chain(times.into_iter().map(millis));
    std::iter::once(name.to_owned()).chain(figures).map(Cell::figure).collect()
}
