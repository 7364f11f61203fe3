//! `semantic_condition` and `semantic_similar`: a judge reads the text alone and says yes or no.

use scenario::check;

use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{Answer, Material, Question, how_sure, yes_or_no},
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct SemanticCondition {
    question: String,
}

impl SemanticCondition {
    pub(crate) fn new(rule: &check::SemanticCondition) -> Result<Self, Error> {
        let condition = rule.condition.trim();
        if condition.is_empty() {
            return Err(Error::Empty { field: "condition" });
        }
        let question = format!(
            "Does `text` meet this condition, by its meaning and not by its exact words? The condition: {condition}"
        );
        Ok(Self { question })
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        match ask(&self.question, subject.said, subject, pool, false).await {
            Ok(answer) => {
                let verb = if answer.yes { "meets" } else { "does not meet" };
                decide(answer.yes, format!("the text {verb} the condition"), &answer)
            }
            Err(outcome) => outcome,
        }
    }
}

impl Behaviour for SemanticCondition {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

#[derive(Debug)]
pub(crate) struct SemanticSimilar {
    question: String,
    /// In lowercase. A text that equals one of them needs no judge.
    literal: Vec<String>,
    threshold: Option<f64>,
}

impl SemanticSimilar {
    pub(crate) fn new(rule: &check::SemanticSimilar) -> Result<Self, Error> {
        let expected = rule.expected.as_slice();
        if expected.is_empty() || expected.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::Empty { field: "expected" });
        }
        let literal = expected.iter().map(|text| text.trim().to_lowercase()).collect();
        let question = match expected {
            [one] => format!(
                "Does `text` have the same or a very similar meaning as the expected text below? Other words, another \
                 order and fillers do not count; another fact does. The expected text: {}",
                one.trim()
            ),
            several => {
                let mut question =
                    "Does `text` have the same or a very similar meaning as at least one of the expected \
                     texts below? Other words, another order and fillers do not count; another fact does."
                        .to_owned();
                for (index, text) in several.iter().enumerate() {
                    question.push_str(&format!("\nExpected text {}: {}", index + 1, text.trim()));
                }
                question
            }
        };
        Ok(Self { question, literal, threshold: rule.threshold.map(|threshold| threshold.0) })
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        if self.literal.contains(&subject.reply.trim().to_lowercase()) {
            return Outcome::pass("the text is the expected one, word for word").with_score(1.0);
        }
        match ask(&self.question, subject.reply, subject, pool, self.threshold.is_some()).await {
            Ok(answer) => {
                let holds = self.threshold.map_or(answer.yes, |threshold| answer.holds(threshold));
                let verb = if answer.yes { "means" } else { "does not mean" };
                let mut what = format!("the text {verb} the same as expected");
                if let Some(threshold) = self.threshold {
                    what.push_str(&format!(" (confidence {}, required {threshold})", answer.confidence));
                }
                decide(holds, what, &answer)
            }
            Err(outcome) => outcome,
        }
    }
}

impl Behaviour for SemanticSimilar {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

/// `by_threshold`: an unsure yes is below the threshold, not a contradiction.
async fn ask(
    question: &str,
    text: &str,
    subject: &Subject<'_>,
    pool: &dyn JudgePool,
    by_threshold: bool,
) -> Result<Answer, Outcome> {
    let material = Material::of_texts(&[("text", text)]);
    let question =
        Question { text: question, material: &material, model_type: None, temperature: None, scope: subject.scope };
    let answer = if by_threshold { how_sure(&question, pool).await } else { yes_or_no(&question, pool).await };
    answer.map_err(Outcome::from)
}

fn decide(holds: bool, what: String, answer: &Answer) -> Outcome {
    let mut reason = format!("the judge finds that {what}");
    if !answer.reasoning.is_empty() {
        reason.push_str(": ");
        reason.push_str(&excerpt(&answer.reasoning, 8 * SHORT_BYTES));
    }
    Outcome::decided(holds, reason).with_score(answer.confidence)
}
