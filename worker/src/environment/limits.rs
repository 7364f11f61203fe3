//! The limits of one program.

use std::time::Duration;

/// Limits of memory, disk, files and processes apply in the sandbox only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub time: Duration,
    /// Of stdout and of stderr, each. The rest is read and dropped.
    pub output_bytes: usize,
    /// Address space of one process.
    pub memory_bytes: u64,
    /// Memory of one process that it can write and shares with none: the system refuses more at once.
    pub data_bytes: u64,
    /// Of all its processes together, measured ten times a second.
    pub total_memory_bytes: u64,
    /// Of one file that the program writes.
    pub file_bytes: u64,
    /// Of all files of the trial together, measured ten times a second.
    pub disk_bytes: u64,
    /// Of `/tmp` and of `/dev/shm`, each. Both are memory.
    pub temporary_bytes: u64,
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            output_bytes: 256 << 10,
            // Node reserves more than 1 GiB at start.
            memory_bytes: 4 << 30,
            data_bytes: 768 << 20,
            total_memory_bytes: 1 << 30,
            file_bytes: 64 << 20,
            disk_bytes: 1 << 30,
            temporary_bytes: 256 << 20,
            processes: 1_024,
        }
    }
}
