//! `refusal`: the agent declined the request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place, question::Question};

/// The agent declined the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// How to detect a refusal.
    #[serde(default)]
    pub method: RefusalMethod,
}

/// How to detect a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalMethod {
    /// A judge reads the reply.
    #[default]
    LlmJudge,
    /// Phrases with which models refuse in English.
    Phrases,
}

impl Kind for Refusal {
    type Written = Self;
    const ASKS_JUDGE: bool = true;

    fn read(written: Self, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(written)
    }

    fn questions(&self) -> Vec<Question<'_>> {
        match self.method {
            RefusalMethod::LlmJudge => vec![Question::judge(1)],
            RefusalMethod::Phrases => Vec::new(),
        }
    }
}
