//! How the runs of a history, and each of their cases, developed: a point for each night, and what the ledger says.

use std::collections::{BTreeMap, BTreeSet};

use record::{
    histogram::Histogram,
    summary::{Rate, RunState, RunVerdict},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    ledger::{Belief, Outcomes, known_night_correlation},
    nights::{Night, NightCell, NightRun},
    recurring::{Recurring, recurring},
    wilson,
};

/// Bumped when a field changes its meaning or goes away; new fields do not bump it.
pub const SCHEMA_VERSION: u32 = 1;

/// The runs of a history and the courses of their cases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "gabfest trends")]
pub struct Trends {
    pub schema_version: u32,
    /// After so many nights, the evidence of a night counts half.
    pub half_life_nights: f64,
    /// How much alike the trials of one night are, over all cases: 0 if nights differ by chance only.
    pub night_correlation: f64,
    /// There are nights enough to tell whether nights differ; if not, `night_correlation` is 0.
    pub knows_nights: bool,
    /// The earliest first.
    pub runs: Vec<RunPoint>,
    /// In alphabetical order.
    pub cases: Vec<Course>,
    /// Those of the latest night first, then the most frequent.
    pub failures: Vec<Recurring>,
}

/// A run as a point of a chart.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunPoint {
    pub run: String,
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub labels: BTreeMap<String, String>,
    pub state: RunState,
    pub verdict: RunVerdict,
    pub exit_code: u8,
    /// Finished, and not a load: only nights count in the ledger.
    pub is_night: bool,
    /// It could stop as soon as it was decided: it counts in the ledger, and says nothing about how much nights differ.
    pub decided_early: bool,
    /// It played other cases than the run before, or cases whose scenario or persona changed.
    pub other_cases: bool,
    #[serde(flatten)]
    pub figures: Figures,
}

/// One case of one agent over the nights.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Course {
    pub name: String,
    pub agent: String,
    /// `file/scenario`.
    pub scenario: String,
    pub parameters: Vec<(String, String)>,
    pub persona: Option<String>,
    pub tags: Vec<String>,
    /// What the nights since its scenario and persona last changed say.
    pub belief: Belief,
    /// The earliest first.
    pub nights: Vec<CasePoint>,
}

/// One night of a case.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CasePoint {
    pub run: String,
    pub started_at: String,
    pub labels: BTreeMap<String, String>,
    /// Whether it counts in the ledger: a night, with today's scenario and persona.
    pub counts: bool,
    /// Its scenario or persona differs from that of the point before.
    pub changed: bool,
    #[serde(flatten)]
    pub figures: Figures,
}

/// The figures of a point.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    pub passed: u64,
    /// Trials with a result about the agent.
    pub trials: u64,
    /// Planned trials without one.
    pub undecided: u64,
    pub success_rate: Rate,
    /// The chance that two trials of a case in that night disagree; of a run the mean over its cases. `null` if no case has two
    /// trials.
    pub flakiness: Option<f64>,
    pub p50_ms: Option<f64>,
    /// `null` with fewer than 130 turns, or if more than 1 in 20 turns had no answer.
    pub p95_ms: Option<f64>,
    pub ttft_p50_ms: Option<f64>,
    /// Turns without an answer. They count as infinitely slow.
    pub unanswered: u64,
    /// `null` if a call has no price.
    pub cost_usd: Option<f64>,
    pub tokens: u64,
    /// Trials in which the agent got a critical fault of the simulated user.
    pub simulator_faults: u64,
}

/// A case over nights: its cell, its agent, and which of several cells of one name it is.
pub(crate) type Key<'a> = (&'a NightCell, usize);

