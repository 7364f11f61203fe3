//! The load of a run: scheduled against sent, how late starts were, and quality by offered load.

use record::{
    Summary,
    latency::Quantiles,
    summary::{Knee, KneeUnit, Load, LoadSlice, LoadStep, Sustained},
};

use super::{
    model::{Block, Cell, Column, Kind, LineKind, Section, Table},
    room::Room,
};
use crate::{
    clean::clean,
    figures::{self, count, millis, number, percentile, usd},
};

/// A page shows at most so many time slices; neighbours are added up.
const ROWS: usize = 12;

pub(super) fn section(summary: &Summary, room: Room) -> Section {
    let Some(load) = &summary.load else { return Section::new(Kind::Load, "Load", None) };
    let mut blocks: Vec<Block> = load.invalid.iter().map(|why| Block::Warning(format!("INVALID: {why}"))).collect();
    blocks.push(groups(load));
    let lines = remarks(load);
    if !lines.is_empty() {
        blocks.push(Block::Lines { kind: LineKind::Item, lines });
    }
    if !room.narrow && !load.slices.is_empty() {
        blocks.push(slices(load));
    }
    Section::new(Kind::Load, "Load", blocks)
}

fn groups(load: &Load) -> Block {
    let heads = ["scheduled", "sent", "dropped", "lost"];
    let mut table = Table::new(std::iter::once(Column::left("")).chain(heads.map(Column::right)));
    let row = |name: Cell, figures: [u64; 4]| {
        std::iter::once(name).chain(figures.map(|figure| Cell::figure(count(figure)))).collect()
    };
    for group in &load.groups {
        table.rows.push(row(Cell::text(&group.name), [group.scheduled, group.sent, group.dropped, group.lost]));
    }
    if load.groups.len() > 1 {
        table.total = Some(row(Cell::figure("all".to_owned()), [load.scheduled, load.sent, load.dropped, load.lost]));
    }
    Block::Table(table)
}

fn remarks(load: &Load) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(late) = load.late.filter(|late| late.count > 0) {
        let [p50, max] = [late.p50_ms, late.max_ms].map(millis);
        lines.push(match late.p99_ms {
            Some(p99) => format!("starts were late by {p50} (p50), {} (p99) and {max} at most", millis(p99)),
            None => format!("starts were late by {p50} (p50) and {max} at most; they are too few for a p99"),
        });
    }
    if let Some(runner) = &load.runner {
        let (cpu, delay) = (runner.max_cpu_permille / 10, millis(runner.max_delay_micros as f64 / 1_000.0));
        let open = match runner.max_descriptors {
            0 => String::new(),
            most => format!("; at most {} files and connections were open in one of them", count(most.into())),
        };
        lines.push(format!(
            "workers used {cpu} % of their cores at most, and their event loops were late by {delay} at most{open}"
        ));
    }
    if load.rescheduled > 0 {
        lines.push(format!(
            "{} were leased again, after a lost worker or a fault of gabfest; latencies leave them out",
            count(load.rescheduled)
        ));
    }
    if load.warm_up > 0 {
        lines.push(format!(
            "{} belong to the warm-up: only the cost and the tokens of the run count them",
            count(load.warm_up)
        ));
    }
    lines
}

fn slices(load: &Load) -> Block {
    let heads = ["offered", "started", "dropped"];
    let mut table = Table::new(std::iter::once(Column::left("from")).chain(heads.map(Column::right)));
    for rows in load.slices.chunks(load.slices.len().div_ceil(ROWS)) {
        let sum = |of: fn(&LoadSlice) -> u64| count(rows.iter().map(of).sum());
        let from = rows.first().map_or(0, |first| first.from_seconds);
        let figures = [format!("{from} s"), sum(|row| row.offered), sum(|row| row.started), sum(|row| row.dropped)];
        table.rows.push(figures.into_iter().map(Cell::figure).collect());
    }
    Block::Table(table)
}

/// Of one step, the figures of the run say as much; a narrow page leaves its table out.
pub(super) fn by_step(summary: &Summary, room: Room) -> Section {
    let title = "Quality by offered load";
    let least = if room.narrow { 2 } else { 1 };
    let Some(load) = summary.load.as_ref().filter(|load| load.steps.len() >= least) else {
        return Section::new(Kind::LoadSteps, title, None);
    };
    let simulated = load.steps.iter().any(|step| step.simulated > 0);
    let columns = if room.narrow { narrow_columns() } else { wide_columns(simulated) };
    let cells = |step: &LoadStep| if room.narrow { narrow_cells(step) } else { wide_cells(step, simulated) };
    let mut table = Table::new(columns);
    table.rows = load.steps.iter().take(room.breakdown_rows).map(cells).collect();
    let left_out = load.steps.len().saturating_sub(room.breakdown_rows) as u64;
    table.left_out = (left_out > 0).then(|| format!("{} more", count(left_out)));
    let knee = (load.steps.len() > 1).then(|| knee(load)).flatten();
    let lines: Vec<String> = sustained(load).into_iter().chain(knee).collect();
    let remark = (!lines.is_empty()).then_some(Block::Lines { kind: LineKind::Item, lines });
    Section::new(Kind::LoadSteps, title, std::iter::once(Block::Table(table)).chain(remark))
}

