//! How many files and connections the process may have at once: every one of them takes a descriptor.

use std::fs::File;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than any plan needs, and few enough for programs of agents that go through all of theirs when they start.
const WANTED: u64 = 1 << 18;
/// What macOS allows whatever its hard limit says.
const MODEST: u64 = 10_240;
/// What a process needs besides connections: the store, its log, the report, the terminal.
const KEPT_BACK: u64 = 64;

/// Raises the soft limit as far as the hard one allows. The usual one, 1,024, is from times when nobody waited for so many.
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

/// As many as the process may have.
#[must_use]
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// As many connections as a listener may take, so that enough is left for everything else.
#[must_use]
pub fn for_connections() -> usize {
    let limit = limit();
    usize::try_from(limit.saturating_sub(KEPT_BACK).max(limit / 2)).unwrap_or(usize::MAX)
}

/// Descriptors that are kept for the end, when connections have taken all others.
#[derive(Debug)]
pub struct Reserve(Vec<File>);

impl Reserve {
    /// Of so many, as far as they can be had.
    #[must_use]
    pub fn of(count: usize) -> Self {
        Self((0..count).map_while(|_| File::open("/dev/null").ok()).collect())
    }

    /// How many it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
