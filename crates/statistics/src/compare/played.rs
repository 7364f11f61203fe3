//! A run as it is compared: its cells, and the outcomes, times and costs of their trials.

use std::collections::{BTreeMap, BTreeSet};

use record::{
    Blame, Finding, Role, Summary, Trial, Verdict,
    summary::{Contents, scenario_key},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    pub run: RunName,
    pub cells: Vec<PlayedCell>,
    /// `None` in reports of earlier versions.
    pub contents: Option<Contents>,
    /// The models of each role.
    pub models: BTreeMap<String, BTreeSet<String>>,
    pub agents: BTreeSet<String>,
    by_case: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunName {
    pub id: String,
    /// As pages call it: its folder, or its id.
    pub called: String,
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub seed: u64,
    pub gabfest_version: String,
}

/// A case of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayedCell {
    pub cell: CellName,
    pub agent: String,
    /// The scenario as pages show it, and the combination or question.
    pub title: String,
    pub variant: Option<String>,
    pub tags: Vec<String>,
    pub planned: u64,
    /// No verdict depends on it.
    pub quarantined: bool,
    pub trials: Vec<PlayedTrial>,
}

/// What a case is, whichever agent plays it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellName {
    /// [`scenario_key`]
    pub scenario: String,
    /// In the order of their paths.
    pub parameters: Vec<(String, String)>,
    pub persona: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlayedTrial {
    pub repeat: u32,
    pub seed: u64,
    /// `None`: it says nothing about the agent.
    pub passed: Option<bool>,
    /// The times of turns that the agent answered.
    pub response_ms: Vec<f64>,
    pub ttft_ms: Vec<f64>,
    /// Turns without an answer.
    pub unanswered: u32,
    pub agent_tokens: u64,
    /// `None` if a call has no price.
    pub cost_usd: Option<f64>,
    /// What the checks with a name found, as [`PlayedTrial::checks_of`] has it.
    pub checks: BTreeMap<String, Option<bool>>,
}

impl PlayedTrial {
    /// A trial without its checks.
    #[must_use]
    pub fn of(trial: &Trial) -> Self {
        let millis = |micros: u64| micros as f64 / 1_000.0;
        let tokens = trial.spend.of(Role::Agent).tokens;
        let blame = trial.failure.as_ref().map(|failure| failure.blame);
        Self {
            repeat: trial.repeat,
            seed: trial.seed,
            passed: Self::outcome(trial.verdict, blame, trial.past.failed),
            response_ms: trial.latencies.iter().map(|turn| millis(turn.response())).collect(),
            ttft_ms: trial.latencies.iter().filter_map(|turn| turn.ttft_micros).map(millis).collect(),
            unanswered: trial.unanswered,
            agent_tokens: tokens.input + tokens.output,
            cost_usd: (trial.spend.unpriced_calls() == 0).then(|| trial.spend.cost().dollars()),
            checks: BTreeMap::new(),
        }
    }

    /// What each name found in a trial: `false` if one of its checks failed, `None` if one was not judged, nothing if none applies.
    #[must_use]
    pub fn checks_of(findings: impl IntoIterator<Item = (String, Finding)>) -> BTreeMap<String, Option<bool>> {
        let mut checks: BTreeMap<String, Option<bool>> = BTreeMap::new();
        for (name, finding) in findings {
            let found = match finding {
                Finding::Pass => Some(true),
                Finding::Fail => Some(false),
                Finding::Inconclusive | Finding::Error => None,
                Finding::NotApplicable => continue,
            };
            let known = checks.entry(name).or_insert(found);
            *known = match (*known, found) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (None, _) | (_, None) => None,
                (Some(true), Some(true)) => Some(true),
            };
        }
        checks
    }

    /// Whether a trial passed. A failure that was played again on request stays one.
    #[must_use]
    pub fn outcome(verdict: Verdict, blame: Option<Blame>, past_failures: u32) -> Option<bool> {
        match verdict {
            _ if past_failures > 0 => Some(false),
            Verdict::Pass => Some(true),
            Verdict::Fail => Some(false),
            Verdict::Error if blame == Some(Blame::Agent) => Some(false),
            Verdict::Error | Verdict::Inconclusive | Verdict::Skipped | Verdict::Cancelled => None,
        }
    }
}

