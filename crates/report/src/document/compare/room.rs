//! How much of a comparison fits a page.

/// How much of a comparison a page shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompareRoom {
    /// Of each list of changed cases.
    pub(crate) cases: usize,
    /// Of each table of groups, and of that of named checks.
    pub(crate) groups: usize,
    /// Of what differs besides the agent.
    pub(crate) differences: usize,
}
