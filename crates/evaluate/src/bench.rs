//! The judges that evaluators may ask: language models, by model type.

use std::{fmt, sync::Arc};

/// Gives the model for a model type such as `TEXT_LARGE`; `None` asks for the usual judge.
pub trait Bench: Send + Sync + fmt::Debug {
    fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Model>;

    /// The context and seed for the next question: `call` counts the questions of this trial's turn.
    fn context(&self, scope: record::Scope) -> (llm::Context, u64);
}
