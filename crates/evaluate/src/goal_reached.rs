//! `goal_reached`: the simulated user got what it wanted.

use record::{Ballot, FailureKind, Turn};
use scenario::{
    check,
    user::{DoneWhen, Part},
};
use serde_json::{Map, Value};

use crate::{
    branches::ballots_of,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{Material, Open, Question, yes_or_no},
    share::Share,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct GoalReached {
    rule: check::GoalReached,
}

/// The finding about one part.
struct Decided {
    done: Result<bool, Open>,
    why: String,
    ballots: Vec<Ballot>,
}

impl GoalReached {
    pub(crate) fn new(rule: &check::GoalReached) -> Self {
        Self { rule: rule.clone() }
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        if self.rule.goal.is_empty() {
            return Outcome::error(
                FailureKind::Misconfigured,
                "there is no simulated user whose goal could be reached",
            );
        }
        if let Some(unknown) = self.rule.unknown() {
            let reason = format!("the user's goal has no part {:?}", excerpt(unknown, SHORT_BYTES));
            return Outcome::error(FailureKind::Misconfigured, reason);
        }
        let material = Material::of(subject);
        let (mut reasons, mut ballots) = (Vec::new(), Vec::new());
        let (mut share, mut missing, mut failed) = (Share::default(), false, None);
        for part in self.rule.wanted() {
            match self.decide(part, subject, &material, pool).await {
                Ok(decided) => {
                    share.add_answer(decided.done);
                    missing |= decided.done == Ok(false);
                    let verb = match decided.done {
                        Ok(true) => "is done",
                        Ok(false) => "is not done",
                        Err(Open::NotApplicable) => "does not apply",
                        Err(Open::CannotTell) => "is undecided",
                    };
                    reasons.push(format!("{} {verb} ({})", excerpt(&part.id, SHORT_BYTES), decided.why));
                    ballots.extend(decided.ballots.into_iter().map(|ballot| ballot.about(&part.id)));
                }
                Err(mut outcome) => {
                    ballots.extend(ballots_of(&part.id, &mut outcome));
                    share.add_answer(Err(Open::CannotTell));
                    failed = failed.or(Some(outcome));
                }
            }
        }
        let reason = reasons.join("; ");
        let outcome = match failed {
            // A part that is not done decides, whatever a judge would say about another one.
            Some(outcome) if !missing => outcome,
            _ if share.bounds().is_none() => Outcome::not_applicable(reason),
            _ => share.outcome(1.0, reason),
        };
        outcome.with_ballots(ballots)
    }

    async fn decide(
        &self,
        part: &Part,
        subject: &Subject<'_>,
        material: &Material,
        pool: &dyn JudgePool,
    ) -> Result<Decided, Outcome> {
        let now = |done: bool, why: String| Ok(Decided { done: Ok(done), why, ballots: Vec::new() });
        let when = part.done_when.as_ref();
        if let Some(called) = when.and_then(DoneWhen::called) {
            let tool = excerpt(called.tool, SHORT_BYTES);
            let calls = subject.turns.iter().flat_map(|turn| turn.tool_calls.iter().map(move |call| (turn, call)));
            let calls: Vec<_> = calls.filter(|(_, call)| called.is(&call.name, &call.arguments)).collect();
            let worked = calls.iter().find(|(_, call)| !is_error(call.result.as_deref()));
            return match worked.or(calls.first()) {
                Some((turn, _)) if worked.is_some() => now(true, format!("{tool} was called in turn {}", turn.number)),
                Some((turn, _)) => now(false, format!("{tool} answered with an error in turn {}", turn.number)),
                None if called.arguments.is_empty() => now(false, format!("{tool} was not called")),
                None => now(false, format!("{tool} was not called with these arguments")),
            };
        }
        if let Some(said) = when.and_then(|when| when.said.as_deref()) {
            let shown = excerpt(said, SHORT_BYTES);
            return match subject.turns.iter().find(|turn| has_said(turn, said)) {
                Some(turn) => now(true, format!("the agent said {shown:?} in turn {}", turn.number)),
                None => now(false, format!("the agent did not say {shown:?}")),
            };
        }
        let text = match when.and_then(|when| when.ask.as_deref()) {
            Some(question) => question.to_owned(),
            None => format!(
                "Has this come about for the user by the end of the conversation: {}? The agent's tool calls and words show \
                 it; that the user believes it, or that the agent promises it for later, does not. If nothing shows it, the \
                 answer is no.",
                part.text.trim_end_matches(['.', '?', '!'])
            ),
        };
        let model_type = self.rule.model_type.as_deref();
        let question = Question { model_type, ..Question::about(subject, &text, material) };
        let answer = yes_or_no(&question, pool).await.map_err(Outcome::from)?;
        let why = format!("by a judge: {}", excerpt(&answer.reasoning, 4 * SHORT_BYTES));
        Ok(Decided { done: answer.said, why, ballots: answer.ballots })
    }
}

impl Behaviour for GoalReached {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        if subject.turns.is_empty() {
            return Found::Now(Outcome::nothing_said());
        }
        Found::asking(self.ask(subject, pool))
    }
}

/// Whether it is an object with an `error`, as mocks and the answer "no such tool" have it.
fn is_error(result: Option<&str>) -> bool {
    let result = result.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let error = result.as_ref().and_then(|fields| fields.get("error"));
    error.is_some_and(|error| !matches!(error, Value::Null | Value::Bool(false)) && error.as_str() != Some(""))
}

/// Whether the agent said it, ignoring case and white space.
fn has_said(turn: &Turn, wanted: &str) -> bool {
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    turn.said().is_some_and(|said| folded(&said).contains(&folded(wanted)))
}
