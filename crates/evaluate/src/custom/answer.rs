//! The answer of a custom check, and its meaning. An answer that is not exactly in this form decides nothing.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
};

/// How many findings are shown.
const MOST_FINDINGS: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    decision: Decision,
    score: Option<f64>,
    reason: String,
    evidence: Option<String>,
    findings: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Pass,
    Fail,
    Undecided,
    NotApplicable,
}

/// The answer as JSON. Unknown keys are allowed, because the form only grows.
#[derive(Debug, Deserialize)]
struct Written {
    /// `Some(None)`: `pass` is `null`.
    #[serde(default, deserialize_with = "present")]
    pass: Option<Option<bool>>,
    score: Option<f64>,
    reason: Option<String>,
    #[serde(default)]
    not_applicable: bool,
    evidence: Option<String>,
    #[serde(default)]
    findings: Vec<Part>,
}

/// One of several things that the check looked at.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Part {
    id: String,
    pass: Option<bool>,
    score: Option<f64>,
    reason: Option<String>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<bool>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Only objects: a struct would also be read from a list of its values, and `[true]` would pass.
fn read_object(text: &str) -> Result<Written, String> {
    let written: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if !written.is_object() {
        return Err(format!("expected an object, found {}", excerpt(text.trim(), SHORT_BYTES)));
    }
    let findings = written.get("findings").and_then(Value::as_array);
    if let Some(other) = findings.into_iter().flatten().find(|finding| !finding.is_object()) {
        return Err(format!("expected an object in `findings`, found {}", excerpt(&other.to_string(), SHORT_BYTES)));
    }
    serde_json::from_value(written).map_err(|error| error.to_string())
}

impl Answer {
    /// # Errors
    /// Says what is missing or wrong.
    pub(super) fn read(text: &str, threshold: Option<f64>) -> Result<Self, String> {
        let written = read_object(text)?;
        let scores = written.findings.iter().filter_map(|part| part.score).chain(written.score);
        if let Some(score) = scores.into_iter().find(|score| !(0.0..=1.0).contains(score)) {
            return Err(format!("the score {score} is not from 0 to 1"));
        }
        let reaches = threshold.zip(written.score).map(|(least, score)| score >= least);
        let decision = match (written.pass, reaches) {
            (Some(Some(pass)), _) if written.not_applicable => {
                return Err(format!("`not_applicable` is true, and `pass` is {pass}"));
            }
            _ if written.not_applicable => Decision::NotApplicable,
            (Some(None), _) => Decision::Undecided,
            // It would be unclear which of the two counts.
            (Some(Some(pass)), Some(reaches)) if pass != reaches => {
                let score = written.score.unwrap_or_default();
                let least = threshold.unwrap_or_default();
                return Err(format!("`pass` is {pass}, and the score is {score} where {least} is required"));
            }
            (Some(Some(pass)), _) | (None, Some(pass)) => {
                if pass {
                    Decision::Pass
                } else {
                    Decision::Fail
                }
            }
            (None, None) if written.score.is_some() => {
                return Err("there is a score and no `pass`, and the scenario has no `threshold`".to_owned());
            }
            (None, None) => return Err("there is neither `pass` nor a score".to_owned()),
        };
        Ok(Self {
            decision,
            score: written.score,
            reason: written.reason.unwrap_or_default(),
            evidence: written.evidence,
            findings: written.findings,
        })
    }

