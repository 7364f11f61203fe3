//! `goal_reached`: the simulated user got what it wanted.

use record::{Ballot, FailureKind, Turn};
use scenario::{
    check,
    user::{DoneWhen, Part},
};

use crate::{
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{Material, Question, yes_or_no},
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct GoalReached {
    rule: check::GoalReached,
}

/// What was found of one part.
struct Decided {
    done: bool,
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
        let material = Material::of_turns(subject.turns);
        let (mut reasons, mut ballots) = (Vec::new(), Vec::new());
        let (mut parts, mut done, mut open, mut failed) = (0, 0, 0, None);
        for part in self.rule.wanted() {
            parts += 1;
            match self.decide(part, subject, &material, pool).await {
                Ok(decided) => {
                    done += usize::from(decided.done);
                    open += usize::from(!decided.done);
                    let verb = if decided.done { "is done" } else { "is not done" };
                    reasons.push(format!("{} {verb} ({})", excerpt(&part.id, SHORT_BYTES), decided.why));
                    ballots.extend(decided.ballots.into_iter().map(|ballot| ballot.about(&part.id)));
                }
                Err(outcome) => failed = failed.or(Some(outcome)),
            }
        }
        match failed {
            // A part that is not done decides it, whatever a judge would say of another one.
            Some(outcome) if open == 0 => outcome.with_ballots(ballots),
            _ => {
                let share = done as f64 / parts.max(1) as f64;
                Outcome::decided(done == parts, reasons.join("; ")).with_score(share).with_ballots(ballots)
            }
        }
    }

    async fn decide(
        &self,
        part: &Part,
        subject: &Subject<'_>,
        material: &Material,
        pool: &dyn JudgePool,
    ) -> Result<Decided, Outcome> {
        let now = |done: bool, why: String| Ok(Decided { done, why, ballots: Vec::new() });
        let when = part.done_when.as_ref();
        if let Some(called) = when.and_then(DoneWhen::called) {
            let tool = excerpt(called.tool, SHORT_BYTES);
            let mut calls = subject.turns.iter().flat_map(|turn| turn.tool_calls.iter().map(move |call| (turn, call)));
            return match calls.find(|(_, call)| called.is(&call.name, &call.arguments)) {
                Some((turn, _)) => now(true, format!("{tool} was called in turn {}", turn.number)),
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
                 it; that the user believes it, or that the agent promises it for later, does not.",
                part.text.trim_end_matches(['.', '?', '!'])
            ),
        };
        let model_type = self.rule.model_type.as_deref();
        let question = Question { model_type, ..Question::about(subject, &text, material) };
        let answer = yes_or_no(&question, pool).await.map_err(Outcome::from)?;
        let why = match answer.reasoning.trim() {
            "" => "by a judge".to_owned(),
            reasoning => format!("by a judge: {}", excerpt(reasoning, 4 * SHORT_BYTES)),
        };
        Ok(Decided { done: answer.yes, why, ballots: answer.ballots })
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

/// Whether the agent said it. Capitals and white space do not count.
fn has_said(turn: &Turn, wanted: &str) -> bool {
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    turn.said().is_some_and(|said| folded(&said).contains(&folded(wanted)))
}
