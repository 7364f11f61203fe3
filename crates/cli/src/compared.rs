//! Reads a run for a comparison, from the `report.json` and the `trials.jsonl` of its folder.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use record::{Blame, Finding, Summary, Tokens, Verdict};
use serde::{Deserialize, de::IgnoredAny};
use statistics::compare::played::{Played, PlayedTrial};

use crate::{
    exit::usage,
    report_files,
    run_folder::{RUNS, RunFolder},
};

/// What a comparison needs of a line of `trials.jsonl`. Lines of earlier versions have no times.
///
/// `Checks`: nights do not compare checks, so [`IgnoredAny`] saves them the reading of judgments.
#[derive(Debug, Deserialize)]
pub(crate) struct Line<Checks = Vec<NamedFinding>> {
    pub(crate) case_id: String,
    repeat: u32,
    seed: u64,
    verdict: Verdict,
    blame: Option<Blame>,
    #[serde(default)]
    past_failures: u32,
    #[serde(default)]
    response_micros: Vec<u64>,
    #[serde(default)]
    ttft_micros: Vec<u64>,
    #[serde(default)]
    unanswered: u32,
    #[serde(default)]
    tokens: TokensLine,
    cost_usd: f64,
    #[serde(default)]
    unpriced_calls: u64,
    #[serde(default)]
    user: Option<UserLine>,
    #[serde(default)]
    judgments: Checks,
}

/// Of the tokens of all roles, those of the agent.
#[derive(Debug, Default, Deserialize)]
struct TokensLine {
    #[serde(default)]
    agent: Tokens,
}

#[derive(Debug, Deserialize)]
struct UserLine {
    #[serde(default)]
    verdict_despite_fault: Option<IgnoredAny>,
}

impl<Checks> Line<Checks> {
    /// Whether its report may show it as a failure.
    pub(crate) fn may_be_failure(&self) -> bool {
        !matches!(self.verdict, Verdict::Pass | Verdict::Cancelled)
    }

    /// The trial without its checks, and the checks.
    fn split(self) -> (PlayedTrial, Checks) {
        let millis = |micros: Vec<u64>| micros.into_iter().map(|micros| micros as f64 / 1_000.0).collect();
        let Tokens { input, output, .. } = self.tokens.agent;
        let trial = PlayedTrial {
            repeat: self.repeat,
            seed: self.seed,
            passed: PlayedTrial::outcome(self.verdict, self.blame, self.past_failures),
            response_ms: millis(self.response_micros),
            ttft_ms: millis(self.ttft_micros),
            unanswered: self.unanswered,
            agent_tokens: input + output,
            cost_usd: (self.unpriced_calls == 0).then_some(self.cost_usd),
            ..PlayedTrial::default()
        };
        (trial, self.judgments)
    }

    /// Whether the agent got a critical fault of the simulated user.
    pub(crate) fn has_faulty_user(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.verdict_despite_fault.is_some())
    }
}

/// Of a judgment, what a comparison shows of checks with a name.
#[derive(Debug, Deserialize)]
pub(crate) struct NamedFinding {
    name: Option<String>,
    finding: Finding,
}

/// A run by its folder, or by its id in the default folder.
pub(crate) fn read(run: &str) -> anyhow::Result<Played> {
    of_folder(&folder(run)?)
}

/// The folder of a run's report.
pub(crate) fn folder(run: &str) -> anyhow::Result<PathBuf> {
    RunFolder::with_report(run).ok_or_else(|| {
        let hint = match RunFolder::find(run) {
            Ok(folder) => format!("its report was not written: `gabfest report {}` writes it", folder.path.display()),
            Err(_) => format!("name a run's folder, or an id below {RUNS}/"),
        };
        usage(anyhow!("there is no report of the run {run:?}\nhint: {hint}"))
    })
}

pub(crate) fn of_folder(folder: &Path) -> anyhow::Result<Played> {
    with_trials(folder, &report_files::summary(folder)?)
}

/// A run with the trials of its folder.
pub(crate) fn with_trials(folder: &Path, summary: &Summary) -> anyhow::Result<Played> {
    let mut played = Played::of(summary);
    played.run.called = folder.display().to_string();
    for line in report_files::lines::<Line>(folder, "trials.jsonl")? {
        let line = line?;
        let case = line.case_id.clone();
        played.add(&case, line.into());
    }
    Ok(played)
}