    /// Reasons can be worded in another way.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let score = |answer: &Self| answer.score.map(f64::to_bits);
        self.decision == other.decision && score(self) == score(other)
    }

    pub(super) fn in_words(&self) -> String {
        let decision = match self.decision {
            Decision::Pass => "pass",
            Decision::Fail => "fail",
            Decision::Undecided => "undecided",
            Decision::NotApplicable => "not applicable",
        };
        self.score.map_or_else(|| decision.to_owned(), |score| format!("{decision} with the score {score}"))
    }

    pub(super) fn into_outcome(self, check: &str) -> Outcome {
        let reason = if self.reason.trim().is_empty() { self.in_words() } else { self.reason.clone() };
        let reason = format!("{check}: {reason}");
        let outcome = match self.decision {
            Decision::Pass => Outcome::pass(reason),
            Decision::Fail => Outcome::fail(reason),
            Decision::Undecided => Outcome::undecided(reason),
            Decision::NotApplicable => Outcome::not_applicable(reason),
        };
        let outcome = self.score.map_or(outcome.clone(), |score| outcome.with_score(score));
        match self.shown() {
            Some(evidence) => outcome.with_evidence(&evidence),
            None => outcome,
        }
    }

    /// The findings, a line for each, and the evidence.
    fn shown(&self) -> Option<String> {
        let mut lines: Vec<String> = self.findings.iter().take(MOST_FINDINGS).map(Part::line).collect();
        let more = self.findings.len().saturating_sub(MOST_FINDINGS);
        if more > 0 {
            lines.push(format!("and {more} more findings"));
        }
        lines.extend(self.evidence.clone());
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Part {
    fn line(&self) -> String {
        let found = match self.pass {
            Some(true) => "pass",
            Some(false) => "fail",
            None => "undecided",
        };
        let mut line = format!("{}: {found}", excerpt(&self.id, SHORT_BYTES));
        if let Some(score) = self.score {
            line.push_str(&format!(" ({score})"));
        }
        if let Some(reason) = self.reason.as_deref().filter(|reason| !reason.is_empty()) {
            line.push_str(&format!(", {}", excerpt(reason, SHORT_BYTES)));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use record::{FailureKind, Finding};

    use super::Answer;

    #[test]
    fn the_meaning_of_answers() {
        let rows = [
            (r#"{"pass":true,"reason":"fits"}"#, None, Finding::Pass, "sum: fits"),
            (r#"{"pass":false}"#, None, Finding::Fail, "sum: fail"),
            (r#"{"pass":true,"score":0.9}"#, Some(0.8), Finding::Pass, "sum: pass with the score 0.9"),
            (r#"{"score":0.8}"#, Some(0.8), Finding::Pass, "sum: pass with the score 0.8"),
            (r#"{"score":0.79,"reason":"low"}"#, Some(0.8), Finding::Fail, "sum: low"),
            (r#"{"pass":null,"reason":"no order"}"#, None, Finding::Inconclusive, "sum: no order"),
            (r#"{"pass":null,"score":1}"#, Some(0.8), Finding::Inconclusive, "sum: undecided with the score 1"),
            (r#"{"not_applicable":true,"pass":null}"#, None, Finding::NotApplicable, "sum: not applicable"),
            (r#"{"pass":true,"new_key":1}"#, None, Finding::Pass, "sum: pass"),
        ];
        for (text, threshold, finding, reason) in rows {
            let outcome = Answer::read(text, threshold).unwrap().into_outcome("sum");
            assert_eq!((outcome.finding, outcome.reason.as_str()), (finding, reason), "{text}");
        }
    }

    #[test]
    fn an_answer_that_leaves_the_verdict_open_is_malformed() {
        for (text, threshold, why) in [
            ("", None, "EOF"),
            ("yes", None, "expected value"),
            ("[]", None, "expected an object, found []"),
            (r#"[true,null,"fine",false,null,[]]"#, None, "expected an object, found [true"),
            (r#"[false,null,"bad",false,null,[]]"#, None, "expected an object, found [false"),
            (r#"{"pass":true,"findings":[["a",true,1,"r"]]}"#, None, "expected an object in `findings`"),
            ("true", None, "expected an object, found true"),
            ("{}", None, "neither `pass` nor a score"),
            (r#"{"reason":"fine"}"#, Some(0.5), "neither `pass` nor a score"),
            (r#"{"score":1}"#, None, "no `threshold`"),
            (r#"{"pass":"yes"}"#, None, "invalid type"),
            (r#"{"pass":true,"score":1.5}"#, None, "from 0 to 1"),
            (r#"{"pass":true,"findings":[{"id":"a","score":-1}]}"#, None, "from 0 to 1"),
            (r#"{"pass":true,"findings":[{"pass":true}]}"#, None, "missing field `id`"),
            (r#"{"pass":true,"score":0.1}"#, Some(0.8), "where 0.8 is required"),
            (r#"{"pass":false,"not_applicable":true}"#, None, "`not_applicable` is true, and `pass` is false"),
        ] {
            let found = Answer::read(text, threshold).unwrap_err();
            assert!(found.contains(why), "{text}: {found}");
        }
    }

    #[test]
    fn findings_and_evidence_are_kept() {
        let text = r#"{"pass":false,"reason":"one total is wrong","evidence":"invoice 3",
            "findings":[{"id":"net","pass":true,"score":1},{"id":"tax","pass":false,"reason":"7 instead of 8"},{"id":"x"}]}"#;
        let outcome = Answer::read(text, None).unwrap().into_outcome("totals");
        let evidence = "net: pass (1)\ntax: fail, 7 instead of 8\nx: undecided\ninvoice 3";
        assert_eq!((outcome.evidence.as_deref(), outcome.score), (Some(evidence), None));
        assert_eq!(outcome.failure, None::<FailureKind>);
    }
}
