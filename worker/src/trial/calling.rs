//! What all calls of a trial share: the log that records them, the admission they wait for, context, seed and trace.

use std::sync::Arc;

use record::Role;
use scenario::ids::seed_of;
use telemetry::trace::{Head, ids};

use crate::{
    admission::Admission,
    recorder::{CallLog, Recorded},
};

#[derive(Debug)]
pub(crate) struct Calling {
    pub(super) log: Arc<CallLog>,
    pub(super) admission: Admission,
    /// Names the open conversation with the agent; each call adds its role, turn and key.
    pub(super) context: llm::Context,
    pub(super) seed: u64,
    pub(super) head: Head,
}

impl Calling {
    /// The model, with each of its calls recorded under `role`.
    pub(super) fn recorded<C: ?Sized>(&self, model: Arc<C>, role: Role) -> Recorded<C> {
        Recorded::new(model, role, Arc::clone(&self.log), self.admission.clone())
    }

    /// Context and seed of the call that asks for the user's line in turn `number`.
    pub(super) fn of_user(&self, number: u32) -> (llm::Context, u64) {
        let context = llm::Context {
            role: Role::UserSim.name().to_owned(),
            turn: number,
            idempotency_key: format!("{}/user_sim/{number}", self.context.idempotency_key),
            trace: Some(self.trace_of_trial()),
            ..self.context.clone()
        };
        (context, self.seed_of(b"user_sim", number))
    }

    /// Context and seed of question `call` to a judge about `turn`.
    pub(super) fn of_judge(&self, turn: u32, call: u32, trace: llm::Trace) -> (llm::Context, u64) {
        let context = llm::Context {
            role: Role::Judge.name().to_owned(),
            turn,
            call,
            idempotency_key: format!("{}/judge/{call}", self.context.idempotency_key),
            trace: Some(trace),
            ..self.context.clone()
        };
        (context, self.seed_of(b"judge", call))
    }

    /// For calls that precede their turn: if such a call fails, the turn never exists.
    pub(super) fn trace_of_trial(&self) -> llm::Trace {
        self.trace(ids::trial_span(self.head.trace))
    }

    pub(super) fn trace_of_turn(&self, turn: u32) -> llm::Trace {
        self.trace(ids::turn_span(self.head.trace, turn))
    }

    pub(super) fn trace_of_agent(&self, turn: u32) -> llm::Trace {
        self.trace(ids::agent_span(self.head.trace, turn))
    }

    fn trace(&self, span: u64) -> llm::Trace {
        llm::Trace { id: self.head.trace, span, sampled: self.head.sampled }
    }

    fn seed_of(&self, purpose: &[u8], number: u32) -> u64 {
        seed_of(&[&self.seed.to_le_bytes(), purpose, &number.to_le_bytes()])
    }
}
