//! Whom evaluators may ask: language models as judges, by model type, and the scorer.

use std::{fmt, sync::Arc};

use crate::Scorer;

/// Gives the model for a model type such as `TEXT_LARGE`; `None` asks for the usual judge.
pub trait Bench: Send + Sync + fmt::Debug {
    fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Model>;

    /// What measures texts, with its calls counted for this scope.
    fn scorer(&self, scope: record::Scope) -> Box<dyn Scorer + '_>;

    /// The context and seed for the next question: `call` counts the questions of this trial's turn.
    fn context(&self, scope: record::Scope) -> (llm::Context, u64);
}
