//! Join tokens: how a client without a certificate gets one, once, from any coordinator of the store.

use scenario::Digest;

/// How long a token is remembered after its end, so that a late client gets the true reason.
pub(crate) const KEPT_MILLIS: i64 = 24 * 3_600 * 1_000;

/// A token that can be redeemed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinToken {
    /// Of its secret, which is kept nowhere.
    pub digest: Digest,
    /// What its certificate allows.
    pub role: String,
    /// Unix milliseconds.
    pub expires_at: i64,
}

/// What a store says to a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redeemed {
    /// It was good, and is used from now on. The role is that of its certificate.
    As(String),
    Used,
    Expired,
    Unknown,
}

/// What becomes of a stored token: its role, its end, and whether it is used.
pub(crate) fn redeem(stored: Option<(String, i64, bool)>, at: i64) -> Redeemed {
    match stored {
        None => Redeemed::Unknown,
        Some((_, _, true)) => Redeemed::Used,
        Some((_, expires_at, false)) if at >= expires_at => Redeemed::Expired,
        Some((role, _, false)) => Redeemed::As(role),
    }
}
