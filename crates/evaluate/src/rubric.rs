//! `rubric`: judges mark a list of criteria; the weighted mean of the median marks must reach a threshold.

mod ballot;

use scenario::check::{Criterion, RubricRule};

use self::ballot::{Ballot, Mark};
use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{self, Form, Material, Question},
    subject::Subject,
};

/// Each ballot is one question to a model.
const MOST_BALLOTS: u64 = 100;

#[derive(Debug)]
pub(crate) struct Rubric {
    text: String,
    criteria: Vec<Criterion>,
    threshold: f64,
    /// The model type of each vote.
    voters: Vec<Option<String>>,
    form: Form,
}

impl Rubric {
    pub(crate) fn new(rule: &RubricRule) -> Result<Self, Error> {
        let invalid = |field, message: &str| Error::Invalid { field, message: message.to_owned() };
        if rule.criteria.is_empty() || rule.criteria.iter().any(|criterion| criterion.name.trim().is_empty()) {
            return Err(Error::Empty { field: "criteria" });
        }
        let weighs = |criterion: &Criterion| criterion.weight.is_finite() && criterion.weight >= 0.0;
        if !rule.criteria.iter().all(weighs) || rule.criteria.iter().all(|criterion| criterion.weight == 0.0) {
            return Err(invalid("weight", "the weights are at least 0 and not all of them are 0"));
        }
        if !(0.0..=1.0).contains(&rule.threshold) {
            return Err(invalid("threshold", "it lies between 0 and 1"));
        }
        if !(1..=MOST_BALLOTS).contains(&rule.ballots()) {
            return Err(invalid("votes", "votes times judges lie between 1 and 100"));
        }
        let judges: Vec<Option<String>> = if rule.panel.is_empty() {
            vec![rule.model_type.clone()]
        } else {
            rule.panel.iter().cloned().map(Some).collect()
        };
        let voters = judges.iter().flat_map(|judge| (0..rule.votes).map(|_| judge.clone())).collect();
        Ok(Self {
            text: ballot::question(&rule.criteria),
            criteria: rule.criteria.clone(),
            threshold: rule.threshold,
            voters,
            form: ballot::form(rule.criteria.len())?,
        })
    }

    /// A ballot is lost if its judge fails or cannot be understood. More than half of the ballots must arrive.
    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let material = Material::of(subject);
        let (mut ballots, mut lost) = (Vec::with_capacity(self.voters.len()), None);
        for voter in &self.voters {
            let question = Question {
                text: &self.text,
                material: &material,
                model_type: voter.as_deref(),
                temperature: None,
                scope: subject.scope,
            };
            let read = |text: &str| Ballot::read(&self.form.read(text)?, self.criteria.len());
            match question::ask(&question, &self.form, pool, read).await {
                Ok(ballot) => ballots.push(ballot),
                Err(error) => {
                    lost.get_or_insert(error);
                }
            }
        }
        match lost {
            Some(error) if ballots.len() * 2 <= self.voters.len() => error.into(),
            _ => self.count(&ballots),
        }
    }

    fn count(&self, ballots: &[Ballot]) -> Outcome {
        let (mut sum, mut weights, mut evidence, mut short) = (0.0, 0.0, String::new(), Vec::new());
        for (index, criterion) in self.criteria.iter().enumerate() {
            let mut votes: Vec<Mark> = ballots.iter().map(|ballot| ballot.marks[index].0).collect();
            votes.sort_unstable();
            // The median: the mark of a majority, and of an even split the lower one.
            let mark = votes[(votes.len() - 1) / 2];
            sum += criterion.weight * mark.worth();
            weights += criterion.weight;
            let name = excerpt(&criterion.name, SHORT_BYTES);
            if mark != Mark::Met {
                short.push(format!("{name:?} is {}", mark.name()));
            }
            let reasoning = ballots.iter().find(|ballot| ballot.marks[index].0 == mark);
            let reasoning = reasoning.map_or("", |ballot| ballot.marks[index].1.as_str());
            let counted = ballot::counted(&votes);
            evidence.push_str(&format!(
                "{}: {name} [{counted}] {}\n",
                mark.name(),
                excerpt(reasoning, 4 * SHORT_BYTES)
            ));
        }
        let score = sum / weights;
        let mut reason = format!("rubric {:.1}%, required {:.1}%", score * 100.0, self.threshold * 100.0);
        if self.voters.len() > 1 {
            reason.push_str(&format!(", by {} of {} votes", ballots.len(), self.voters.len()));
        }
        if !short.is_empty() {
            reason.push_str(&format!(": {}", excerpt(&short.join(", "), 8 * SHORT_BYTES)));
        }
        // A sum of shares can miss a threshold such as 0.7 by a rounding error.
        Outcome::decided(score >= self.threshold - 1e-9, reason).with_score(score).with_evidence(evidence.trim_end())
    }
}

impl Behaviour for Rubric {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}
