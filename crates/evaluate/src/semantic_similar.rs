//! `semantic_similar`: a judge finds that the text means the same as an expected one.

use scenario::check;

use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    judge_pool::JudgePool,
    outcome::Outcome,
    semantic::{ask, decide},
    subject::Subject,
};

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
            Ok((yes, answer)) => {
                let holds = self.threshold.map_or(yes, |threshold| answer.holds(threshold));
                let verb = if yes { "means" } else { "does not mean" };
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
