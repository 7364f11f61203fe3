//! The limit of file descriptors, which every open file and connection needs.

use std::fs::File;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than any plan needs, but not more: some programs iterate over all possible descriptors when they start.
const WANTED: u64 = 1 << 18;
/// The actual limit of macOS, whatever its hard limit is.
const MODEST: u64 = 10_240;
/// Descriptors for other uses than connections: the store, its log, the report, the terminal.
const KEPT_BACK: u64 = 64;

/// Raises the soft limit to the hard limit. The usual soft limit of 1,024 is too low for thousands of connections.
pub fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    for wanted in [WANTED, MODEST] {
        let wanted = maximum.map_or(wanted, |maximum| maximum.min(wanted));
        if current.is_none_or(|current| current >= wanted) {
            return;
        }
        if setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).is_ok() {
            return;
        }
    }
}

/// The number of descriptors that the process can have.
#[must_use]
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The number of connections for a listener, which leaves enough descriptors for other uses.
#[must_use]
pub fn for_connections() -> usize {
    let limit = limit();
    usize::try_from(limit.saturating_sub(KEPT_BACK).max(limit / 2)).unwrap_or(usize::MAX)
}

/// Reserved descriptors for the report, in case connections use all others.
#[derive(Debug)]
pub struct Reserve(Vec<File>);

impl Reserve {
    /// Reserves up to this number.
    #[must_use]
    pub fn of(count: usize) -> Self {
        Self((0..count).map_while(|_| File::open("/dev/null").ok()).collect())
    }

    /// The number of reserved descriptors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