impl Played {
    /// The run's cases, without their trials yet.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let run = &summary.run;
        let mut models: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for spent in &summary.summary.models {
            models.entry(spent.role.name().to_owned()).or_default().insert(spent.model.clone());
        }
        let mut played = Self {
            run: RunName {
                id: run.id.to_string(),
                called: run.id.to_string(),
                name: run.name.clone(),
                started_at: run.started_at.clone(),
                seed: run.seed,
                gabfest_version: run.gabfest_version.clone(),
            },
            cells: Vec::with_capacity(summary.cases.len()),
            contents: run.contents.clone(),
            models,
            agents: summary.cases.iter().map(|case| case.agent.clone()).collect(),
            by_case: BTreeMap::new(),
        };
        for case in &summary.cases {
            let scenario = scenario_key(&case.source, &case.scenario);
            let content = run.contents.as_ref().and_then(|contents| contents.scenarios.get(&scenario));
            let mut parameters: Vec<(String, String)> =
                case.parameters.iter().map(|(path, value)| (path.clone(), value.to_string())).collect();
            parameters.sort();
            played.by_case.insert(case.id.to_string(), played.cells.len());
            played.cells.push(PlayedCell {
                cell: CellName { scenario, parameters, persona: case.persona.clone() },
                agent: case.agent.clone(),
                title: if case.title.is_empty() { case.scenario.clone() } else { case.title.clone() },
                variant: case.variant.clone().or_else(|| case.combination.clone()),
                tags: content.map(|content| content.tags.clone()).unwrap_or_default(),
                planned: case.trials,
                quarantined: case.quarantine.is_some(),
                trials: Vec::new(),
            });
        }
        played
    }

    /// Adds a trial to its case. A trial of a case that the summary does not have is left out.
    pub fn add(&mut self, case_id: &str, trial: PlayedTrial) {
        if let Some(cell) = self.by_case.get(case_id).and_then(|index| self.cells.get_mut(*index)) {
            cell.trials.push(trial);
        }
    }
}

impl PlayedCell {
    /// Passed, and with a result.
    pub(super) fn counts(&self) -> (u64, u64) {
        let pass = self.trials.iter().filter(|trial| trial.passed == Some(true)).count() as u64;
        (pass, self.trials.iter().filter(|trial| trial.passed.is_some()).count() as u64)
    }
}

#[cfg(test)]
impl Played {
    pub(super) fn empty(id: &str, seed: u64) -> Self {
        Self {
            run: RunName {
                id: id.to_owned(),
                called: id.to_owned(),
                name: "nightly".to_owned(),
                started_at: "2026-03-14T02:00:00Z".to_owned(),
                seed,
                gabfest_version: "0.2.0".to_owned(),
            },
            cells: Vec::new(),
            contents: None,
            models: BTreeMap::new(),
            agents: BTreeSet::new(),
            by_case: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fails_if_one_of_its_checks_does() {
        use Finding::{Error, Fail, Inconclusive, NotApplicable, Pass};
        for (findings, found) in [
            (&[Pass, Pass][..], Some(Some(true))),
            (&[Pass, Fail, Error], Some(Some(false))),
            (&[Pass, Inconclusive], Some(None)),
            (&[Error, Pass], Some(None)),
            (&[NotApplicable, Pass], Some(Some(true))),
            (&[NotApplicable], None),
        ] {
            let checks = PlayedTrial::checks_of(findings.iter().map(|finding| ("polite".to_owned(), *finding)));
            assert_eq!(checks.get("polite").copied(), found, "{findings:?}");
        }
    }

    #[test]
    fn only_what_the_agent_did_has_an_outcome() {
        for (verdict, blame, past_failures, passed) in [
            (Verdict::Pass, None, 0, Some(true)),
            (Verdict::Pass, None, 1, Some(false)),
            (Verdict::Fail, Some(Blame::Agent), 0, Some(false)),
            (Verdict::Error, Some(Blame::Agent), 0, Some(false)),
            (Verdict::Error, Some(Blame::Judge), 0, None),
            (Verdict::Inconclusive, Some(Blame::UserSim), 0, None),
            (Verdict::Skipped, None, 0, None),
            (Verdict::Cancelled, None, 0, None),
        ] {
            assert_eq!(PlayedTrial::outcome(verdict, blame, past_failures), passed, "{verdict:?} {blame:?}");
        }
    }
}
