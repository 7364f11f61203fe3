//! `rubric`: judges give a verdict for each of a list of criteria; the weighted mean of their values must reach a
//! threshold.

mod mark;

use record::Finding;
use scenario::check::{Criterion, Judging, RubricRule};

use self::mark::{Mark, Worth};
use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{self, Ballot, Form, Material, Question, Scale, Votes, form_of_ballot, form_of_many, read_entries},
    share::Share,
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
        let mut marks = Vec::with_capacity(self.criteria.len());
        match self.mark(subject, &material, pool, &mut marks).await {
            Ok(()) => self.count(&marks),
            Err(error) => {
                let earlier = marks.into_iter().flat_map(|mark| mark.ballots).collect();
                Outcome::from(error).after(earlier)
            }
        }
    }

    /// Adds one mark for each criterion, in order. If a judge fails, those before it stay.
    async fn mark(
        &self,
        subject: &Subject<'_>,
        material: &Material,
        pool: &dyn JudgePool,
        marks: &mut Vec<Mark>,
    ) -> Result<(), question::Error> {
        let judging = subject.judging;
        let model_type = self.model_type.as_deref();
        match &self.asking {
            Asking::OneByOne(questions) => {
                for (criterion, (text, form)) in self.criteria.iter().zip(questions) {
                    let question = Question { model_type, ..Question::about(subject, text, material) };
                    let scale = mark::scale(criterion);
                    let read = |text: &str| Ballot::read(&form.read(text)?, scale, judging, material);
                    let votes = question::ask(&question, form, pool, read).await;
                    let votes = votes.map_err(|few| few.recorded(|votes| Mark::of(criterion, votes).ballots))?;
                    marks.push(Mark::of(criterion, &votes));
                }
            }
            Asking::Together(text, form) => {
                let question = Question { model_type, ..Question::about(subject, text, material) };
                let count = self.criteria.len();
                let read =
                    |text: &str| read_entries(&form.read(text)?, "criteria", count, Scale::Marks, judging, material);
                let marks_of = |sheets: &Votes<Vec<Ballot>>| {
                    let criteria = self.criteria.iter().enumerate();
                    criteria.map(|(index, criterion)| Mark::of(criterion, &column(sheets, index))).collect::<Vec<_>>()
                };
                let sheets = question::ask(&question, form, pool, read).await;
                let ballots = |sheets: &_| marks_of(sheets).into_iter().flat_map(|mark| mark.ballots).collect();
                marks.extend(marks_of(&sheets.map_err(|few| few.recorded(ballots))?));
            }
        }
        Ok(())
    }

    fn count(&self, marks: &[Mark]) -> Outcome {
        let mut score = Share::default();
        let (mut evidence, mut short) = (String::new(), Vec::new());
        let (mut blocked, mut may_block) = (None, false);
        for (criterion, mark) in self.criteria.iter().zip(marks) {
            let name = excerpt(&criterion.name, SHORT_BYTES);
            evidence.push_str(&format!("{}: {name} [{}] {}\n", mark.name, mark.counted, mark.reason));
            match mark.worth {
                Worth::Nothing => {}
                Worth::Share(share) => {
                    score.add(criterion.weight, (share, share));
                    if criterion.blocking && share < self.threshold {
                        blocked.get_or_insert(name.clone());
                    }
                    if share < 1.0 {
                        short.push(format!("{name:?} is {}", mark.name));
                    }
                }
                Worth::Unknown => {
                    score.add(criterion.weight, (0.0, 1.0));
                    may_block |= criterion.blocking;
                    short.push(format!("{name:?}: {}", mark.name));
                }
            }
        }
        let ballots = marks.iter().flat_map(|mark| mark.ballots.clone()).collect();
        let outcome = |outcome: Outcome| outcome.with_evidence(evidence.trim_end()).with_ballots(ballots);
        let Some((low, _)) = score.bounds() else {
            return outcome(Outcome::not_applicable("no criterion of the rubric applies to this conversation"));
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
        let reached = score.outcome(self.threshold, reason.clone());
        outcome(match reached.finding {
            _ if blocked.is_some() => Outcome::fail(reason).with_score(low),
            Finding::Pass if may_block => Outcome::undecided(reason),
            _ => reached,
        })
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
