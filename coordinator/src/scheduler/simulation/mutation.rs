//! Broken protocols, to see that the checks notice.

/// A part of the protocol that is left out.
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
    /// The store does not learn what was given back.
    ReleaseForgotten,
    /// Every worker is taken to know every agent.
    AgentsIgnored,
}
