//! Whether scenarios may run programs on this worker, and within which bounds: the operator's word, never a plan's.

use std::{sync::Arc, time::Duration};

use tokio::sync::OnceCell;

use super::{house, sandbox};

/// Off unless the operator allows it.
#[derive(Debug, Clone, Default)]
pub enum Execution {
    #[default]
    Off,
    /// By bubblewrap: no network, no files but the system's programs and the trial's root.
    Sandboxed(Arc<Programs>),
    /// As the worker itself, in the trial's root: for scenarios that the operator trusts like the worker's own code.
    Host(Arc<Programs>),
}

/// What programs get and how far they may go.
#[derive(Debug, Default)]
pub struct Programs {
    /// The only variables besides `PATH`.
    pub(super) variables: Vec<(String, String)>,
    pub(super) limits: Limits,
    /// The sandbox's arguments, once it was seen to work, or why it does not.
    pub(super) sandbox: OnceCell<Result<Vec<String>, String>>,
}

/// Bounds of one program. Those on memory, disk, files and processes hold in the sandbox only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub time: Duration,
    /// Of stdout and of stderr, each; the rest is read and dropped.
    pub output_bytes: usize,
    /// Address space of one process.
    pub memory_bytes: u64,
    /// Of all its processes together, as they are looked at ten times a second.
    pub total_memory_bytes: u64,
    /// Of one file that it writes.
    pub file_bytes: u64,
    /// Of all files of the trial together, as they are looked at ten times a second.
    pub disk_bytes: u64,
    /// Of `/tmp` and of `/dev/shm`, each, which are memory.
    pub temporary_bytes: u64,
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            output_bytes: 256 << 10,
            // Node reserves more than a gigabyte before it does anything.
            memory_bytes: 4 << 30,
            total_memory_bytes: 4 << 30,
            file_bytes: 64 << 20,
            disk_bytes: 1 << 30,
            temporary_bytes: 256 << 20,
            processes: 1_024,
        }
    }
}

impl Execution {
    /// `variables` are those of `--env-file`.
    #[must_use]
    pub fn sandboxed(variables: Vec<(String, String)>, limits: Limits) -> Self {
        Self::Sandboxed(Arc::new(Programs { variables, limits, ..Programs::default() }))
    }

    /// `variables` are those of `--env-file`.
    #[must_use]
    pub fn host(variables: Vec<(String, String)>, limits: Limits) -> Self {
        Self::Host(Arc::new(Programs { variables, limits, ..Programs::default() }))
    }

    /// Tries the sandbox out, so that a worker can refuse to start where it cannot be built. Removes what the programs of
    /// killed workers left.
    ///
    /// # Errors
    /// When bubblewrap is missing, this machine does not let it build a sandbox, or its limits do not hold.
    pub async fn check(&self) -> Result<(), String> {
        if let Ok(swept @ 1..) = tokio::task::spawn_blocking(house::sweep).await {
            tracing::info!(swept, "removed the trials' directories of processes that were killed");
        }
        match self {
            Self::Off | Self::Host(_) => Ok(()),
            Self::Sandboxed(programs) => sandbox::walls(programs).await.map(drop),
        }
    }
}
