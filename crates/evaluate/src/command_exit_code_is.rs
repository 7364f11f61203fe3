//! `command_exit_code_is`: a command in the trial's root ends with an exit code.

use record::FailureKind;
use scenario::check;

use crate::{
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    subject::{CommandError, Subject},
};

#[derive(Debug)]
pub(crate) struct CommandExitCodeIs {
    command: String,
    expected_code: i32,
}

impl CommandExitCodeIs {
    pub(crate) fn new(rule: &check::CommandExitCodeIs) -> Self {
        Self { command: rule.command.clone(), expected_code: rule.expected_code.0 }
    }

    /// The evidence is the output of the command.
    async fn run(&self, subject: &Subject<'_>) -> Outcome {
        let shown = excerpt(&self.command, SHORT_BYTES);
        match subject.workspace.command(&self.command).await {
            Ok(output) => {
                let holds = output.exit_code == self.expected_code;
                let mut reason = format!("{shown:?} ended with exit code {}", output.exit_code);
                if !holds {
                    reason.push_str(&format!(", expected {}", self.expected_code));
                }
                let outcome = Outcome::decided(holds, reason);
                let printed = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
                if printed.is_empty() { outcome } else { outcome.with_evidence(printed) }
            }
            Err(CommandError::NotAllowed) => Outcome::error(
                FailureKind::ExecutionNotAllowed,
                format!("{shown:?} was not run: the operator of the worker has not allowed commands"),
            ),
            Err(CommandError::Failed(message)) => {
                Outcome::error(FailureKind::EnvironmentFailed, format!("{shown:?} could not be run: {message}"))
            }
        }
    }
}

impl Behaviour for CommandExitCodeIs {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, _: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.run(subject))
    }
}
