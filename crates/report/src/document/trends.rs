//! The history as documents: the runs over nights, the flake ledger, and one case night by night.

mod failures;

use std::collections::BTreeMap;

use record::{Verdict, summary::RunState};
use statistics::{
    ledger::{BROKEN_TO, Belief, STABLE_FROM, State},
    nights,
    trends::{CasePoint, Course, Figures, RunPoint, Trends},
};

use super::{
    Document,
    headline::{Fact, Headline, Words},
    model::{Block, Cell, Column, Kind, LineKind, Row, Section, Table},
};
use crate::{
    figures::{count, decimal, estimate, interval, millis, percent, plural, usd},
    marks::Mark,
    sparkline::sparkline,
};

/// How much of a history a page shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrendsRoom {
    /// The latest ones.
    pub(crate) nights: usize,
    pub(crate) cases: usize,
    /// Columns of a sparkline.
    pub(crate) spark: usize,
}

const NIGHTS: &str = "Runs that were stopped, and loads, are listed and count for nothing in the ledger. Flakiness is the chance that two trials of a case in one night disagree. A dash means too few turns or trials, or calls without a price.";

/// The runs, the latest first, and the cases by how certain it is that they are not stable.
pub(crate) fn of(trends: &Trends, room: TrendsRoom) -> Document {
    let mut sections = vec![nights(&trends.runs, room), ledger(trends, room), failures::section(trends, room)];
    sections.retain(|section| !section.blocks.is_empty());
    Document { headline: headline(trends, room), sections }
}

/// The ledger alone.
pub(crate) fn of_ledger(trends: &Trends, room: TrendsRoom) -> Document {
    let worst = trends.cases.iter().map(|case| verdict(case.belief.state)).max_by_key(|verdict| rank(*verdict));
    let states = [State::Broken, State::Flaky, State::New, State::Stable].into_iter().filter_map(|state| {
        let number = trends.cases.iter().filter(|case| case.belief.state == state).count() as u64;
        (number > 0)
            .then(|| Words { text: format!("{} {}", count(number), state.name()), verdict: Some(verdict(state)) })
    });
    let headline = Headline {
        mark: Mark { word: "LEDGER", ..Mark::of(worst.unwrap_or(Verdict::Inconclusive)) },
        name: span(trends),
        note: None,
        facts: vec![Fact { name: "cases", words: states.collect() }, fact("nights", night_words(trends))],
    };
    let section = ledger(trends, room);
    let sections = if section.blocks.is_empty() { Vec::new() } else { vec![section] };
    Document { headline, sections }
}

/// The failures alone.
pub(crate) fn of_failures(trends: &Trends, room: TrendsRoom) -> Document {
    let (last, new) = trends
        .failures
        .iter()
        .filter(|failure| failure.in_last)
        .fold((0, 0), |(last, new), failure| (last + 1, new + u64::from(failure.seen == 1 && failure.nights == 1)));
    let all = plural(trends.failures.len() as u64, "different failure", "different failures");
    let mark = if last > 0 { Verdict::Fail } else { Verdict::Pass };
    let headline = Headline {
        mark: Mark { word: "FAILURES", ..Mark::of(mark) },
        name: span(trends),
        note: None,
        facts: vec![
            fact(
                "failures",
                format!("{all}; {} in the latest night, {} of them for the first time", count(last), count(new)),
            ),
            fact("nights", night_words(trends)),
        ],
    };
    let section = failures::section(trends, room);
    let sections = if section.blocks.is_empty() { Vec::new() } else { vec![section] };
    Document { headline, sections }
}

