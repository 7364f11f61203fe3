//! `rubric`: judges give a verdict for each of a list of criteria; the weighted mean of what they are worth must reach a
//! threshold.

mod mark;

use scenario::check::{Criterion, Judging, RubricRule};
use serde_json::Value;

use self::mark::{Mark, Worth};
use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{self, Ballot, Fault, Form, Material, Question, Scale, Votes, form_of_ballot, form_of_many},
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct Rubric {
    criteria: Vec<Criterion>,
    threshold: f64,
    model_type: Option<String>,
    asking: Asking,
}

#[derive(Debug)]
enum Asking {
    /// A question and a form for each criterion.
    OneByOne(Vec<(String, Form)>),
    /// All criteria on one sheet.
    Together(String, Form),
}

impl Rubric {
    pub(crate) fn new(rule: &RubricRule, judging: &Judging) -> Result<Self, Error> {
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
        if !(1..=100).contains(&judging.ballots()) {
            return Err(invalid("votes", "votes times judges lie between 1 and 100"));
        }
        let asking = if rule.batch {
            Asking::Together(question_of_all(&rule.criteria), form_of_many(rule.criteria.len(), judging)?)
        } else {
            let each = |criterion: &Criterion| {
                Ok((question_of(&text_of(criterion)), form_of_ballot(mark::scale(criterion), judging)?))
            };
            Asking::OneByOne(rule.criteria.iter().map(each).collect::<Result<_, Error>>()?)
        };
        let (criteria, model_type) = (rule.criteria.clone(), rule.model_type.clone());
        Ok(Self { criteria, threshold: rule.threshold, model_type, asking })
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let material = Material::of(subject);
        match self.marks(subject, &material, pool).await {
            Ok(marks) => self.count(&marks),
            Err(error) => error.into(),
        }
    }

    /// One mark for each criterion, in order.
    async fn marks(
        &self,
        subject: &Subject<'_>,
        material: &Material,
        pool: &dyn JudgePool,
    ) -> Result<Vec<Mark>, question::Error> {
        let judging = subject.judging;
        let model_type = self.model_type.as_deref();
        match &self.asking {
            Asking::OneByOne(questions) => {
                let mut marks = Vec::with_capacity(questions.len());
                for (criterion, (text, form)) in self.criteria.iter().zip(questions) {
                    let question = Question { model_type, ..Question::about(subject, text, material) };
                    let scale = mark::scale(criterion);
                    let read = |text: &str| Ballot::read(&form.read(text)?, scale, judging, material);
                    let votes = question::ask(&question, form, pool, read).await?;
                    marks.push(Mark::of(criterion, &votes));
                }
                Ok(marks)
            }
            Asking::Together(text, form) => {
                let question = Question { model_type, ..Question::about(subject, text, material) };
                let read = |text: &str| read_all(form, text, self.criteria.len(), judging, material);
                let sheets = question::ask(&question, form, pool, read).await?;
                let marks = self.criteria.iter().enumerate();
                Ok(marks.map(|(index, criterion)| Mark::of(criterion, &column(&sheets, index))).collect())
            }
        }
    }

