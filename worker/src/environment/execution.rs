//! Whether scenarios may run programs on this worker. The operator decides, never a plan.

use std::sync::Arc;

use tokio::sync::OnceCell;

use super::limits::Limits;

/// Off unless the operator allows it.
#[derive(Debug, Clone, Default)]
pub enum Execution {
    #[default]
    Off,
    /// In bubblewrap: no network, no files except the system's programs and the trial's root.
    Sandboxed(Arc<Programs>),
    /// As the worker itself, in the trial's root. For scenarios that the operator trusts like the worker's own code.
    Host(Arc<Programs>),
}

/// The environment and limits of programs.
#[derive(Debug, Default)]
pub struct Programs {
    /// The only variables besides `PATH`.
    pub(super) variables: Vec<(String, String)>,
    pub(super) limits: Limits,
    /// The sandbox's arguments once a trial run has worked, or why it failed.
    pub(super) sandbox: OnceCell<Result<Vec<String>, String>>,
}

impl Execution {
    /// `variables`: those of `--env-file`.
    #[must_use]
    pub fn sandboxed(variables: Vec<(String, String)>, limits: Limits) -> Self {
        Self::Sandboxed(Arc::new(Programs { variables, limits, ..Programs::default() }))
    }

    /// `variables`: those of `--env-file`.
    #[must_use]
    pub fn host(variables: Vec<(String, String)>, limits: Limits) -> Self {
        Self::Host(Arc::new(Programs { variables, limits, ..Programs::default() }))
    }
}
