//! How large a document may be.

/// The largest file that is read.
pub const MAX_BYTES: usize = 1 << 20;
/// The most values a document may hold once its aliases are expanded.
pub const MAX_NODES: u64 = 100_000;
/// The most text a document may hold once its aliases are expanded: one long text can be repeated by short aliases.
pub const MAX_EXPANDED_BYTES: u64 = 8 << 20;
/// The deepest nesting, aliases expanded.
pub const MAX_DEPTH: usize = 100;
