//! Whom evaluators may ask: language models as judges, by model type, and the scorer.

use std::{fmt, sync::Arc};

use crate::Scorer;

/// Gives the model for a model type such as `TEXT_LARGE`; `None` asks for the usual judge.
/// Room for a judge that reasons before it answers: the answer itself takes 300 to 500.
pub const JUDGE_MAX_TOKENS: u32 = 2_000;

pub trait Bench: Send + Sync + fmt::Debug {
    fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Model>;

    /// The most tokens of one answer of a judge, its reasoning included. An answer whose form needs more may have more.
    fn judge_max_tokens(&self) -> u32 {
        JUDGE_MAX_TOKENS
    }

    /// What measures texts, with its calls counted for this scope.
    fn scorer(&self, scope: record::Scope) -> Box<dyn Scorer + '_>;

    /// The context and seed for the next question: `call` counts the questions of this trial's turn.
    fn context(&self, scope: record::Scope) -> (llm::Context, u64);
}
