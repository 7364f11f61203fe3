//! How long the agent takes to answer, and how fast its tokens come.

use record::{
    Summary,
    latency::Quantiles,
    turn_times::{NumberedTimes, Times},
};

use super::{
    model::{Block, Cell, Column, Kind, Section, Table},
    room::Room,
};
use crate::figures::{self, count, decimal, millis, percentile};

/// Shorter waits are the limiter's own time.
const SHORTEST_WAIT_MS: f64 = 1.0;

const DASH: &str = "–";

/// What the rows and columns mean.
const LEGEND: &str = "Response time: from the moment a turn is due to the whole reply. Service time: the agent's part of it, without rate-limit waits and repeated tries. Too few: p90 needs 64 samples, p95 130, p99 662, p99.9 6,636.";

pub(super) fn section(summary: &Summary, room: Room) -> Section {
    let latency = &summary.summary.latency;
    let mut blocks: Vec<Block> = figures::unanswered(latency).map(Block::Warning).into_iter().collect();
    if latency.times.turn.count > 0 {
        blocks.push(Block::Table(table(&latency.times, room)));
        blocks.extend(speeds(summary).map(Block::Note));
    }
    Section { legend: Some(LEGEND), ..Section::new(Kind::Latency, "Latency of the agent", blocks) }
}

fn table(times: &Times, room: Room) -> Table {
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
    for (name, of) in [
        ("response time", &times.response),
        ("service time", &times.turn),
        ("rate-limit wait", &times.wait),
        ("first token", &times.ttft),
        ("between tokens", &times.inter_token),
        ("per output token", &times.per_output_token),
    ] {
        let is_short = name == "rate-limit wait" && of.max_ms < SHORTEST_WAIT_MS;
        if of.count > 0 && !is_short {
            table.rows.push(row(name, of, room));
        }
    }
    table
}

fn row(name: &str, of: &Quantiles, room: Room) -> Vec<Cell> {
    let mut times = vec![of.p90_ms, of.p95_ms, of.p99_ms];
    if !room.narrow {
        times.push(of.p999_ms);
    }
    let tail = times.into_iter().map(percentile);
    let figures = [name.to_owned(), count(of.count), millis(of.p50_ms)].into_iter().chain(tail);
    figures.chain([millis(of.max_ms)]).map(Cell::figure).collect()
}

/// `31.2 tokens/s in a conversation (median), 24.0 in the slowest tenth; 410 tokens/s in all`.
fn speeds(summary: &Summary) -> Option<String> {
    let speeds = summary.summary.latency.times.tokens_per_second?;
    let estimated = if speeds.estimated > 0 { "~" } else { "" };
    let slow = speeds.p10.map(|slow| format!(", {estimated}{} in the slowest tenth", decimal(slow)));
    let all = summary.wall.and_then(|wall| wall.output_tokens_per_second);
    let all = all.map(|all| format!("; {estimated}{} tokens/s in all", decimal(all)));
    let (slow, all) = (slow.unwrap_or_default(), all.unwrap_or_default());
    Some(format!("{estimated}{} tokens/s in a conversation (median){slow}{all}", decimal(speeds.p50)))
}

/// Replies take longer as the history grows. A narrow page has no room for it.
pub(super) fn by_turn(summary: &Summary, room: Room) -> Section {
    let ranges = &summary.by_turn;
    let table = (!room.narrow && ranges.len() > 1).then(|| Block::Table(numbered(ranges)));
    Section::new(Kind::ByTurn, "By number of the turn", table)
}

fn numbered(ranges: &[NumberedTimes]) -> Table {
    let heads = ["n", "response p50", "p95", "service p50", "p95", "first token p50", "p95", "per token p50"];
    let mut table = Table::new(std::iter::once(Column::left("turn")).chain(heads.map(Column::right)));
    for NumberedTimes { from, until, latency } in ranges {
        let number = match until {
            Some(until) if until == from => from.to_string(),
            Some(until) => format!("{from}–{until}"),
            None => format!("{from} or later"),
        };
        let [per_token, _] = pair(&latency.per_output_token);
        let times = [&latency.response, &latency.turn, &latency.ttft].into_iter().flat_map(pair);
        let figures = [number, count(latency.turn.count)].into_iter().chain(times).chain([per_token]);
        table.rows.push(figures.map(Cell::figure).collect());
    }
    table
}

/// Of all roles: a slow judge holds a run up, too.
pub(super) fn by_model(summary: &Summary, room: Room) -> Section {
    let streamed = summary.summary.models.iter().filter(|model| model.throttling.ttft.count > 0 && !room.narrow);
    let heads = ["role", "model"].map(Column::left).into_iter();
    let figures = ["streamed replies", "first token p50", "p95", "between tokens p50", "p95", "per token p50", "p95"];
    let mut table = Table::new(heads.chain(figures.map(Column::right)));
    for of in streamed {
        let times = [&of.throttling.ttft, &of.throttling.inter_token, &of.throttling.per_output_token];
        let names = [Cell::figure(of.role.name()), Cell::text(&of.model)];
        let figures = std::iter::once(count(of.throttling.ttft.count)).chain(times.into_iter().flat_map(pair));
        table.rows.push(names.into_iter().chain(figures.map(Cell::figure)).collect());
    }
    let block = (!table.rows.is_empty()).then_some(Block::Table(table));
    Section::new(Kind::Streaming, "Streaming by model", block)
}

/// The median and p95.
fn pair(of: &Quantiles) -> [String; 2] {
    if of.count == 0 { [DASH, DASH].map(str::to_owned) } else { [millis(of.p50_ms), percentile(of.p95_ms)] }
}
