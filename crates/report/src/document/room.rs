//! How much of a run a page has room for.

/// How much of a run a page shows. The rest is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// A page of few columns leaves out figures that follow from others.
    pub(crate) narrow: bool,
    pub(crate) scenarios: usize,
    /// Of each list of cases that changed since an earlier run.
    pub(crate) changes: usize,
    /// Tables by agent, tag and axis, and the rows of each.
    pub(crate) breakdowns: usize,
    pub(crate) breakdown_rows: usize,
    pub(crate) checks: usize,
    pub(crate) batteries: usize,
    pub(crate) failures: usize,
    pub(crate) informing: usize,
    pub(crate) unreadable: usize,
    /// Failures of the agent by kind, which other pages show as groups only.
    pub(crate) agent_failures: bool,
}