    fn count(&self, marks: &[Mark]) -> Outcome {
        let (mut sum, mut open, mut weights) = (0.0, 0.0, 0.0);
        let (mut evidence, mut short) = (String::new(), Vec::new());
        let (mut blocked, mut may_block) = (None, false);
        for (criterion, mark) in self.criteria.iter().zip(marks) {
            let name = excerpt(&criterion.name, SHORT_BYTES);
            evidence.push_str(&format!("{}: {name} [{}] {}\n", mark.name, mark.counted, mark.reason));
            match mark.worth {
                Worth::Nothing => continue,
                Worth::Share(share) => {
                    sum += criterion.weight * share;
                    if criterion.blocking && share < self.threshold {
                        blocked.get_or_insert(name.clone());
                    }
                    if share < 1.0 {
                        short.push(format!("{name:?} is {}", mark.name));
                    }
                }
                Worth::Unknown => {
                    open += criterion.weight;
                    may_block |= criterion.blocking;
                    short.push(format!("{name:?}: {}", mark.name));
                }
            }
            weights += criterion.weight;
        }
        let ballots = marks.iter().flat_map(|mark| mark.ballots.clone()).collect();
        let outcome = |outcome: Outcome| outcome.with_evidence(evidence.trim_end()).with_ballots(ballots);
        if weights <= 0.0 {
            return outcome(Outcome::not_applicable("no criterion of the rubric applies to this conversation"));
        }
        let (low, high) = (sum / weights, (sum + open) / weights);
        // A sum of shares can miss a threshold such as 0.7 by a rounding error.
        let reaches = |score: f64| score >= self.threshold - 1e-9;
        let score = if open > 0.0 {
            format!("{:.1}% to {:.1}%", low * 100.0, high * 100.0)
        } else {
            format!("{:.1}%", low * 100.0)
        };
        let mut reason = format!("rubric {score}, required {:.1}%", self.threshold * 100.0);
        let (heard, asked) = marks.first().map_or((1, 1), |mark| (mark.heard, mark.asked));
        if asked > 1 {
            reason.push_str(&format!(", by {heard} of {asked} votes"));
        }
        if let Some(name) = &blocked {
            reason.push_str(&format!(", blocked by {name:?}"));
        }
        if !short.is_empty() {
            reason.push_str(&format!(": {}", excerpt(&short.join(", "), 8 * SHORT_BYTES)));
        }
        if blocked.is_some() || !reaches(high) {
            outcome(Outcome::fail(reason).with_score(low))
        } else if reaches(low) && !may_block {
            outcome(Outcome::pass(reason).with_score(low))
        } else {
            outcome(Outcome::undecided(reason))
        }
    }
}

impl Behaviour for Rubric {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

fn text_of(criterion: &Criterion) -> String {
    let (name, meaning) = (criterion.name.trim(), criterion.text.trim());
    if meaning.is_empty() { name.to_owned() } else { format!("{name}: {meaning}") }
}

pub(crate) fn question_of(criterion: &str) -> String {
    format!("Does the conversation meet this criterion? {}", criterion.trim())
}

fn question_of_all(criteria: &[Criterion]) -> String {
    let mut text = "Does the conversation meet each of these criteria? Judge each by itself.".to_owned();
    for (index, Criterion { name, text: meaning, .. }) in criteria.iter().enumerate() {
        text.push_str(&format!("\n{}. {}", index + 1, name.trim()));
        if !meaning.trim().is_empty() {
            text.push_str(&format!(": {}", meaning.trim()));
        }
    }
    text
}

/// One ballot for each criterion.
fn read_all(
    form: &Form,
    text: &str,
    count: usize,
    judging: &Judging,
    material: &Material,
) -> Result<Vec<Ballot>, Fault> {
    let fields = form.read(text)?;
    let entries = fields.get("criteria").and_then(Value::as_array).filter(|entries| entries.len() == count);
    let entries = entries.ok_or_else(|| format!("`criteria` does not judge each of the {count} listed"))?;
    let one = |entry: &Value| match entry.as_object() {
        Some(fields) => Ballot::read(fields, Scale::Marks, judging, material),
        None => Err(Fault::Form("an entry of `criteria` is not an object".to_owned())),
    };
    entries.iter().map(one).collect()
}

/// The votes on one criterion.
fn column(sheets: &Votes<Vec<Ballot>>, index: usize) -> Votes<Ballot> {
    let heard = sheets.heard.iter().map(|sheet| question::Heard {
        answer: sheet.answer[index].clone(),
        model: sheet.model.clone(),
        digests: sheet.digests.clone(),
        shortened_turns: sheet.shortened_turns,
    });
    Votes { heard: heard.collect(), asked: sheets.asked }
}