impl From<Line> for PlayedTrial {
    fn from(line: Line) -> Self {
        let (trial, judgments) = line.split();
        Self {
            checks: Self::checks_of(judgments.into_iter().filter_map(|one| Some((one.name?, one.finding)))),
            ..trial
        }
    }
}

impl From<Line<IgnoredAny>> for PlayedTrial {
    /// Without its checks.
    fn from(line: Line<IgnoredAny>) -> Self {
        line.split().0
    }
}

/// `3pp`: a number of percentage points, as a share.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    let points = text.strip_suffix("pp").and_then(|points| points.trim().parse::<f64>().ok());
    let points = points.filter(|points| (0.0..=100.0).contains(points));
    points
        .map(|points| points / 100.0)
        .ok_or_else(|| "a margin is in percentage points from 0pp to 100pp, such as 3pp".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_in_percentage_points() {
        assert_eq!((margin("3pp"), margin("0.5 pp"), margin("0pp")), (Ok(0.03), Ok(0.005), Ok(0.0)));
        for wrong in ["3", "3%", "-1pp", "101pp", "nanpp", "pp", ""] {
            assert_eq!(
                margin(wrong),
                Err("a margin is in percentage points from 0pp to 100pp, such as 3pp".to_owned()),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_trial_and_its_line_are_compared_alike() {
        use record::{Failure, FailureKind, Trial, call::Spend, trial::TurnLatency};
        let planned = scenario::Trial {
            number: 3,
            id: scenario::TrialId::new("t"),
            case: 1,
            case_id: scenario::CaseId::new("c"),
            repeat: 2,
            seed: 7,
        };
        let failure = Failure::new(FailureKind::AgentTimeout, "late");
        let mut trial = Trial::unplayed(&planned, 1, Verdict::Error, failure);
        let turn = |response_micros, ttft_micros| TurnLatency {
            total_micros: 1_234_567,
            response_micros,
            ttft_micros,
            ..TurnLatency::default()
        };
        trial.latencies = vec![turn(Some(2_000_001), Some(3)), turn(None, None)];
        trial.unanswered = 4;
        for unpriced_calls in [0, 2] {
            let mut spend = Spend::default();
            spend.add_line(
                record::Role::Agent,
                "m",
                record::call::SpendLine {
                    calls: 3,
                    tokens: Tokens { input: 20, output: 5, ..Tokens::default() },
                    cost: record::Usd(123_456_789),
                    unpriced_calls,
                    ..Default::default()
                },
            );
            trial.spend = spend;
            let line = report::trials_jsonl::line(&trial);
            let read: Line<IgnoredAny> = serde_json::from_str(&line).unwrap();
            assert_eq!(PlayedTrial::from(read), PlayedTrial::of(&trial));
        }
    }

    #[test]
    fn lines_of_earlier_versions_are_read_and_unpriced_trials_have_no_cost() {
        let line = r#"{"case_id":"c","repeat":1,"seed":7,"verdict":"ERROR","blame":"agent","cost_usd":0.5,"unpriced_calls":2,"judgments":[]}"#;
        let trial = PlayedTrial::from(serde_json::from_str::<Line>(line).unwrap());
        let expected = PlayedTrial { repeat: 1, seed: 7, passed: Some(false), ..PlayedTrial::default() };
        assert_eq!(trial, expected);
        let line = r#"{"case_id":"c","repeat":0,"seed":8,"verdict":"PASS","blame":null,"past_failures":0,"response_micros":[1500,2000],"ttft_micros":[250],"unanswered":1,"tokens":{"agent":{"input":20,"output":5},"judge":{"input":9,"output":9}},"cost_usd":0.25,"unpriced_calls":0,"judgments":[{"check":"regex","name":"polite","finding":"fail"},{"check":"length","finding":"pass"}]}"#;
        let trial = PlayedTrial::from(serde_json::from_str::<Line>(line).unwrap());
        assert_eq!((trial.response_ms, trial.ttft_ms, trial.unanswered), (vec![1.5, 2.0], vec![0.25], 1));
        assert_eq!((trial.passed, trial.agent_tokens, trial.cost_usd), (Some(true), 25, Some(0.25)));
        assert_eq!(trial.checks, [("polite".to_owned(), Some(false))].into());
    }
}