fn narrow_columns() -> Vec<Column> {
    vec![
        Column::left("offered"),
        Column::right("success rate"),
        Column::right("95%"),
        Column::right("ended").rank(2),
        Column::right("errors").rank(3),
        Column::right("response p50").rank(1),
        Column::right("cost a pass").rank(0),
    ]
}

fn narrow_cells(step: &LoadStep) -> Vec<Cell> {
    let [rate, interval] = [figures::estimate(&step.success_rate), figures::interval(&step.success_rate)];
    let figures = [rate, interval, count(step.ends), count(step.agent_errors), median(&step.response), cost(step)];
    std::iter::once(offered(step)).chain(figures).map(Cell::figure).collect()
}

fn wide_columns(simulated: bool) -> Vec<Column> {
    let left = ["offered", "from", "until"].map(Column::left);
    let heads = ["success rate", "95% interval", "ended", "dropped", "agent errors", "other"];
    let faults = simulated.then_some("simulator faults");
    let times = ["first token p50", "response p50", "p95", "p99", "cost a pass"];
    left.into_iter().chain(heads.into_iter().chain(faults).chain(times).map(Column::right)).collect()
}

fn wide_cells(step: &LoadStep, simulated: bool) -> Vec<Cell> {
    // Steps of a search begin at any moment.
    let seconds = |at: f64| format!("{} s", number((at * 10.0).round() / 10.0));
    let tail = |of: Option<f64>| if step.response.count > 0 { percentile(of) } else { "–".to_owned() };
    let faults = simulated.then(|| format!("{}/{}", count(step.simulator_faults), count(step.simulated)));
    let first = [
        offered(step),
        seconds(step.from_seconds),
        step.until_seconds.map_or_else(|| "its end".to_owned(), seconds),
        figures::estimate(&step.success_rate),
        figures::interval(&step.success_rate),
        count(step.ends),
        count(step.dropped),
        count(step.agent_errors),
        count(step.other_ends),
    ];
    let last = [
        median(&step.ttft),
        median(&step.response),
        tail(step.response.p95_ms),
        tail(step.response.p99_ms),
        cost(step),
    ];
    first.into_iter().chain(faults).chain(last).map(Cell::figure).collect()
}

/// `4/s`, `10 slots`, or both.
pub(crate) fn offered(step: &LoadStep) -> String {
    let rate = step.rate.map(|rate| of_unit(rate, KneeUnit::Rate));
    let slots = step.slots.map(|slots| of_unit(slots, KneeUnit::Slots));
    rate.into_iter().chain(slots).collect::<Vec<_>>().join(", ")
}

pub(crate) fn of_unit(load: f64, unit: KneeUnit) -> String {
    match unit {
        KneeUnit::Rate => format!("{}/s", number(load)),
        KneeUnit::Slots if load == 1.0 => "1 slot".to_owned(),
        KneeUnit::Slots => format!("{} slots", number(load)),
    }
}

fn median(of: &Quantiles) -> String {
    if of.count > 0 { millis(of.p50_ms) } else { "–".to_owned() }
}

fn cost(step: &LoadStep) -> String {
    step.cost_per_pass_usd.map_or_else(|| "–".to_owned(), usd)
}

/// Up to which load the requirements of the run hold, or why that is not known.
fn sustained(load: &Load) -> Option<String> {
    let Sustained { unit, requirements, load: held, broken_at, undecided } = load.sustained.as_ref()?;
    let what = requirements.iter().map(|text| clean(text)).collect::<Vec<_>>().join(" and ");
    let verb = if requirements.len() == 1 { "holds" } else { "hold" };
    let at = |load: &f64| of_unit(*load, *unit);
    let few = match undecided.as_slice() {
        [] => String::new(),
        all => format!("; too few to say at {}", all.iter().map(at).collect::<Vec<_>>().join(", ")),
    };
    Some(match (held, broken_at) {
        (Some(held), Some(broken)) => {
            format!("{what} {verb} up to {} and not at {}, with 95% confidence{few}", at(held), at(broken))
        }
        (Some(held), None) => {
            format!("{what} {verb} up to {}, with 95% confidence, and is broken at no load{few}", at(held))
        }
        (None, Some(broken)) => {
            format!("{what}: no load is shown to meet this; not met at {}, with 95% confidence{few}", at(broken))
        }
        (None, None) => format!("{what}: no load is shown to meet this{few}"),
    })
}

/// Where quality falls, or why that is not known.
pub(crate) fn knee(load: &Load) -> Option<String> {
    let Some(Knee { unit, load: last, low, high, success_rate_until, success_rate_beyond, .. }) = &load.knee else {
        return load.no_knee.as_ref().map(|why| format!("no knee: {why}"));
    };
    let [last, high] = [last, high].map(|load| of_unit(*load, *unit));
    let [until, beyond] = [success_rate_until, success_rate_beyond].map(figures::estimate);
    Some(format!(
        "knee: the success rate falls above {last} (95% interval {} to {high}), from {until} until there to {beyond} beyond",
        number(*low)
    ))
}
