//! Values of the agent's answers that later calls of the conversation need.

use serde_json::{Map, Value};

use crate::{
    reading::{Heard, Reading},
    request::Request,
    template::Values,
};

#[derive(Debug, Clone)]
pub(crate) struct Kept {
    /// The agent's id of the conversation.
    pub(crate) session: String,
    /// By the names of `reply.remember`. An empty text means that no answer had a value yet.
    remembered: Map<String, Value>,
}

impl Kept {
    pub(crate) fn new(session: String, reading: &Reading) -> Self {
        let remembered = reading.remember.keys().map(|name| (name.clone(), Value::from("")));
        Self { session, remembered: remembered.collect() }
    }

    /// The values of the placeholders in the next call.
    pub(crate) fn values(&self, request: &Request) -> Values {
        Values::of(request, &self.session, &self.remembered)
    }

    /// Takes the values of an answer.
    pub(crate) fn take(&mut self, heard: &mut Heard<'_>) {
        if let Some(session) = heard.session.take() {
            self.session = session;
        }
        self.remembered.extend(std::mem::take(&mut heard.remembered));
    }
}
