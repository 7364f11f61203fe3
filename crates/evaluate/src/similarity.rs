//! `similarity`: the scorer finds the text and an expected one similar in meaning.

use scenario::check;

use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::{JudgePool, objection_to_scores},
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct Similarity {
    expected: Vec<String>,
    threshold: f64,
}

impl Similarity {
    pub(crate) fn new(rule: &check::Similarity) -> Result<Self, Error> {
        let (expected, threshold) = (&rule.expected, rule.threshold.0);
        if expected.is_empty() || expected.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::Empty { field: "expected" });
        }
        if !(-1.0..=1.0).contains(&threshold) {
            let message = "it lies between -1 and 1".to_owned();
            return Err(Error::Invalid { field: "threshold", message });
        }
        Ok(Self { expected: expected.clone(), threshold })
    }

    /// The most similar one decides.
    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let scorer = pool.scorer(subject.scope);
        let (mut best, mut nearest, mut model) = (f64::NEG_INFINITY, "", String::new());
        let mut ballots = Vec::new();
        for expected in &self.expected {
            match scorer.similarity(subject.reply, expected).await {
                Ok(score) => {
                    ballots.extend(score.ballot);
                    if score.value > best {
                        (best, nearest, model) = (score.value, expected, score.model);
                    }
                }
                Err(error) => return Outcome::from(error).after(ballots),
            }
            if best >= self.threshold {
                break;
            }
        }
        let shown = excerpt(nearest, SHORT_BYTES);
        let reason = format!("{best:.3} like {shown:?} by {model}, required {}", self.threshold);
        let uncalibrated = objection_to_scores(pool, &ballots);
        Outcome { uncalibrated, ..Outcome::decided(best >= self.threshold, reason).with_score(best) }
            .with_ballots(ballots)
    }
}

impl Behaviour for Similarity {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}
