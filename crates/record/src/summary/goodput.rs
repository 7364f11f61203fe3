//! Goodput: which share of turns and conversations met the limits on times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::totals::Rate;
use crate::goodput::Missed;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goodput {
    pub limits: GoodputLimits,
    #[serde(flatten)]
    pub figures: GoodputFigures,
    /// Turns that did not meet a limit, by limit.
    pub missed: Missed,
    /// Turns that met all limits, by the duration of the run; `null` until it ends.
    pub turns_met_per_second: Option<f64>,
}

/// In milliseconds; `null`: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoodputLimits {
    pub response_ms: Option<f64>,
    pub ttft_ms: Option<f64>,
    pub per_output_token_ms: Option<f64>,
}

impl From<scenario::Goodput> for GoodputLimits {
    fn from(limits: scenario::Goodput) -> Self {
        let millis = |micros: Option<u64>| micros.map(|micros| micros as f64 / 1_000.0);
        Self {
            response_ms: millis(limits.response_micros),
            ttft_ms: millis(limits.ttft_micros),
            per_output_token_ms: millis(limits.per_token_micros),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoodputFigures {
    /// Turns in which the agent was asked, those included that it did not answer.
    pub turns: u64,
    /// Those that were answered and met all limits.
    pub turns_met: u64,
    /// `null` without turns. It has no interval: turns of one conversation are not independent.
    pub turn_share: Option<f64>,
    /// Trials in which every turn met all limits, of those in which the agent was asked.
    pub conversations: Rate,
    pub conversations_met: u64,
}
