//! Size limits of a document.

/// The largest file that is read.
pub const MAX_BYTES: usize = 1 << 20;
/// The most values of a document with its aliases expanded.
pub const MAX_NODES: u64 = 100_000;
/// The most text of a document with its aliases expanded: short aliases can repeat a long text.
pub const MAX_EXPANDED_BYTES: u64 = 8 << 20;
/// The deepest nesting, aliases expanded.
pub const MAX_DEPTH: usize = 100;