impl Trends {
    /// `nights`: the earliest first.
    #[must_use]
    pub fn of(nights: &[Night], half_life: f64) -> Self {
        let mut courses: BTreeMap<_, Vec<(&Night, &NightCell)>> = BTreeMap::new();
        for night in nights {
            for (cell, nth) in numbered(&night.cells) {
                courses.entry((&cell.cell, &cell.agent, nth)).or_default().push((night, cell));
            }
        }
        let counted: Vec<Vec<Outcomes>> = courses.values().map(|points| outcomes(points, NightRun::is_night)).collect();
        // Nights that were decided early have more extreme rates; the evidence of their trials is what it is.
        let whole: Vec<Vec<Outcomes>> =
            courses.values().map(|points| outcomes(points, NightRun::is_whole_night)).collect();
        let known = known_night_correlation(whole.iter().map(Vec::as_slice));
        let correlation = known.unwrap_or(0.0);
        let mut cases: Vec<Course> = courses
            .values()
            .zip(&counted)
            .filter_map(|(points, outcomes)| course(points, Belief::of(outcomes, correlation, half_life)))
            .collect();
        cases.sort_by(|one, other| (&one.name, &one.agent).cmp(&(&other.name, &other.agent)));
        let before = std::iter::once(None).chain(nights.iter().map(Some));
        let runs = nights.iter().zip(before).map(|(night, before)| point(night, before)).collect();
        Self {
            schema_version: SCHEMA_VERSION,
            half_life_nights: half_life,
            night_correlation: correlation,
            knows_nights: known.is_some(),
            runs,
            cases,
            failures: recurring(nights),
        }
    }

    /// The courses whose name or scenario contains the text, whatever the case of its letters, and the failures of their cases.
    pub fn keep(&mut self, text: &str) {
        let text = text.to_lowercase();
        self.failures.retain(|failure| failure.cases.iter().any(|case| case.to_lowercase().contains(&text)));
        self.cases
            .retain(|case| [&case.name, &case.scenario].into_iter().any(|name| name.to_lowercase().contains(&text)));
    }
}

/// Each cell, and which of the cells with its name and agent it is.
pub(crate) fn numbered(cells: &[NightCell]) -> impl Iterator<Item = Key<'_>> {
    let mut seen: BTreeMap<_, usize> = BTreeMap::new();
    cells.iter().map(move |cell| {
        let nth = seen.entry((&cell.cell, &cell.agent)).or_default();
        *nth += 1;
        (cell, *nth)
    })
}

/// The nights that count: those since the content last changed.
fn outcomes(points: &[(&Night, &NightCell)], is_counted: fn(&NightRun) -> bool) -> Vec<Outcomes> {
    let counted = counted(points);
    let of = |cell: &NightCell| Outcomes { passed: cell.passed, trials: cell.trials() };
    let counts = |((night, _), counts): &(&(&Night, &NightCell), bool)| *counts && is_counted(&night.run);
    points.iter().zip(counted).filter(counts).map(|((_, cell), _)| of(cell)).collect()
}

pub(crate) fn counted(points: &[(&Night, &NightCell)]) -> Vec<bool> {
    let latest = points.last().map(|(_, cell)| &cell.content);
    let since = points.iter().rposition(|(_, cell)| Some(&cell.content) != latest).map_or(0, |last| last + 1);
    points.iter().enumerate().map(|(index, (night, _))| index >= since && night.run.is_night()).collect()
}

fn course(points: &[(&Night, &NightCell)], belief: Belief) -> Option<Course> {
    let (_, latest) = points.last()?;
    let before = std::iter::once(None).chain(points.iter().map(|(_, cell)| Some(&cell.content)));
    let nights = points.iter().zip(counted(points)).zip(before).map(|(((night, cell), counts), before)| CasePoint {
        run: night.run.id.clone(),
        started_at: night.run.started_at.clone(),
        labels: night.run.labels.clone(),
        counts,
        changed: before.is_some_and(|before| *before != cell.content),
        figures: of_case(cell),
    });
    Some(Course {
        name: latest.name(),
        agent: latest.agent.clone(),
        scenario: latest.cell.scenario.clone(),
        parameters: latest.cell.parameters.clone(),
        persona: latest.cell.persona.clone(),
        tags: latest.tags.clone(),
        belief,
        nights: nights.collect(),
    })
}

