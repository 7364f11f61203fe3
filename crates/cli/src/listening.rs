//! Checks listen addresses. An address that other machines can reach needs `--insecure-i-know`.

use std::net::SocketAddr;

use anyhow::anyhow;

use crate::exit::usage;

/// `what` is what the address serves, with its verb: "metrics are".
pub(crate) fn allow(address: SocketAddr, insecure_i_know: bool, what: &str) -> anyhow::Result<()> {
    if address.ip().to_canonical().is_loopback() || insecure_i_know {
        return Ok(());
    }
    Err(usage(anyhow!(
        "{address} is reachable from other machines, and {what} neither encrypted nor protected by a password\nhint: listen on 127.0.0.1, or add --insecure-i-know"
    )))
}

/// For a coordinator without certificates.
pub(crate) fn allow_plaintext(address: SocketAddr, insecure_i_know: bool) -> anyhow::Result<()> {
    if address.ip().to_canonical().is_loopback() || insecure_i_know {
        return Ok(());
    }
    Err(usage(anyhow!(
        "{address} is reachable from other machines, and this coordinator has no certificates\nhint: `gabfest pki init NAME…` makes them, and --tls names their folder; --insecure-i-know allows everybody in, without encryption"
    )))
}
