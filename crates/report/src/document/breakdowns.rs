//! The tables by agent, scenario, persona and tag, by the values of axes, and by check.

use std::cmp::Reverse;

use record::{Summary, breakdown::PartKind, summary::MetricSummary};

use super::{
    model::{Block, Cell, Column, Kind, LineKind, Section, Table},
    room::Room,
};
use crate::{
    figures::{self, count},
    parts::{self, Row},
};

pub(super) fn sections(summary: &Summary, room: Room) -> Vec<Section> {
    // On a narrow page, a long table is no overview, and the matrix has the rates of scenarios and personas: they are in
    // the other pages only.
    let fits = |table: &parts::Table| {
        let is_in_matrix = matches!(table.kind, PartKind::Scenario | PartKind::Persona);
        !room.narrow || (!is_in_matrix && table.rows.len() <= room.breakdown_rows)
    };
    let tables = parts::tables(summary).into_iter().filter(fits).take(room.breakdowns);
    tables.map(|table| section(&table, room)).collect()
}

fn section(of: &parts::Table, room: Room) -> Section {
    let kind = match of.kind {
        PartKind::Agent => Kind::ByAgent,
        PartKind::Scenario => Kind::ByScenario,
        PartKind::Persona => Kind::ByPersona,
        PartKind::Tag => Kind::ByTag,
        PartKind::Axis => Kind::ByAxis,
    };
    let is_axis = of.kind == PartKind::Axis;
    let mut table = Table::new(if room.narrow { narrow_columns() } else { wide_columns(of) });
    let cells = if room.narrow { narrow_cells } else { wide_cells };
    table.rows = of.rows.iter().take(room.breakdown_rows).map(cells).collect();
    let left_out = of.rows.len().saturating_sub(room.breakdown_rows) as u64;
    table.left_out = (left_out > 0).then(|| format!("{} more", count(left_out)));
    let mut blocks = vec![Block::Table(table)];
    if room.narrow && kind == Kind::ByAgent {
        let remarks = of.rows.iter().filter(|row| !row.kinds.is_empty());
        let lines = remarks.map(|row| format!("{}: {}", row.name, row.kinds)).collect();
        blocks.push(Block::Lines { kind: LineKind::Remark, lines });
    }
    let title = if is_axis { "By".to_owned() } else { format!("By {}", of.by) };
    Section { of: is_axis.then(|| of.by.clone()), ..Section::new(kind, &title, blocks) }
}

fn narrow_columns() -> Vec<Column> {
    vec![
        Column::left("").may_cut(),
        Column::right("success rate"),
        Column::right("95%"),
        Column::right("failures"),
        Column::right("p50").rank(1),
        Column::right("p95").rank(2),
        Column::right("cost").rank(0),
    ]
}

fn narrow_cells(row: &Row) -> Vec<Cell> {
    let failures = format!("{}/{}", row.failures, row.trials);
    let figures = [&row.rate, &row.interval, &failures, &row.p50, &row.p95, &row.cost];
    std::iter::once(Cell::text(&row.name)).chain(figures.map(Cell::figure)).collect()
}

fn wide_columns(of: &parts::Table) -> Vec<Column> {
    let first = if of.kind == PartKind::Axis { Cell::code(&of.by) } else { Cell::figure(&of.by) };
    let heads =
        ["success rate", "95% interval", "trials", "failures", "response p50", "p95", "first token p50", "p95", "cost"];
    let first = Column { head: first, ..Column::left("") };
    std::iter::once(first).chain(heads.map(Column::right)).chain([Column::left("why")]).collect()
}

fn wide_cells(row: &Row) -> Vec<Cell> {
    let [ttft_p50, ttft_p95] = &row.ttft;
    let figures =
        [&row.rate, &row.interval, &row.trials, &row.failures, &row.p50, &row.p95, ttft_p50, ttft_p95, &row.cost];
    std::iter::once(Cell::text(&row.name)).chain(figures.map(Cell::figure)).chain([Cell::text(&row.kinds)]).collect()
}

/// Checks with a name, those with the lowest pass rate first.
pub(super) fn metrics(summary: &Summary, room: Room) -> Section {
    let mut metrics: Vec<_> = summary.metrics.iter().collect();
    let rate = |metric: &MetricSummary| metric.rate.estimate.unwrap_or(1.0);
    metrics.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let heads = ["pass rate", "95%", "passed", "failed", "not judged", "mean score"].map(Column::right);
    let mut table = Table::new(std::iter::once(Column::left("name")).chain(heads));
    for metric in metrics.iter().take(room.checks) {
        let score = metric.mean_score.map_or_else(|| "–".to_owned(), |score| format!("{score:.2}"));
        let [pass, fail, open] = [metric.pass, metric.fail, metric.not_judged].map(count);
        let figures = [figures::estimate(&metric.rate), figures::interval(&metric.rate), pass, fail, open, score];
        table.rows.push(std::iter::once(Cell::text(&metric.name)).chain(figures.map(Cell::figure)).collect());
    }
    let left_out = metrics.len().saturating_sub(room.checks) as u64;
    table.left_out = (left_out > 0).then(|| format!("{} more", count(left_out)));
    let block = (!table.rows.is_empty()).then_some(Block::Table(table));
    Section::new(Kind::Metrics, "Named checks", block)
}

/// Checks that decide a verdict first, and of these the ones that failed most often.
pub(super) fn checks(summary: &Summary, room: Room) -> Section {
    let mut checks: Vec<_> = summary.by_check.iter().collect();
    checks.sort_by_key(|check| (!check.required, Reverse(check.fail), Reverse(check.not_judged)));
    let heads = ["judged", "passed", "failed", "not judged"].map(Column::right);
    let mut table = Table::new(std::iter::once(Column::left("check")).chain(heads));
    for check in checks.iter().take(room.checks) {
        let informs = if check.required { "" } else { " (only informs)" };
        let figures = [check.pass + check.fail, check.pass, check.fail, check.not_judged];
        let name = Cell::text(format!("{}{informs}", check.check));
        table.rows.push(std::iter::once(name).chain(figures.map(|figure| Cell::figure(count(figure)))).collect());
    }
    let block = (!table.rows.is_empty()).then_some(Block::Table(table));
    Section::new(Kind::ByCheck, "Checks", block)
}
