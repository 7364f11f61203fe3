//! A trial that this worker holds, and its ids for others.

use std::{sync::Arc, time::Duration};

use record::{
    Failure, Trial, Verdict,
    session::{conversation_id, session_id},
    trial::Start,
};
use tokio::time::Instant;

use crate::{
    compiled::{CompiledScenario, CompiledScenarios},
    outbox::Attempt,
};

#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) attempt: Attempt,
    pub(crate) trial: scenario::Trial,
    pub(crate) scripts: Arc<CompiledScenarios>,
    /// Of a run with a load. Boxed, since thousands of trials without one wait for replies.
    pub(crate) timing: Option<Box<Timing>>,
}

/// When a trial of a load starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) load_began: Instant,
    /// When it is to start, if its pace decides that.
    pub(crate) due: Option<Instant>,
    /// After that it is dropped, unless it has started.
    pub(crate) drops_at: Option<Instant>,
}

impl Ticket {
    /// Without a time to start at.
    pub(crate) fn new(attempt: Attempt, trial: scenario::Trial, scripts: Arc<CompiledScenarios>) -> Self {
        Self { attempt, trial, scripts, timing: None }
    }

    /// The record of a start at `now`; `None` without a load. A later attempt starts when it can, so it is never late.
    pub(super) fn start(&self, now: Instant) -> Option<Start> {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let timing = self.timing.as_deref()?;
        let at_micros = micros(now.saturating_duration_since(timing.load_began));
        let due = timing.due.filter(|_| self.attempt.epoch == 1);
        let late_micros = due.map_or(0, |due| micros(now.saturating_duration_since(due)));
        Some(Start { at_micros, late_micros })
    }

    /// The id of the attempt's conversation with this number, from 1.
    pub(super) fn conversation_id(&self, number: usize) -> String {
        conversation_id(&self.session_id(), u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// The context that every call of the attempt sends.
    pub(super) fn context(&self, script: &CompiledScenario) -> llm::Context {
        llm::Context {
            role: String::new(),
            run: self.attempt.run.as_str().to_owned(),
            scenario: script.case.scenario.clone(),
            persona: script.case.persona.clone().unwrap_or_default(),
            conversation: self.conversation_id(1),
            trial: self.trial.id.as_str().to_owned(),
            attempt: self.attempt.epoch,
            case: self.trial.case_id.as_str().to_owned(),
            idempotency_key: self.session_id(),
            vars: script.vars.clone(),
            ..llm::Context::default()
        }
    }

    /// The record of the trial before anything is played.
    pub(super) fn unplayed(&self, verdict: Verdict, failure: Failure) -> Trial {
        Trial::unplayed(&self.trial, self.attempt.epoch, verdict, failure)
    }

    fn session_id(&self) -> String {
        session_id(&self.attempt.run, &self.trial.id, self.attempt.epoch)
    }
}