fn of_case(cell: &NightCell) -> Figures {
    let trials = cell.trials();
    Figures {
        passed: cell.passed,
        trials,
        undecided: cell.planned.saturating_sub(trials),
        success_rate: wilson::interval(cell.passed, trials),
        flakiness: flakiness(cell),
        p50_ms: quantile(&cell.response, cell.unanswered, 0.50),
        p95_ms: quantile(&cell.response, cell.unanswered, 0.95),
        ttft_p50_ms: quantile(&cell.ttft, 0, 0.50),
        unanswered: cell.unanswered,
        cost_usd: cell.cost_usd,
        tokens: cell.tokens,
        simulator_faults: cell.faulty,
    }
}

fn point(night: &Night, before: Option<&Night>) -> RunPoint {
    let run = &night.run;
    let (mut response, mut ttft) = (Histogram::default(), Histogram::default());
    for cell in &night.cells {
        response.merge(&cell.response);
        ttft.merge(&cell.ttft);
    }
    let sum = |of: fn(&NightCell) -> u64| night.cells.iter().map(of).sum::<u64>();
    let flaky: Vec<f64> = night.cells.iter().filter_map(flakiness).collect();
    let (passed, trials, unanswered) = (sum(|cell| cell.passed), sum(NightCell::trials), sum(|cell| cell.unanswered));
    RunPoint {
        run: run.id.clone(),
        name: run.name.clone(),
        started_at: run.started_at.clone(),
        labels: run.labels.clone(),
        state: run.state,
        verdict: run.verdict,
        exit_code: run.exit_code,
        is_night: run.is_night(),
        decided_early: run.decided_early,
        other_cases: before.is_some_and(|before| contents(before) != contents(night)),
        figures: Figures {
            passed,
            trials,
            undecided: run.trials.planned.saturating_sub(trials),
            success_rate: run.success_rate.clone(),
            flakiness: (!flaky.is_empty()).then(|| flaky.iter().sum::<f64>() / flaky.len() as f64),
            p50_ms: quantile(&response, unanswered, 0.50),
            p95_ms: quantile(&response, unanswered, 0.95),
            ttft_p50_ms: quantile(&ttft, 0, 0.50),
            unanswered,
            cost_usd: run.cost_complete.then_some(run.cost_usd),
            tokens: sum(|cell| cell.tokens),
            simulator_faults: run.faulty,
        },
    }
}

/// What a night played.
fn contents(night: &Night) -> BTreeSet<(&crate::compare::played::CellName, &Option<String>)> {
    night.cells.iter().map(|cell| (&cell.cell, &cell.content)).collect()
}

/// The share of pairs of trials that disagree: an unbiased estimate of 2p(1 − p).
fn flakiness(cell: &NightCell) -> Option<f64> {
    let (passed, failed, trials) = (cell.passed as f64, cell.failed as f64, cell.trials() as f64);
    (cell.trials() >= 2).then(|| 2.0 * passed * failed / (trials * (trials - 1.0)))
}

