//! What a coordinator with TLS says to a client without, and what helps.

/// What a coordinator with TLS says to a client without, in a frame of HTTP/2.
pub(crate) const NEEDS_TLS: &str = "this coordinator needs TLS: use https://";

/// What helps then.
pub(crate) const TLS_HINT: &str =
    "its address begins with https://, and it needs an identity: `gabfest pki join` makes one";
