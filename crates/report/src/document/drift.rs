//! What drifted in a load while its pace was steady.

use record::{
    Summary,
    summary::{Drift, DriftFigure, DriftName},
};

use super::model::{Block, Cell, Column, Kind, LineKind, Section, Table};
use crate::figures::{decimal, millis, percent};

const MEBIBYTE: f64 = (1 << 20) as f64;
/// What the columns mean.
const LEGEND: &str = "The slope of Theil and Sen over the part of the load in which its pace is steady, and its 99 % interval. A figure drifts if the interval has no 0 in it and the change is at least 5 % of the median; of a rate, a percentage point.";

pub(super) fn section(summary: &Summary) -> Section {
    let drift = summary.load.as_ref().and_then(|load| load.drift.as_ref());
    drift.map_or_else(|| Section::new(Kind::Drift, "Drift", None), of)
}

/// Nothing, if no part of the load was long enough to be watched.
fn of(drift: &Drift) -> Section {
    if drift.watched.is_none() {
        return Section::new(Kind::Drift, "Drift", None);
    }
    let drifting: Vec<&DriftFigure> = drift.figures.iter().filter(|figure| figure.drifts).collect();
    let mut blocks: Vec<Block> = drifting.into_iter().map(|figure| Block::Warning(sentence(figure, drift))).collect();
    if !drift.figures.is_empty() {
        blocks.push(Block::Table(table(drift)));
    }
    let lines: Vec<String> = drift.undecided.iter().map(|why| format!("undecided: {why}")).collect();
    if !lines.is_empty() {
        blocks.push(Block::Lines { kind: LineKind::Remark, lines });
    }
    Section { legend: Some(LEGEND), ..Section::new(Kind::Drift, "Drift", blocks) }
}

fn table(drift: &Drift) -> Table {
    let mut table = Table::new([
        Column::left(""),
        Column::right("median"),
        Column::right("change"),
        Column::right("an hour"),
        Column::right("99 % interval").rank(0),
    ]);
    for figure in &drift.figures {
        let name = figure.name;
        let change = if figure.drifts { signed(name, figure.change) } else { "none".to_owned() };
        let (low, high) = (signed(name, figure.low_per_hour), signed(name, figure.high_per_hour));
        table.rows.push(vec![
            Cell::figure(title(name)),
            Cell::figure(value(name, figure.median)),
            Cell::figure(change),
            Cell::figure(signed(name, figure.slope_per_hour)),
            Cell::figure(format!("{low} to {high}")),
        ]);
    }
    table
}

/// `response p50 drifts by +58 ms in 29 minutes`.
fn sentence(figure: &DriftFigure, drift: &Drift) -> String {
    let name = figure.name;
    let minutes = drift.watched.map_or(0.0, |watched| (watched.to_seconds - watched.from_seconds) / 60.0);
    let (change, hour) = (signed(name, figure.change), signed(name, figure.slope_per_hour));
    format!("{} drifts: {change} in {} min, {hour} an hour", title(name), decimal(minutes))
}

fn title(name: DriftName) -> &'static str {
    match name {
        DriftName::ResponseP50Ms => "response p50",
        DriftName::ResponseP99Ms => "response p99",
        DriftName::PassRate => "pass rate",
        DriftName::ErrorRate => "agent errors",
        DriftName::OutputTokens => "output tokens a conversation",
        DriftName::WorkerMemoryBytes => "memory of the largest worker",
        DriftName::CoordinatorMemoryBytes => "memory of the coordinator",
    }
}

fn value(name: DriftName, value: f64) -> String {
    match name {
        DriftName::ResponseP50Ms | DriftName::ResponseP99Ms => millis(value),
        DriftName::PassRate | DriftName::ErrorRate => percent(value),
        DriftName::OutputTokens => decimal(value),
        DriftName::WorkerMemoryBytes | DriftName::CoordinatorMemoryBytes => {
            format!("{} MiB", decimal(value / MEBIBYTE))
        }
    }
}

/// With its sign. A change of a rate is in percentage points.
fn signed(name: DriftName, change: f64) -> String {
    let sign = if change < 0.0 { "−" } else { "+" };
    let size = change.abs();
    match name {
        DriftName::PassRate | DriftName::ErrorRate => format!("{sign}{} points", decimal(size * 100.0)),
        _ => format!("{sign}{}", value(name, size)),
    }
}

#[cfg(test)]
mod tests {
    use record::summary::Watched;

    use super::*;

    fn figure(name: DriftName, median: f64, slope_per_hour: f64, drifts: bool) -> DriftFigure {
        let (low_per_hour, high_per_hour) = (slope_per_hour * 0.9, slope_per_hour * 1.1);
        let change = slope_per_hour / 2.0;
        DriftFigure { name, slices: 28, median, slope_per_hour, low_per_hour, high_per_hour, change, drifts }
    }

    #[test]
    fn what_drifts_is_a_warning_and_the_rest_a_row() {
        let section = of(&Drift {
            watched: Some(Watched { from_seconds: 64.0, to_seconds: 1_864.0, slice_seconds: 64.0 }),
            figures: vec![
                figure(DriftName::ResponseP50Ms, 230.0, 120.0, true),
                figure(DriftName::PassRate, 0.9, -0.04, true),
                figure(DriftName::WorkerMemoryBytes, 80.0 * MEBIBYTE, 0.5 * MEBIBYTE, false),
            ],
            undecided: Some("p99 needs 662 turns".to_owned()),
        });
        let [Block::Warning(slow), Block::Warning(rate), Block::Table(table), Block::Lines { lines, .. }] =
            section.blocks.as_slice()
        else {
            panic!("{:?}", section.blocks)
        };
        assert_eq!(slow, "response p50 drifts: +60 ms in 30.0 min, +120 ms an hour");
        assert_eq!(rate, "pass rate drifts: −2.00 points in 30.0 min, −4.00 points an hour");
        let rows: Vec<Vec<&str>> =
            table.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
        assert_eq!(rows[0], ["response p50", "230 ms", "+60 ms", "+120 ms", "+108 ms to +132 ms"]);
        assert_eq!(rows[2][..4], ["memory of the largest worker", "80.0 MiB", "none", "+0.50 MiB"]);
        assert_eq!(lines, &["undecided: p99 needs 662 turns"]);
    }

    #[test]
    fn a_load_without_a_steady_part_has_no_section() {
        let why = Some("the pace changes all the time".to_owned());
        let section = of(&Drift { watched: None, figures: Vec::new(), undecided: why });
        assert!(section.blocks.is_empty(), "{:?}", section.blocks);
    }
}
