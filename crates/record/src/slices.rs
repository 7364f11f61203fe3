//! A run over time: a bounded number of slices of equal width, each with its own figures.
//!
//! The width is a second at first and doubles when there are too many slices, so it follows from the longest time alone:
//! any parts in any order merge to the same slices.

use std::collections::BTreeMap;

use scenario::Goodput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Role, Trial, Usd, goodput, histogram::Histogram, latency::Quantiles, tally::Counts};

/// A page of a report shows as many points, and `report.json` stays small.
const MOST: u64 = 120;
const FIRST_WIDTH_MS: u64 = 1_000;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slices {
    /// When the run started, in Unix milliseconds.
    start_ms: u64,
    /// How often the first width has doubled.
    doublings: u32,
    /// By their place, from 0; those in which nothing happened are missing.
    slices: BTreeMap<u64, Slice>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Slice {
    starts: u64,
    /// Of trials that ended in it.
    ends: Counts,
    unanswered: u64,
    /// Turns that ended in it.
    response: Histogram,
    service: Histogram,
    ttft: Histogram,
    /// Turns that met the limits of goodput; `None` without limits.
    met: Option<u64>,
    output_tokens: u64,
    cost: Usd,
}

impl Slices {
    #[must_use]
    pub fn of_run_started_at(start_ms: u64) -> Self {
        Self { start_ms, ..Self::default() }
    }

    pub fn add(&mut self, trial: &Trial, limits: Option<&Goodput>) {
        let Some(began) = began_after_ms(trial, self.start_ms) else { return };
        self.slice(began).starts += 1;
        for turn in &trial.latencies {
            let slice = self.slice(began.saturating_add(turn.ended_micros / 1_000));
            slice.service.record(turn.total_micros);
            if let Some(response) = turn.response_micros {
                slice.response.record(response);
            }
            if let Some(ttft) = turn.ttft_micros {
                slice.ttft.record(ttft);
            }
            if let Some(limits) = limits {
                *slice.met.get_or_insert(0) += u64::from(goodput::meets(limits, turn));
            }
        }
        let slice = self.slice(began.saturating_add(trial.duration_ms));
        slice.ends.add(trial);
        slice.unanswered += u64::from(trial.unanswered);
        slice.output_tokens += trial.spend.of(Role::Agent).tokens.output;
        slice.cost += trial.spend.cost();
    }

    pub fn merge(&mut self, other: &Self) {
        if self.slices.is_empty() {
            self.start_ms = self.start_ms.max(other.start_ms);
        }
        while self.doublings < other.doublings {
            self.double();
        }
        let narrower = self.doublings - other.doublings;
        for (place, slice) in &other.slices {
            self.slices.entry(place >> narrower).or_default().merge(slice);
        }
    }

    /// The slice at a time after the start of the run.
    fn slice(&mut self, after_ms: u64) -> &mut Slice {
        while after_ms / self.width_ms() >= MOST {
            self.double();
        }
        self.slices.entry(after_ms / self.width_ms()).or_default()
    }

    fn width_ms(&self) -> u64 {
        FIRST_WIDTH_MS << self.doublings
    }

    fn double(&mut self) {
        self.doublings += 1;
        for (place, slice) in std::mem::take(&mut self.slices) {
            self.slices.entry(place / 2).or_default().merge(&slice);
        }
    }

    /// The same in at most this many slices.
    #[must_use]
    pub fn coarse(&self, most: usize) -> Option<Series> {
        let mut coarse = self.clone();
        while coarse.slices.last_key_value().is_some_and(|(last, _)| *last >= most as u64) {
            coarse.double();
        }
        coarse.figures()
    }

    /// `None` where no trial says when it was played.
    #[must_use]
    pub fn figures(&self) -> Option<Series> {
        let last = *self.slices.last_key_value()?.0;
        let none = Slice::default();
        let width_ms = self.width_ms();
        let slices = (0..=last).map(|place| self.slices.get(&place).unwrap_or(&none).figures(place * width_ms));
        Some(Series { width_ms, slices: slices.collect() })
    }
}

/// When a trial began, in milliseconds after the start of the run.
///
/// A load measures starts with one clock; a worker's own clock may be behind the coordinator's. Older records do not say when a
/// trial was played.
pub(crate) fn began_after_ms(trial: &Trial, start_ms: u64) -> Option<u64> {
    match trial.start {
        Some(start) => Some(start.at_micros / 1_000),
        None if trial.began_at_ms == 0 => None,
        None => Some(trial.began_at_ms.saturating_sub(start_ms)),
    }
}

impl Slice {
    fn merge(&mut self, other: &Self) {
        self.starts += other.starts;
        self.ends.merge(&other.ends);
        self.unanswered += other.unanswered;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.ttft.merge(&other.ttft);
        self.met = self.met.zip(other.met).map(|(one, other)| one + other).or(self.met).or(other.met);
        self.output_tokens += other.output_tokens;
        self.cost += other.cost;
    }

    fn figures(&self, from_ms: u64) -> SeriesSlice {
        SeriesSlice {
            from_ms,
            starts: self.starts,
            ends: self.ends.ended(),
            pass: self.ends.pass,
            fail: self.ends.fail,
            agent_errors: self.ends.agent_errors,
            other_ends: self.ends.ended() - self.ends.pass - self.ends.fail - self.ends.agent_errors,
            unanswered_turns: self.unanswered,
            response: Quantiles::of(&self.response),
            turn: Quantiles::of(&self.service),
            ttft: Quantiles::of(&self.ttft),
            turns_met: self.met,
            output_tokens: self.output_tokens,
            cost_usd: self.cost.dollars(),
        }
    }
}

/// A run over time, from its start to the end of its last trial; of winning attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The width of every slice: 1 s, doubled until at most 120 slices cover the run.
    pub width_ms: u64,
    pub slices: Vec<SeriesSlice>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesSlice {
    /// From the start of the run to the start of the slice.
    pub from_ms: u64,
    /// Trials that started in it.
    pub starts: u64,
    /// Trials that ended in it; verdicts, unanswered turns, tokens and cost are theirs.
    pub ends: u64,
    pub pass: u64,
    pub fail: u64,
    pub agent_errors: u64,
    /// Trials that say nothing about the agent.
    pub other_ends: u64,
    pub unanswered_turns: u64,
    /// Response times of turns that ended in it.
    pub response: Quantiles,
    /// Service times of the same turns.
    pub turn: Quantiles,
    pub ttft: Quantiles,
    /// Turns that ended in it and met the limits of `goodput`; absent without limits, or without such a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_met: Option<u64>,
    /// Of the agent.
    pub output_tokens: u64,
    /// Of all roles. Calls without a price are not in it.
    pub cost_usd: f64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use scenario::{CaseId, TrialId};

    use super::*;
    use crate::{
        Failure, FailureKind, Verdict,
        trial::{Start, TurnLatency},
    };

    const START: u64 = 1_790_000_000_000;
    const LIMITS: Goodput = Goodput { response_micros: Some(7), ttft_micros: None, per_token_micros: None };

    fn trial(after_ms: u64, turns_ms: &[u64], verdict: Verdict) -> Trial {
        let planned = scenario::Trial {
            number: 0,
            id: TrialId::new("t"),
            case: 0,
            case_id: CaseId::new("c"),
            repeat: 0,
            seed: 1,
        };
        let turn = |ended_ms: &u64| TurnLatency {
            total_micros: 5,
            response_micros: Some(7),
            ended_micros: ended_ms * 1_000,
            ..TurnLatency::default()
        };
        let unplayed = Trial::unplayed(&planned, 1, verdict, Failure::new(FailureKind::Undecided, ""));
        Trial {
            began_at_ms: START + after_ms,
            duration_ms: turns_ms.last().copied().unwrap_or(0),
            latencies: turns_ms.iter().map(turn).collect(),
            ..unplayed
        }
    }

    fn of<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Slices {
        let mut slices = Slices::of_run_started_at(START);
        trials.into_iter().for_each(|trial| slices.add(trial, Some(&LIMITS)));
        slices
    }

    #[test]
    fn starts_turns_and_ends_stand_where_they_happened() {
        let trials = [trial(0, &[400, 1_700], Verdict::Pass), trial(3_100, &[200], Verdict::Fail)];
        let series = of(&trials).figures().unwrap();
        let found: Vec<_> = series
            .slices
            .iter()
            .map(|it| (it.from_ms, it.starts, it.ends, it.response.count, it.pass, it.fail))
            .collect();
        assert_eq!(found, [(0, 1, 0, 1, 0, 0), (1_000, 0, 1, 1, 1, 0), (2_000, 0, 0, 0, 0, 0), (3_000, 1, 1, 1, 0, 1)]);
        assert_eq!(series.width_ms, 1_000);
        let met: Vec<_> = series.slices.iter().map(|it| it.turns_met).collect();
        assert_eq!(met, [Some(1), Some(1), None, Some(1)]);
        let slow = Goodput { response_micros: Some(6), ..LIMITS };
        let mut slices = Slices::of_run_started_at(START);
        slices.add(&trials[0], Some(&slow));
        assert_eq!(slices.figures().unwrap().slices[0].turns_met, Some(0));
        let of_load =
            Trial { start: Some(Start { at_micros: 2_500_000, late_micros: 0 }), ..trial(0, &[], Verdict::Pass) };
        assert_eq!(of([&of_load]).figures().unwrap().slices[2].starts, 1);
        // A clock that is behind, and a record that does not say when.
        let early = Trial { began_at_ms: START - 5_000, ..trial(0, &[], Verdict::Pass) };
        assert_eq!(of([&early]).figures().unwrap().slices[0].starts, 1);
        assert_eq!(of([&Trial { began_at_ms: 0, ..early }]).figures(), None);
    }

    #[test]
    fn a_long_run_has_wider_slices_and_loses_nothing() {
        let trials: Vec<Trial> = (0..50_000).map(|index| trial(index * 777, &[50], Verdict::Pass)).collect();
        let series = of(&trials).figures().unwrap();
        assert!(series.slices.len() as u64 <= MOST && series.slices.len() as u64 > MOST / 2, "{}", series.slices.len());
        assert_eq!(series.width_ms, 512_000);
        assert_eq!(series.slices.iter().map(|it| it.starts).sum::<u64>(), 50_000);
        assert_eq!(series.slices.iter().map(|it| it.turn.count).sum::<u64>(), 50_000);
        let coarse = of(&trials).coarse(20).unwrap();
        assert_eq!((coarse.width_ms, coarse.slices.len()), (2_048_000, 19));
        assert_eq!(coarse.slices.iter().map(|it| it.starts).sum::<u64>(), 50_000);
    }

    proptest! {
        #[test]
        fn any_cuts_into_workers_give_the_same_slices(
            begun in proptest::collection::vec((0..2_000_000_u64, 0..90_000_u64), 0..80),
            owners in proptest::collection::vec(0..5_usize, 80),
        ) {
            let trials: Vec<Trial> =
                begun.iter().map(|(after, took)| trial(*after, &[took / 2, *took], Verdict::Pass)).collect();
            let mut workers = vec![Slices::of_run_started_at(START); 5];
            trials.iter().zip(&owners).for_each(|(trial, owner)| workers[*owner].add(trial, Some(&LIMITS)));
            let whole = of(&trials);
            let mut forwards = Slices::default();
            workers.iter().for_each(|worker| forwards.merge(worker));
            let mut backwards = Slices::default();
            workers.iter().rev().for_each(|worker| backwards.merge(worker));
            prop_assert_eq!(&forwards, &whole);
            prop_assert_eq!(&backwards, &whole);
        }
    }
}