/// One case, the latest night first.
pub(crate) fn of_case(case: &Course, room: TrendsRoom) -> Document {
    let belief = &case.belief;
    let word = match belief.state {
        State::New => "NEW",
        State::Stable => "STABLE",
        State::Flaky => "FLAKY",
        State::Broken => "BROKEN",
    };
    let mut facts = vec![fact("rate", rate(belief)), fact("state", states(belief)), fact("nights", counted(belief))];
    facts.extend(courses(case.nights.iter().map(|night| &night.figures), room.spark));
    let mut table = Table::new(
        [Column::left("started (UTC)"), Column::left("run").may_cut().rank(1), Column::right("passed")]
            .into_iter()
            .chain(figure_columns())
            .chain([Column::left("").may_cut()]),
    );
    table.rows = case.nights.iter().rev().take(room.nights).map(case_row).collect();
    table.left_out = left_out(case.nights.len(), room.nights, ("earlier night", "earlier nights"));
    let changed = case.nights.iter().any(|night| night.changed);
    let note = changed.then(|| {
        Block::Note(
            "the ledger begins again where the scenario or persona changed: earlier nights are about another test"
                .to_owned(),
        )
    });
    let blocks = [Some(Block::Table(table)), note].into_iter().flatten();
    let section = Section { legend: Some(NIGHTS), ..Section::new(Kind::Nights, "Nights", blocks) };
    let headline = Headline {
        mark: Mark { word, ..Mark::of(verdict(belief.state)) },
        name: format!("{} @ {}", case.name, case.agent),
        note: None,
        facts,
    };
    Document { headline, sections: vec![section] }
}

fn fact(name: &'static str, text: String) -> Fact {
    Fact { name, words: vec![Words { text, verdict: None }] }
}

fn headline(trends: &Trends, room: TrendsRoom) -> Headline {
    let mark = trends.runs.last().map_or_else(|| Mark::of(Verdict::Inconclusive), |run| Mark::of_run(run.verdict));
    let mut facts: Vec<Fact> = courses(trends.runs.iter().map(|run| &run.figures), room.spark).collect();
    facts.push(fact("nights", night_words(trends)));
    Headline { mark, name: span(trends), note: None, facts }
}

/// `12 runs, 2026-03-01 to 2026-03-14`.
fn span(trends: &Trends) -> String {
    let day = |run: &RunPoint| run.started_at.split('T').next().unwrap_or_default().to_owned();
    let runs = plural(trends.runs.len() as u64, "run", "runs");
    match (trends.runs.first().map(day), trends.runs.last().map(day)) {
        (Some(first), Some(last)) if first == last => format!("{runs}, {first}"),
        (Some(first), Some(last)) => format!("{runs}, {first} to {last}"),
        _ => runs,
    }
}

/// `11 count; trials of one night are alike: correlation 0.12`.
fn night_words(trends: &Trends) -> String {
    let nights = trends.runs.iter().filter(|run| run.is_night).count() as u64;
    let alike = if trends.night_correlation > 0.0 {
        format!("trials of one night are alike (correlation {:.2})", trends.night_correlation)
    } else if !trends.knows_nights {
        "too few nights to tell whether nights differ".to_owned()
    } else {
        "nights differ no more than by chance".to_owned()
    };
    format!("{} counted; {alike}; a night counts half after {} more", count(nights), trends.half_life_nights)
}

