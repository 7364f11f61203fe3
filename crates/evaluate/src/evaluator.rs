//! One check, compiled: ready to judge any number of replies.

use std::{fmt, future::Future, pin::Pin};

use record::{FailureKind, Finding, Judgment, Jury, Scope};
use scenario::{Check, check::Judging};

use crate::{error::Error, judge_pool::JudgePool, outcome::Outcome, subject::Subject};

/// [`crate::compile()`] makes one for each check of a scenario; all trials of the scenario share it.
#[derive(Debug)]
pub struct Evaluator {
    kind: &'static str,
    name: Option<String>,
    description: Option<String>,
    at_turn: Option<u32>,
    line: u32,
    negated: bool,
    required: bool,
    weight: f64,
    asks_a_model: bool,
    judging: Judging,
    behaviour: Box<dyn Behaviour>,
}

/// What one kind of check does. Kinds that ask nobody implement [`Immediate`] instead.
pub(crate) trait Behaviour: fmt::Debug + Send + Sync {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a>;
}

/// A kind of check that decides by what it sees: it asks no model and reads no file.
pub(crate) trait Immediate: fmt::Debug + Send + Sync {
    fn look(&self, subject: &Subject<'_>) -> Outcome;
}

/// Two cases, because most checks decide at once and run after every reply: a future for each of them would cost an
/// allocation.
pub(crate) enum Found<'a> {
    Now(Outcome),
    Asking(Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>),
}

/// Compiles a check. Kinds that hold checks get it as an argument, so that they do not depend on the compiler, which
/// depends on every kind.
pub(crate) type Compile = fn(&Check) -> Result<Evaluator, Error>;

impl<'a> Found<'a> {
    pub(crate) fn asking(outcome: impl Future<Output = Outcome> + Send + 'a) -> Self {
        Self::Asking(Box::pin(outcome))
    }
}

impl<T: Immediate> Behaviour for T {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::Now(self.look(subject))
    }
}

impl Evaluator {
    pub(crate) fn new(check: &Check, behaviour: Box<dyn Behaviour>) -> Self {
        Self {
            kind: check.rule.kind(),
            name: check.name.clone(),
            description: check.description.clone(),
            at_turn: check.at_turn,
            line: check.line,
            negated: check.negated,
            required: check.required,
            weight: check.weight,
            asks_a_model: !check.questions().is_empty(),
            judging: check.judging.clone(),
            behaviour,
        }
    }

    /// Judges a subject. Never fails: what goes wrong is a finding (`error` or `inconclusive`) with its kind of failure.
    pub async fn judge(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Judgment {
        let mut judgment = self.judgment(subject.scope, self.outcome(subject, pool).await);
        if !judgment.ballots.is_empty() {
            let uncalibrated = self.objection(&judgment, pool);
            judgment.required &= uncalibrated.is_none();
            judgment.jury = Some(Jury { words: subject.words(), uncalibrated });
        }
        judgment
    }

    /// Why the judges of a required check do not decide.
    fn objection(&self, judgment: &Judgment, pool: &dyn JudgePool) -> Option<String> {
        let gate = pool.gate().filter(|_| self.required)?;
        gate.objection(judgment.ballots.iter().map(|ballot| ballot.judge.as_str()), self.judging.ballots())
    }

    /// The only turn of a conversation that it judges, from 1; `None`: each.
    #[must_use]
    pub fn at_turn(&self) -> Option<u32> {
        self.at_turn
    }

    /// The judgment of a conversation that ended with turn `last`, before the turn that it judges.
    #[must_use]
    pub fn not_reached(&self, scope: Scope, last: u32) -> Judgment {
        let turn = self.at_turn.unwrap_or_default();
        let reason = format!("it judges turn {turn}, and the conversation ended with turn {last}");
        let outcome = Outcome { finding: Finding::Inconclusive, ..Outcome::error(FailureKind::NothingJudged, reason) };
        self.judgment(scope, outcome)
    }

    fn judgment(&self, scope: Scope, outcome: Outcome) -> Judgment {
        let Outcome { finding, score, reason, evidence, failure, ballots } = outcome;
        Judgment {
            check: self.kind.to_owned(),
            name: self.name.clone(),
            description: self.description.clone(),
            scope,
            finding,
            score,
            reason,
            evidence,
            failure,
            line: self.line,
            required: self.required,
            weight: self.weight,
            ballots,
            jury: None,
        }
    }

    /// Whether judging can ask a language model, and so cost calls, tokens and time.
    #[must_use]
    pub fn asks_a_model(&self) -> bool {
        self.asks_a_model
    }

    /// The finding after negation. Negation does not change `error` and `inconclusive`.
    pub(crate) async fn outcome(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let subject = &Subject { judging: &self.judging, ..*subject };
        let outcome = match self.behaviour.find(subject, pool) {
            Found::Now(outcome) => outcome,
            Found::Asking(asking) => asking.await,
        };
        if self.negated { outcome.negated() } else { outcome }
    }
}
