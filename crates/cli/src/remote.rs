//! A channel to a coordinator at an address.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tonic::transport::{Channel, Endpoint};

use crate::exit::usage;

/// A channel that connects when it is first used and again after it broke.
pub(crate) fn lazy(address: &str) -> anyhow::Result<Channel> {
    Ok(endpoint(address)?.connect_lazy())
}

/// A connected channel, or an error that says what to do.
pub(crate) async fn connect(address: &str) -> anyhow::Result<Channel> {
    endpoint(address)?.connect().await.with_context(|| {
        format!("no coordinator answers at {address}\nhint: start one with `gabfest coordinator`, or name it with --coordinator")
    })
}

fn endpoint(address: &str) -> anyhow::Result<Endpoint> {
    let wrong =
        || usage(anyhow!("{address:?} is not a coordinator's address\nhint: it looks like http://127.0.0.1:7400"));
    if !address.starts_with("http://") {
        return Err(wrong());
    }
    let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|_| wrong())?;
    Ok(endpoint
        .connect_timeout(Duration::from_secs(5))
        .tcp_nodelay(true)
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(20))
        .keep_alive_while_idle(true))
}