/// A line of sparks for each figure that has values.
fn courses<'a>(points: impl Iterator<Item = &'a Figures> + Clone, columns: usize) -> impl Iterator<Item = Fact> {
    type Of = fn(&Figures) -> Option<f64>;
    type Text = fn(f64) -> String;
    let enough_p95 = points.clone().filter(|point| point.p95_ms.is_some()).count() * 2 > points.clone().count();
    let times: (&'static str, Of) =
        if enough_p95 { ("p95", |point| point.p95_ms) } else { ("p50", |point| point.p50_ms) };
    let rows: [(&'static str, Of, Option<f64>, Text); 4] = [
        ("success", |point| point.success_rate.estimate, Some(1.0), percent),
        ("flakiness", |point| point.flakiness, Some(1.0), percent),
        (times.0, times.1, None, millis),
        ("cost", |point| point.cost_usd, None, usd),
    ];
    rows.into_iter().filter_map(move |(name, of, top, text)| {
        let values: Vec<Option<f64>> = points.clone().map(of).collect();
        let last = values.iter().rev().flatten().next()?;
        let known = || values.iter().flatten().copied();
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        // A figure that is always 0 has no course.
        if high <= 0.0 {
            return None;
        }
        let range = if low == high { String::new() } else { format!(", {} to {}", text(low), text(high)) };
        Some(fact(name, format!("{}  {} last{range}", sparkline(&values, top, columns), text(*last))))
    })
}

fn nights(runs: &[RunPoint], room: TrendsRoom) -> Section {
    let mut table = Table::new(
        [
            Column::left("started (UTC)"),
            Column::left("run").may_cut().rank(1),
            Column::left("verdict"),
            Column::right("success rate"),
        ]
        .into_iter()
        .chain(figure_columns())
        .chain([Column::left("").may_cut()]),
    );
    table.rows = runs.iter().rev().take(room.nights).map(run_row).collect();
    table.left_out = left_out(runs.len(), room.nights, ("earlier run", "earlier runs"));
    let block = (!table.rows.is_empty()).then_some(Block::Table(table));
    Section { legend: Some(NIGHTS), ..Section::new(Kind::Nights, "Nights", block) }
}

fn figure_columns() -> [Column; 5] {
    [
        Column::right("95% interval").rank(2),
        Column::right("flakiness"),
        Column::right("p50").rank(3),
        Column::right("p95"),
        Column::right("cost"),
    ]
}

fn figure_cells(of: &Figures) -> [Cell; 5] {
    let or_dash = |text: Option<String>| Cell::figure(text.unwrap_or_else(|| "–".to_owned()));
    [
        Cell::figure(interval(&of.success_rate)),
        or_dash(of.flakiness.map(percent_or_0)),
        or_dash(of.p50_ms.map(millis)),
        or_dash(of.p95_ms.map(millis)),
        or_dash(of.cost_usd.map(usd)),
    ]
}

fn percent_or_0(share: f64) -> String {
    if share == 0.0 { "0%".to_owned() } else { percent(share) }
}

fn run_row(run: &RunPoint) -> Row {
    let stopped = nights::stopped_by_itself(run.state, run.exit_code);
    let state = match run.state {
        _ if stopped => run.verdict.name(),
        RunState::Finished => run.verdict.name(),
        RunState::Running => "running",
        RunState::Interrupted => "interrupted",
        RunState::Cancelled => "cancelled",
    };
    let load = (run.state == RunState::Finished && !run.is_night).then(|| "load".to_owned());
    let decided = run.decided_early.then(|| "decided early".to_owned());
    let stopped = stopped.then(|| "gabfest stopped it".to_owned());
    let remarks = [load, decided, stopped, run.other_cases.then(|| "other cases".to_owned())];
    [
        when(&run.started_at),
        Cell::text(&run.run),
        Cell::figure(state),
        Cell::figure(estimate(&run.figures.success_rate)),
    ]
    .into_iter()
    .chain(figure_cells(&run.figures))
    .chain([remark(remarks.into_iter().flatten(), &run.labels)])
    .collect()
}

fn case_row(night: &CasePoint) -> Row {
    let passed = format!("{}/{}", count(night.figures.passed), count(night.figures.trials));
    let remarks = [(night.changed, "changed"), (!night.counts, "not counted")];
    let remarks = remarks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word.to_owned());
    [when(&night.started_at), Cell::text(&night.run), Cell::figure(passed)]
        .into_iter()
        .chain(figure_cells(&night.figures))
        .chain([remark(remarks, &night.labels)])
        .collect()
}

/// `other cases, commit 1a2b3c`.
fn remark(words: impl Iterator<Item = String>, labels: &BTreeMap<String, String>) -> Cell {
    let labels = labels.iter().map(|(name, value)| format!("{name} {value}"));
    Cell::text(words.chain(labels).collect::<Vec<_>>().join(", "))
}

/// `2026-03-14 02:00`.
fn when(started_at: &str) -> Cell {
    let minute = started_at.get(..16).unwrap_or(started_at).replace('T', " ");
    Cell::text(minute)
}

fn left_out(all: usize, shown: usize, words: (&'static str, &'static str)) -> Option<String> {
    let more = all.saturating_sub(shown) as u64;
    (more > 0).then(|| plural(more, words.0, words.1))
}

/// Broken first, then flaky, new and stable; of one state those with the lowest rate first.
fn ledger(trends: &Trends, room: TrendsRoom) -> Section {
    let mut cases: Vec<&Course> = trends.cases.iter().collect();
    let order = |case: &Course| match case.belief.state {
        State::Broken => 0,
        State::Flaky => 1,
        State::New => 2,
        State::Stable => 3,
    };
    cases.sort_by(|one, other| order(one).cmp(&order(other)).then(one.belief.rate.total_cmp(&other.belief.rate)));
    let several = cases.iter().any(|case| case.agent != cases[0].agent);
    let mut table = Table::new([
        Column::left("case").may_cut(),
        Column::left("state"),
        Column::right("rate"),
        Column::right("95% credible").rank(1),
        Column::right("nights").rank(2),
        Column::right("passed"),
        Column::left("course"),
    ]);
    table.rows = cases
        .iter()
        .take(room.cases)
        .map(|case| {
            let belief = &case.belief;
            let rates: Vec<Option<f64>> = case.nights.iter().map(|night| night.figures.success_rate.estimate).collect();
            let name = if several { format!("{} @ {}", case.name, case.agent) } else { case.name.clone() };
            vec![
                Cell::text(name),
                Cell::figure(state(belief)),
                Cell::figure(percent(belief.rate)),
                Cell::figure(credible(belief)),
                Cell::figure(count(belief.nights)),
                Cell::figure(format!("{}/{}", count(belief.passed), count(belief.trials))),
                Cell::figure(sparkline(&rates, Some(1.0), room.spark.min(30))),
            ]
        })
        .collect();
    table.left_out = left_out(cases.len(), room.cases, ("more case", "more cases"));
    let legend = "A case is stable if its success rate is at least 98%, broken if it is at most 20%, and flaky in between; the percentage is the probability of that. A case with fewer than 3 nights is new.";
    let blocks = (!table.rows.is_empty()).then_some(Block::Table(table));
    let mut section = Section { legend: Some(legend), ..Section::new(Kind::Ledger, "Flake ledger", blocks) };
    if several {
        let line = "An agent that is named by its address is (address)".to_owned();
        section.blocks.push(Block::Lines { kind: LineKind::Item, lines: vec![line] });
    }
    section
}

/// `64–93%`, rounded outwards.
fn credible(belief: &Belief) -> String {
    format!("{:.0}–{:.0}%", (belief.low * 100.0).floor(), (belief.high * 100.0).ceil())
}

/// `flaky 97%`, or `new`.
fn state(belief: &Belief) -> String {
    let chance = match belief.state {
        State::New => return State::New.name().to_owned(),
        State::Stable => belief.stable,
        State::Flaky => belief.flaky,
        State::Broken => belief.broken,
    };
    format!("{} {}", belief.state.name(), percent(chance))
}

/// The probability of each state, with its bounds.
fn states(belief: &Belief) -> String {
    let new = if belief.state == State::New { "new: fewer than 3 nights; " } else { "" };
    format!(
        "{new}stable (at least {}) {}, flaky {}, broken (at most {}) {}",
        percent(STABLE_FROM),
        chance(belief.stable),
        chance(belief.flaky),
        percent(BROKEN_TO),
        chance(belief.broken)
    )
}

/// A probability. One that rounds to 0 or 1 is neither.
fn chance(probability: f64) -> String {
    match probability {
        ..0.0005 => "under 0.1%".to_owned(),
        0.9995.. => "over 99.9%".to_owned(),
        probability => percent(probability),
    }
}

fn rate(belief: &Belief) -> String {
    format!("{} (95% credible interval {})", percent(belief.rate), credible(belief))
}

fn counted(belief: &Belief) -> String {
    let nights = plural(belief.nights, "night", "nights");
    let weigh = decimal(belief.alpha + belief.beta - 1.0);
    format!(
        "{} of {} trials passed in {nights}, which weigh as much as {weigh} trials now",
        count(belief.passed),
        count(belief.trials)
    )
}

fn verdict(state: State) -> Verdict {
    match state {
        State::New => Verdict::Skipped,
        State::Stable => Verdict::Pass,
        State::Flaky => Verdict::Inconclusive,
        State::Broken => Verdict::Fail,
    }
}

fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Fail => 3,
        Verdict::Inconclusive => 2,
        Verdict::Skipped => 1,
        _ => 0,
    }
}
