//! Broken protocols, to see that the checks notice.

/// A part of the protocol that a test switches off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutation {
    None,
    /// Trials that no heartbeat lists stay leased.
    NoReconcile,
    /// Sessions never expire.
    NoSweep,
    /// A lost attempt does not raise the epoch.
    EpochStays,
    /// The store does not learn that a session is over.
    EndForgotten,
    /// The store is not notified of returned trials.
    ReleaseForgotten,
    /// Every worker is assumed to have every agent.
    AgentsIgnored,
}
