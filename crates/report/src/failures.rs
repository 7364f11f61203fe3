//! Failures that are alike, counted over every trial of a run: the same scenario, the same check, the same reason.

use std::{cmp::Reverse, collections::BTreeMap};

use record::{Summary, Trial, Verdict};

use crate::{cases, clip, selection::severity};

/// Different failures that are told apart; what comes later is only counted by the summary.
const KINDS: usize = 2_000;
const REASON_CHARS: usize = 400;

/// Fed trial by trial, in the plan's order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Failures {
    /// By case: what a case is called, only the summary knows.
    kinds: BTreeMap<(u64, Verdict, String), Alike>,
}

#[derive(Debug, Clone, PartialEq)]
struct Alike {
    trials: u64,
    severity: u8,
    place: Place,
    first: First,
}

/// Where in their conversations trials failed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Place {
    /// The earliest turn and the latest.
    turns: Option<(u32, u32)>,
    at_the_end: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct First {
    /// The trial's place in the plan.
    pub(crate) number: u64,
    pub(crate) trial_id: String,
    pub(crate) repeat: u32,
}

/// Alike failures of one scenario, whatever the persona and the parameters.
#[derive(Debug)]
pub(crate) struct Group {
    /// The case where all are of one, else the scenario.
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    /// The check and what it found.
    pub(crate) reason: String,
    pub(crate) trials: u64,
    place: Place,
    pub(crate) first: First,
    /// Personas, or combinations where there is but one persona, with their trials; empty where one case has all.
    pub(crate) shares: Vec<(String, u64)>,
    severity: u8,
    /// By case.
    cases: Vec<(u64, u64)>,
}

impl Failures {
    pub(crate) fn add(&mut self, trial: &Trial) {
        if matches!(trial.verdict, Verdict::Pass | Verdict::Cancelled) {
            return;
        }
        let failure = trial.failure.as_ref();
        let reason = failure.map(|failure| clip::ellipsis(&failure.message, REASON_CHARS)).unwrap_or_default();
        let place = Place::of(failure.and_then(|failure| failure.turn));
        let key = (trial.case, trial.verdict, reason);
        if let Some(alike) = self.kinds.get_mut(&key) {
            alike.trials += 1;
            alike.place = alike.place.and(place);
        } else if self.kinds.len() < KINDS {
            let first = First { number: trial.number, trial_id: trial.trial_id.to_string(), repeat: trial.repeat };
            self.kinds.insert(key, Alike { trials: 1, severity: severity(trial), place, first });
        }
    }

    /// The agent's failures before ours, the most frequent first.
    pub(crate) fn groups(&self, summary: &Summary) -> Vec<Group> {
        let mut groups: BTreeMap<(&str, &str, Verdict, &str), Group> = BTreeMap::new();
        for ((number, verdict, reason), alike) in &self.kinds {
            let case = cases::find(summary, *number);
            let (scenario, agent) = case.map_or(("", ""), |case| (case.scenario.as_str(), case.agent.as_str()));
            let group = groups.entry((scenario, agent, *verdict, reason)).or_insert_with(|| Group {
                name: String::new(),
                verdict: *verdict,
                reason: reason.clone(),
                trials: 0,
                place: Place::default(),
                first: alike.first.clone(),
                shares: Vec::new(),
                severity: alike.severity,
                cases: Vec::new(),
            });
            group.trials += alike.trials;
            group.place = group.place.and(alike.place);
            group.severity = group.severity.min(alike.severity);
            group.cases.push((*number, alike.trials));
            if alike.first.number < group.first.number {
                group.first = alike.first.clone();
            }
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        groups.iter_mut().for_each(|group| group.call(summary));
        groups.sort_by_key(|group| (group.severity, Reverse(group.trials), group.first.number));
        groups
    }
}

impl Group {
    /// `turn 3`, `at the end`, `not played`.
    pub(crate) fn place(&self) -> String {
        if self.verdict == Verdict::Skipped { "not played".to_owned() } else { self.place.words() }
    }

    fn call(&mut self, summary: &Summary) {
        let of: Vec<_> =
            self.cases.iter().filter_map(|(number, trials)| Some((cases::find(summary, *number)?, *trials))).collect();
        let Some((first, _)) = of.first() else { return };
        let several_agents = summary.cases.iter().any(|case| case.agent != first.agent);
        let agent = if several_agents { format!(" @ {}", first.agent) } else { String::new() };
        if of.len() == 1 {
            self.name = format!("{}{agent}", cases::name(first));
            return;
        }
        self.name = format!("{}{agent}", first.scenario);
        let by_persona = of.iter().any(|(case, _)| case.persona != first.persona);
        let mut shares: BTreeMap<&str, u64> = BTreeMap::new();
        for (case, trials) in &of {
            let share = if by_persona { cases::persona(case) } else { case.combination.as_deref().unwrap_or("–") };
            *shares.entry(share).or_default() += trials;
        }
        self.shares = shares.into_iter().map(|(name, trials)| (name.to_owned(), trials)).collect();
        self.shares.sort_by_key(|(_, trials)| Reverse(*trials));
        if self.shares.len() == 1 {
            self.shares.clear();
        }
    }
}

impl Place {
    fn of(turn: Option<u32>) -> Self {
        Self { turns: turn.map(|turn| (turn, turn)), at_the_end: turn.is_none() }
    }

    fn and(self, other: Self) -> Self {
        let turns = match (self.turns, other.turns) {
            (Some((from, to)), Some((first, last))) => Some((from.min(first), to.max(last))),
            (one, another) => one.or(another),
        };
        Self { turns, at_the_end: self.at_the_end || other.at_the_end }
    }

    /// `turn 3`, `turns 1 to 5`, `at the end`.
    fn words(self) -> String {
        let turns = self.turns.map(
            |(from, to)| {
                if from == to { format!("turn {from}") } else { format!("turns {from} to {to}") }
            },
        );
        match (turns, self.at_the_end) {
            (Some(turns), true) => format!("{turns} and at the end"),
            (Some(turns), false) => turns,
            (None, _) => "at the end".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_well() {
        for (turns, words) in [
            (&[Some(3), Some(3)][..], "turn 3"),
            (&[Some(3), Some(1), Some(2)], "turns 1 to 3"),
            (&[None, None], "at the end"),
            (&[None, Some(2)], "turn 2 and at the end"),
        ] {
            let place = turns.iter().fold(Place::default(), |place, turn| place.and(Place::of(*turn)));
            assert_eq!(place.words(), words);
        }
    }
}
