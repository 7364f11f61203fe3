//! `refusal`: the agent declined to do what it was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{kind::Kind, place::Place, question::Question};

/// The agent declined to do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// How that is found out.
    #[serde(default)]
    pub method: RefusalMethod,
}

/// How it is found out whether the agent refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalMethod {
    /// A judge reads the reply.
    #[default]
    LlmJudge,
    /// Phrases with which English-speaking models refuse.
    Phrases,
}

impl Kind for Refusal {
    type Written = Self;

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
