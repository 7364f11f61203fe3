//! The history as a page: charts over nights, the runs, and the flake ledger.

use minijinja::value::{Serde, Value};
use serde::Serialize;
use statistics::trends::{Figures, RunPoint, Trends};

use super::{
    SCRIPT, STYLE,
    chart::{Tick, axis},
    environment, plot,
    plot::{Drawn, LEFT, Mark, Plot, RIGHT, shown},
    policy,
    section::SectionView,
};
use crate::{
    Error,
    document::Document,
    figures::{self, interval, millis, percent, usd},
    marks,
};

/// So many dates fit below a chart.
const MOST_COLUMNS: usize = 5;
/// One run is no course.
const FEWEST: usize = 2;

pub(crate) fn render(document: &Document, trends: &Trends) -> Result<String, Error> {
    let headline = &document.headline;
    let facts = headline.facts.iter().map(|fact| FactView { name: fact.name, text: fact.text() });
    let page = Page {
        policy: policy(),
        style: Value::from_safe_string(STYLE.to_owned()),
        script: Value::from_safe_string(SCRIPT.to_owned()),
        mark: headline.mark,
        name: headline.name.clone(),
        facts: facts.collect(),
        plots: plots(&trends.runs),
        sections: document.sections.iter().map(SectionView::of).collect(),
    };
    Ok(environment()?.get_template("trends.html")?.render(Serde(&page))?)
}

#[derive(Serialize)]
struct Page {
    policy: String,
    style: Value,
    script: Value,
    mark: marks::Mark,
    name: String,
    facts: Vec<FactView>,
    plots: Vec<Plot>,
    sections: Vec<SectionView>,
}

#[derive(Serialize)]
struct FactView {
    name: &'static str,
    text: String,
}

fn plots(runs: &[RunPoint]) -> Vec<Plot> {
    if runs.len() < FEWEST {
        return Vec::new();
    }
    let success = line(runs, "quality", "success rate", percent, |of| of.success_rate.estimate);
    let flakiness = line(runs, "quality", "flakiness", percent, |of| of.flakiness);
    let times = [
        line(runs, "response high", "p95", millis, |of| of.p95_ms),
        line(runs, "response", "p50", millis, |of| of.p50_ms),
    ];
    let cost = line(runs, "quality", "cost", usd, |of| of.cost_usd.filter(|dollars| *dollars > 0.0));
    let mut plots: Vec<Plot> = [
        Plot::of(("success-over-nights", "Success rate"), vec![success], Some(1.0), percent),
        Plot::of(("flakiness-over-nights", "Flakiness"), vec![flakiness], Some(1.0), percent),
        Plot::of(("times-over-nights", "Response time"), times.into_iter().collect(), None, axis),
        Plot::of(("cost-over-nights", "Cost of a run"), vec![cost], None, usd),
    ]
    .into_iter()
    .flatten()
    .collect();
    for plot in &mut plots {
        plot.columns = columns(runs);
        plot.marks = marks(runs);
    }
    plots
}

fn x(index: usize, runs: usize) -> f64 {
    LEFT + (index as f64 + 0.5) / runs as f64 * (RIGHT - LEFT)
}

fn line(
    runs: &[RunPoint],
    class: &'static str,
    name: &'static str,
    text: fn(f64) -> String,
    of: fn(&Figures) -> Option<f64>,
) -> Drawn {
    let value = |(index, run): (usize, &RunPoint)| {
        let y = of(&run.figures);
        let rate = &run.figures.success_rate;
        let of_rate = (name == "success rate" && rate.n > 0).then_some(rate);
        let more = of_rate.map(|rate| format!(", 95% interval {}", interval(rate))).unwrap_or_default();
        let when = figures::span(&run.started_at, None);
        let label = y.map(|y| format!("{name} on {when}: {}{more}", text(y))).unwrap_or_default();
        plot::Value { x: x(index, runs.len()), y, interval: of_rate.map(|rate| (rate.low, rate.high)), label }
    };
    Drawn { class, name: name.to_owned(), values: runs.iter().enumerate().map(value).collect() }
}

/// The days of some runs.
fn columns(runs: &[RunPoint]) -> Vec<Tick> {
    let every = runs.len().div_ceil(MOST_COLUMNS).max(1);
    let tick = |(index, run): (usize, &RunPoint)| Tick {
        at: shown(x(index, runs.len())),
        label: run.started_at.get(5..10).unwrap_or_default().to_owned(),
    };
    runs.iter().enumerate().step_by(every).map(tick).collect()
}

fn marks(runs: &[RunPoint]) -> Vec<Mark> {
    let changed = runs.iter().enumerate().filter(|(_, run)| run.other_cases);
    let mark = |(index, run): (usize, &RunPoint)| Mark {
        x: shown(x(index, runs.len()) - (RIGHT - LEFT) / runs.len() as f64 / 2.0),
        name: String::new(),
        title: format!("other cases from {} on", figures::span(&run.started_at, None)),
    };
    changed.map(mark).collect()
}
