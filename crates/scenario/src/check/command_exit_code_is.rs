//! `command_exit_code_is`: the exit code of a command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{ExitCode, Words, words};

use super::{kind::Kind, place::Place};

/// A command exits with the expected code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandExitCodeIs {
    /// The command, run in the trial's environment. It runs only if the operator of the worker allows it.
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub command: String,
    /// The exit code.
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
