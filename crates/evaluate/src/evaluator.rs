//! One check, compiled: ready to judge any number of replies.

use std::{fmt, future::Future, pin::Pin};

use record::{FailureKind, Finding, Judgment, Jury, Scope};
use scenario::{
    Check,
    check::{JudgeSees, Judging},
};

use crate::{
    error::Error,
    judge_pool::{self, JudgePool},
    outcome::Outcome,
    subject::Subject,
};

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
    asks_judge: bool,
    judging: Judging,
    behaviour: Box<dyn Behaviour>,
}

/// The behaviour of one kind of check. Kinds that ask nobody implement [`Immediate`] instead.
pub(crate) trait Behaviour: fmt::Debug + Send + Sync {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a>;
}

/// A kind of check that decides from the subject alone: it asks no model and reads no file.
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
            asks_judge: check.rule.asks_judge(),
            asks_a_model: !check.questions().is_empty(),
            judging: check.judging.clone(),
            behaviour,
        }
    }

    /// Judges a subject. Never fails: what goes wrong is a finding (`error` or `inconclusive`) with its kind of failure.
    pub async fn judge(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Judgment {
        let mut outcome = self.outcome(subject, pool).await;
        let uncalibrated = outcome.uncalibrated.take().filter(|_| self.required).map(String::from);
        let mut judgment = self.judgment(subject.scope, outcome);
        if !judgment.ballots.is_empty() {
            judgment.required &= uncalibrated.is_none();
            judgment.jury = Some(Jury { words: subject.words(), uncalibrated });
        }
        judgment
    }

    /// Why the judges that this check asked itself only inform. Checks within it have judges and votes of their own.
    fn objection(&self, outcome: &Outcome, pool: &dyn JudgePool) -> Option<Box<str>> {
        let is_asked = self.asks_judge && !outcome.has_failed();
        is_asked.then(|| judge_pool::objection(pool, &outcome.ballots, self.judging.ballots()))?
    }

    /// Its name for a reader: the one that the scenario gives, or its kind.
    pub(crate) fn shown(&self) -> &str {
        self.name.as_deref().unwrap_or(self.kind)
    }

    /// The only turn of a conversation that it judges, from 1; `None`: each turn.
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
        let Outcome { finding, score, reason, evidence, failure, ballots, custom, uncalibrated: _ } = outcome;
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
            custom,
        }
    }

    /// Whether its judge sees what other checks read of the environment.
    #[must_use]
    pub fn sees_end_state(&self) -> bool {
        self.judging.sees(JudgeSees::EndState)
    }

    /// Whether judging can ask a language model, and so cost calls, tokens and time.
    #[must_use]
    pub fn asks_a_model(&self) -> bool {
        self.asks_a_model
    }

    /// The finding after negation. Negation does not change `error` and `inconclusive`.
    pub(crate) async fn outcome(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let subject = &Subject { judging: &self.judging, ..*subject };
        let mut outcome = match self.behaviour.find(subject, pool) {
            Found::Now(outcome) => outcome,
            Found::Asking(asking) => asking.await,
        };
        if outcome.uncalibrated.is_none() {
            outcome.uncalibrated = self.objection(&outcome, pool);
        }
        if self.negated { outcome.negated() } else { outcome }
    }
}
