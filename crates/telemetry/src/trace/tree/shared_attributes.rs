//! The attributes that all spans of an attempt share.

use std::sync::Arc;

use opentelemetry::{KeyValue, StringValue};
use record::{Turn, session::conversation_id};

use super::played::Played;
use crate::{names, trace::texts::Texts};

#[derive(Debug, Clone)]
pub(super) struct SharedAttributes {
    session: StringValue,
}

impl SharedAttributes {
    pub(super) fn new(texts: &Texts, played: &Played<'_>) -> Self {
        Self { session: Arc::<str>::from(texts.short_text(&played.session())).into() }
    }

    pub(super) fn session(&self) -> KeyValue {
        KeyValue::new(names::SESSION, self.session.clone())
    }

    /// The id that the agent got.
    pub(super) fn conversation(&self, played: &Played<'_>, turn: Option<&Turn>) -> KeyValue {
        KeyValue::new(names::CONVERSATION, conversation_id(self.session.as_str(), played.conversation_of(turn)))
    }
}