/// In milliseconds, with turns without an answer above all others. `None` with too few turns, or if it is one without an answer.
fn quantile(micros: &Histogram, unanswered: u64, share: f64) -> Option<f64> {
    let turns = micros.count() + unanswered;
    let rank = (share * turns as f64).ceil().max(1.0);
    let enough = turns >= record::latency::floor_of(share) && rank <= micros.count() as f64;
    if !enough || micros.count() == 0 {
        return None;
    }
    // In the middle of the rank's step, so that rounding does not reach the next one.
    Some(micros.quantile((rank - 0.5) / micros.count() as f64) as f64 / 1_000.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{
        compare::played::CellName,
        ledger::{HALF_LIFE, State},
    };

    pub(crate) fn cell(scenario: &str, passed: u64, failed: u64, content: &str) -> NightCell {
        let mut response = Histogram::default();
        (1..=passed + failed).for_each(|millis| response.record(millis * 1_000));
        NightCell {
            cell: CellName { scenario: format!("f/{scenario}"), parameters: Vec::new(), persona: None },
            agent: "bot".to_owned(),
            title: scenario.to_owned(),
            variant: None,
            tags: Vec::new(),
            content: Some(content.to_owned()),
            planned: passed + failed,
            passed,
            failed,
            inconclusive: 0,
            error: 0,
            quarantine: None,
            unanswered: 0,
            faulty: 0,
            tokens: 10,
            cost_usd: Some(0.5),
            response,
            ttft: Histogram::default(),
        }
    }

    pub(crate) fn night(id: &str, state: RunState, cells: Vec<NightCell>) -> Night {
        let summary = crate::stored::read(include_bytes!("stored/version_1.json")).unwrap();
        let mut night = Night::of(&summary, 0, BTreeMap::new());
        night.run.id = id.to_owned();
        (night.run.state, night.run.is_load) = (state, false);
        night.cells = cells;
        night
    }

    #[test]
    fn a_course_has_the_nights_of_its_case_and_the_belief_those_since_it_changed() {
        use RunState::{Finished, Interrupted};
        let nights = [
            night("1", Finished, vec![cell("refund", 0, 10, "old"), cell("hours", 10, 0, "h")]),
            night("2", Finished, vec![cell("refund", 10, 0, "new"), cell("hours", 10, 0, "h")]),
            night("3", Interrupted, vec![cell("refund", 0, 10, "new")]),
            night("4", Finished, vec![cell("refund", 9, 1, "new"), cell("hours", 10, 0, "h")]),
        ];
        let mut trends = Trends::of(&nights, HALF_LIFE);
        assert_eq!(trends.cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(), ["hours", "refund"]);
        let [hours, refund] = trends.cases.as_slice() else { panic!("two cases") };
        assert_eq!(refund.nights.iter().map(|night| night.counts).collect::<Vec<_>>(), [false, true, false, true]);
        assert_eq!(refund.nights.iter().map(|night| night.changed).collect::<Vec<_>>(), [false, true, false, false]);
        assert_eq!((refund.belief.passed, refund.belief.trials, refund.belief.state), (19, 20, State::New));
        assert_eq!((hours.belief.nights, hours.belief.state), (3, State::Stable));
        let other: Vec<bool> = trends.runs.iter().map(|run| run.other_cases).collect();
        assert_eq!(other, [false, true, true, true]);
        assert_eq!(trends.runs.iter().map(|run| run.is_night).collect::<Vec<_>>(), [true, true, false, true]);
        // 9 of the 45 pairs of refund disagree, none of hours.
        assert!((trends.runs[3].figures.flakiness.unwrap() - 0.1).abs() < 1e-12);
        trends.keep("REF");
        assert_eq!(trends.cases.len(), 1);
    }

    #[test]
    fn turns_without_an_answer_are_slower_than_all_others() {
        let mut times = Histogram::default();
        (1..=200).for_each(|millis| times.record(millis * 1_000));
        let near = |found: Option<f64>, right: f64| found.is_some_and(|found| (found - right).abs() <= right / 500.0);
        assert!(near(quantile(&times, 0, 0.95), 190.0) && near(quantile(&times, 0, 0.5), 100.0));
        assert!(near(quantile(&times, 8, 0.95), 198.0), "{:?}", quantile(&times, 8, 0.95));
        assert_eq!(quantile(&times, 20, 0.95), None, "it is a turn without an answer");
        assert_eq!(quantile(&Histogram::default(), 9, 0.5), None);
        let mut few = Histogram::default();
        few.record(1_000);
        assert_eq!((quantile(&few, 0, 0.95), quantile(&few, 0, 0.5)), (None, Some(1.0)));
    }
}
