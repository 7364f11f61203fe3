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
    /// The store is not told that a session is over.
    EndForgotten,
    /// The store is not told what was given back.
    ReleaseForgotten,
    /// Every worker is believed to know every agent.
    AgentsIgnored,
}
