//! The figures of the simulated user: how often it is at fault, and the effect on the success rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::totals::Rate;
use crate::user_fault::FaultKind;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedUser {
    #[serde(flatten)]
    pub total: UserFigures,
    pub by_model: Vec<NamedUser>,
    pub by_persona: Vec<NamedUser>,
    /// The success rate of all trials, those with a critical fault included as if it did not matter.
    pub success_rate_with_faults: Rate,
    /// The success rate of the trials without a critical fault: the run's own.
    pub success_rate_without_faults: Rate,
    /// What the success rate can be, whatever the trials with a critical fault would have shown (Manski bounds): pass / n if
    /// they all fail, (pass + those) / n if they all pass.
    pub low: f64,
    pub high: f64,
}

/// The simulated users of one model or persona.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedUser {
    pub name: String,
    #[serde(flatten)]
    pub figures: UserFigures,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserFigures {
    /// Trials with lines of a simulated user.
    pub trials: u64,
    /// Those in which the agent got a critical fault.
    pub faulty_trials: u64,
    /// faulty_trials / trials: what `gates.max_simulator_faults` limits.
    pub faulty_rate: Rate,
    /// Lines that the model was asked for.
    pub lines: u64,
    /// Those that `self_check: model` could not judge.
    pub unknown: u64,
    /// unknown / lines.
    pub unknown_rate: Rate,
    /// Kinds that occurred.
    pub faults: Vec<FaultFigures>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultFigures {
    pub kind: FaultKind,
    /// Lines of which a draft was refused.
    pub refused: u64,
    /// refused / lines.
    pub refused_rate: Rate,
    /// Lines that the agent got.
    pub sent: u64,
    /// sent / lines.
    pub sent_rate: Rate,
}
