//! A trial that this worker holds, and the ids under which others know it.

use std::sync::Arc;

use record::{
    Failure, Trial, Verdict,
    session::{conversation_id, session_id},
};

use crate::{
    compiled::{CompiledScenario, CompiledScenarios},
    outbox::Attempt,
};

#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) attempt: Attempt,
    pub(crate) trial: scenario::Trial,
    pub(crate) scripts: Arc<CompiledScenarios>,
}

impl Ticket {
    /// The id of the attempt's conversation with this number, from 1.
    pub(super) fn conversation_id(&self, number: usize) -> String {
        conversation_id(&self.session_id(), u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// What every call of the attempt tells about itself.
    pub(super) fn context(&self, script: &CompiledScenario) -> llm::Context {
        llm::Context {
            role: String::new(),
            run: self.attempt.run.as_str().to_owned(),
            scenario: script.case.scenario.clone(),
            persona: script.case.persona.clone().unwrap_or_default(),
            conversation: self.conversation_id(1),
            trial: self.trial.id.as_str().to_owned(),
            case: self.trial.case_id.as_str().to_owned(),
            idempotency_key: self.session_id(),
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
