//! What replaces a secret, and which secrets are long enough to be replaced.

/// Replaces a secret.
pub const MARK: &str = "[redacted]";

/// Shorter "secrets" are ordinary words: replacing them would spoil every page and protect nothing.
pub const SHORTEST_SECRET: usize = 6;
