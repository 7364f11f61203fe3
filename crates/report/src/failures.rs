//! Groups similar failures over all trials of a run: the same check, the same reason except for its numbers, the same
//! turn. Over nights, a group is known by its signature.

mod folded;
mod nightly;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use record::{Blame, Summary, Trial, Verdict, summary::CaseSummary};

use crate::{cases, clip, failure_place::FailurePlace, figures};

/// How many different failures are kept; the summary only counts later ones.
const KINDS: usize = 2_000;
const REASON_CHARS: usize = 400;

/// Fed trial by trial, in the plan's order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Failures {
    /// By case, because only the summary has the names of cases.
    kinds: BTreeMap<(u64, Kind), Alike>,
}

/// What similar failures have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    verdict: Verdict,
    place: FailurePlace,
    /// The check and its finding, without the parts that differ between trials.
    folded: String,
}

#[derive(Debug, Clone, PartialEq)]
struct Alike {
    trials: u64,
    severity: u8,
    /// Of the first one, as written.
    reason: String,
    /// Whether all have that very reason.
    same: bool,
    first: First,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct First {
    /// The trial's place in the plan.
    pub(crate) number: u64,
    pub(crate) trial_id: String,
    pub(crate) repeat: u32,
}

/// Similar failures of one agent, over all scenarios, personas and parameters.
#[derive(Debug)]
pub(crate) struct Group {
    /// The case if all are of one, or else the scenario if all are of one, or else the number of scenarios.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Set if the run has more than one.
    agent: Option<String>,
    /// The check and its finding in the first one.
    reason: String,
    same: bool,
    pub(crate) trials: u64,
    pub(crate) first: First,
    /// Scenarios, personas or combinations with their trials, the most frequent first; empty if one has all.
    pub(crate) shares: Vec<(String, u64)>,
    severity: u8,
    /// By case.
    cases: Vec<(u64, u64)>,
    /// `new tonight`, or since when; `None`: the history says nothing.
    pub(crate) seen: Option<String>,
}

impl Failures {
    pub fn add(&mut self, trial: &Trial) {
        let Some((kind, reason)) = Kind::of(trial) else { return };
        let key = (trial.case, kind);
        if let Some(alike) = self.kinds.get_mut(&key) {
            alike.trials += 1;
            alike.same &= alike.reason == reason;
        } else if self.kinds.len() < KINDS {
            let first = First { number: trial.number, trial_id: trial.trial_id.to_string(), repeat: trial.repeat };
            self.kinds.insert(key, Alike { trials: 1, severity: severity(trial), reason, same: true, first });
        }
    }

    /// The agent's failures before ours, the most frequent first.
    pub(crate) fn groups(&self, summary: &Summary) -> Vec<Group> {
        let several_agents = cases::several_agents(&summary.cases);
        let mut groups: BTreeMap<(&Kind, Option<&str>), Group> = BTreeMap::new();
        for ((number, kind), alike) in &self.kinds {
            let case = cases::find(summary, *number);
            let agent = case.filter(|_| several_agents).map(|case| case.agent.as_str());
            let group = groups.entry((kind, agent)).or_insert_with(|| Group {
                name: String::new(),
                kind: kind.clone(),
                agent: agent.map(str::to_owned),
                reason: alike.reason.clone(),
                same: true,
                trials: 0,
                first: alike.first.clone(),
                shares: Vec::new(),
                severity: alike.severity,
                cases: Vec::new(),
                seen: None,
            });
            group.trials += alike.trials;
            group.same &= alike.same && group.reason == alike.reason;
            group.severity = group.severity.min(alike.severity);
            group.cases.push((*number, alike.trials));
            if alike.first.number < group.first.number {
                group.first = alike.first.clone();
                group.reason.clone_from(&alike.reason);
            }
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        groups.iter_mut().for_each(|group| group.call(summary));
        if let Some(past) = &summary.past {
            for group in &mut groups {
                let signature = nightly::signature(group, summary);
                group.seen = past.failures.iter().find(|seen| seen.signature == signature).map(nightly::words);
            }
        }
        groups.sort_by_key(|group| (group.severity, Reverse(group.trials), group.first.number));
        groups
    }
}

/// Which of the groups a trial of this case is in.
pub(crate) fn group_of(groups: &[Group], trial: &Trial, case: Option<&CaseSummary>) -> Option<usize> {
    let (kind, _) = Kind::of(trial)?;
    groups.iter().position(|group| {
        let same_agent = group.agent.as_deref().is_none_or(|agent| case.is_some_and(|case| case.agent == agent));
        same_agent && group.kind == kind
    })
}

/// The smaller, the more it matters: the agent's failures before ours.
pub(crate) fn severity(trial: &Trial) -> u8 {
    match (trial.verdict, trial.failure.as_ref().map(|failure| failure.blame)) {
        (Verdict::Fail, _) => 0,
        (Verdict::Error, Some(Blame::Agent)) => 1,
        (Verdict::Error, _) => 2,
        _ => 3,
    }
}

impl Kind {
    /// With the reason as written, possibly cut; `None` if there is nothing to explain.
    fn of(trial: &Trial) -> Option<(Self, String)> {
        if matches!(trial.verdict, Verdict::Pass | Verdict::Cancelled) {
            return None;
        }
        let message = trial.failure.as_ref().map_or("", |failure| failure.message.as_str());
        let reason = clip::ellipsis(message, REASON_CHARS);
        Some((Self { verdict: trial.verdict, place: FailurePlace::of(trial), folded: folded::of(&reason) }, reason))
    }
}

impl Group {
    pub(crate) fn verdict(&self) -> Verdict {
        self.kind.verdict
    }

    /// By its number.
    pub(crate) fn first_case(&self) -> Option<u64> {
        self.cases.first().map(|(number, _)| *number)
    }

    /// `step 1, turn 3`, `at the end`, `not played`.
    pub(crate) fn place(&self) -> String {
        self.kind.place.to_string()
    }

    /// The check and its finding; if it differs between trials, that of the first one.
    pub(crate) fn reason(&self) -> String {
        if self.same { self.reason.clone() } else { format!("e.g. {}", self.reason) }
    }

    fn call(&mut self, summary: &Summary) {
        let of: Vec<_> =
            self.cases.iter().filter_map(|(number, trials)| Some((cases::find(summary, *number)?, *trials))).collect();
        let Some((first, _)) = of.first() else { return };
        let agent = self.agent.as_ref().map_or_else(String::new, |agent| format!(" @ {agent}"));
        if of.len() == 1 {
            self.name = format!("{}{agent}", cases::name(first));
            return;
        }
        let by_scenario = of.iter().any(|(case, _)| cases::scenario(case) != cases::scenario(first));
        let by_persona = of.iter().any(|(case, _)| case.persona != first.persona);
        let mut shares: BTreeMap<String, u64> = BTreeMap::new();
        for (case, trials) in &of {
            let share = if by_scenario {
                cases::asked(case)
            } else if by_persona {
                cases::persona(case).to_owned()
            } else {
                cases::variant(case).unwrap_or("–").to_owned()
            };
            *shares.entry(share).or_default() += trials;
        }
        let scenarios: BTreeSet<&str> = of.iter().map(|(case, _)| cases::scenario(case)).collect();
        let name = match scenarios.len() {
            1 => cases::scenario(first).to_owned(),
            several => figures::plural(several as u64, "scenario", "scenarios"),
        };
        self.name = format!("{name}{agent}");
        self.shares = shares.into_iter().collect();
        self.shares.sort_by_key(|(_, trials)| Reverse(*trials));
        if self.shares.len() == 1 {
            self.shares.clear();
        }
    }
}
