//! `command_exit_code_is`: a command ends with an exit code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{ExitCode, Words, words};

use super::{kind::Kind, place::Place};

/// A command ends with this exit code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandExitCodeIs {
    /// Run in the trial's environment; off unless the operator of the worker allows it.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub command: String,
    /// 0 unless written.
    #[serde(default = "success")]
    pub expected_code: ExitCode,
}

impl Kind for CommandExitCodeIs {
    type Written = Self;

    fn read(written: Self, _: &mut Place<'_, '_>) -> Option<Self> {
        Some(written)
    }
}

fn success() -> ExitCode {
    ExitCode(0)
}
