//! The answers to questions that gabfest words: a yes or no, or a number, in the form of a ballot.

use std::sync::OnceLock;

use scenario::check::{Evidence, JudgeForm, Judging};

use super::{
    Error, Open, Question, ask,
    ballot::{self, Ballot, Scale, Verdict},
    form::Form,
    votes::{Counted, Votes, counted, majority},
};
use crate::judge_pool::JudgePool;

/// The judges' answer to a yes/no question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// `Ok(true)`: yes.
    pub said: Result<bool, Open>,
    /// 0 to 1: how probable it is that the answer is yes, the mean of the votes that say yes or no.
    pub confidence: f64,
    pub reasoning: String,
    /// One for each vote.
    pub ballots: Vec<record::Ballot>,
}

impl Answer {
    /// Yes, with at least this confidence.
    #[must_use]
    pub fn holds(&self, threshold: f64) -> bool {
        self.said == Ok(true) && self.confidence >= threshold
    }
}

/// The judges' answer to a question for a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Rating {
    /// 0 to 1, the mean of the votes that give a number.
    pub said: Result<f64, Open>,
    pub reasoning: String,
    /// One for each vote.
    pub ballots: Vec<record::Ballot>,
}

/// Asks a question whose answer is yes or no. The majority of the votes decides.
///
/// # Errors
/// The model fails, the votes tie, or no try gives a ballot with verified quotes.
pub async fn yes_or_no(question: &Question<'_>, pool: &dyn JudgePool) -> Result<Answer, Error> {
    answer(question, Scale::YesNo, pool).await
}

/// Like [`yes_or_no`], for a caller with a threshold: an unsure `yes` is below the threshold, not a contradiction.
///
/// # Errors
/// The model fails, the votes tie, or no try gives a ballot with verified quotes.
pub async fn how_sure(question: &Question<'_>, pool: &dyn JudgePool) -> Result<Answer, Error> {
    answer(question, Scale::Sureness, pool).await
}

async fn answer(question: &Question<'_>, scale: Scale<'static>, pool: &dyn JudgePool) -> Result<Answer, Error> {
    let Decided { verdict, reasoning, votes } = decide(question, scale, pool).await?;
    let said = match verdict {
        Verdict::NotApplicable => Err(Open::NotApplicable),
        Verdict::CannotTell => Err(Open::CannotTell),
        verdict => Ok(verdict == Verdict::Met),
    };
    let confidence = votes.mean(Ballot::probability).unwrap_or_default();
    Ok(Answer { said, confidence, reasoning, ballots: recorded(&votes, "") })
}

/// Asks for a number from 0 to 1. The mean of the votes counts.
///
/// # Errors
/// The model fails, the votes tie, or no try gives a ballot with verified quotes.
pub async fn number(question: &Question<'_>, pool: &dyn JudgePool) -> Result<Rating, Error> {
    let Decided { verdict, reasoning, votes } = decide(question, Scale::Share, pool).await?;
    let said = match verdict {
        Verdict::NotApplicable => Err(Open::NotApplicable),
        Verdict::Millionths(_) => Ok(votes.mean(Ballot::share).unwrap_or_default()),
        _ => Err(Open::CannotTell),
    };
    Ok(Rating { said, reasoning, ballots: recorded(&votes, "") })
}

/// The votes for the record, in the words of an answer.
pub(crate) fn recorded(votes: &Votes<Ballot>, criterion: &str) -> Vec<record::Ballot> {
    votes.recorded(criterion, |ballot| (ballot.verdict.answer(), ballot.probability(), ballot.shown()))
}

struct Decided {
    verdict: Verdict,
    /// Of a vote that agrees.
    reasoning: String,
    votes: Votes<Ballot>,
}

async fn decide(question: &Question<'_>, scale: Scale<'static>, pool: &dyn JudgePool) -> Result<Decided, Error> {
    let form = form_of(scale, question.judging);
    let read = |text: &str| Ballot::read(&form.read(text)?, scale, question.judging, question.material);
    let votes = ask(question, form, pool, read).await.map_err(|few| few.recorded(|votes| recorded(votes, "")))?;
    let Counted::Majority(verdict) = majority(votes.answers().map(|ballot| ballot.verdict.kind())) else {
        let counted = counted(votes.answers().map(|ballot| ballot.verdict.answer()));
        return Err(Error::Tied { counted, ballots: recorded(&votes, "") });
    };
    let agreeing = votes.answers().find(|ballot| ballot.verdict.kind() == verdict);
    let reasoning = agreeing.map(|ballot| ballot.reasoning.clone()).unwrap_or_default();
    Ok(Decided { verdict, reasoning, votes })
}

/// The forms depend on nothing else, so each is compiled once and not for each check.
fn form_of(scale: Scale<'static>, judging: &Judging) -> &'static Form {
    static FORMS: [OnceLock<Form>; 8] = [const { OnceLock::new() }; 8];
    let is_number = usize::from(scale == Scale::Share);
    let is_verdict_first = usize::from(judging.form == JudgeForm::VerdictFirst);
    let has_quotes = usize::from(judging.evidence != Evidence::None);
    FORMS[4 * is_number + 2 * is_verdict_first + has_quotes]
        .get_or_init(|| ballot::form(scale, judging).expect("the schema is written here and compiles"))
}
