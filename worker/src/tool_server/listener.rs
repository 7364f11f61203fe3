//! The worker's one listener. A configured address is opened at start, a free port when a trial first needs it.

use std::{io, net::SocketAddr, sync::Arc};

use agent::Tools;
use listen::{Door, Terms, descriptors};
use tokio::{net::TcpListener, sync::OnceCell};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    address::ToolAddress,
    handler::Handler,
    http,
    registration::{Registration, Registry},
    token,
};

/// A handle; the listener closes with the last one.
#[derive(Debug, Clone, Default)]
pub struct ToolServer(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    place: ToolAddress,
    opened: OnceCell<Opened>,
}

#[derive(Debug)]
struct Opened {
    #[cfg(test)]
    bound: SocketAddr,
    base: String,
    registry: Arc<Registry>,
    _open: DropGuard,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("listen on {address} for calls of tools: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("create an unguessable path: {0}")]
    Randomness(getrandom::Error),
}

impl ToolServer {
    #[must_use]
    pub fn new(place: ToolAddress) -> Self {
        Self(Arc::new(Inner { place, opened: OnceCell::new() }))
    }

    /// Listens from now on if the place names an address. A free port is taken only when a trial needs it.
    ///
    /// # Errors
    /// The address is in use, or is no address of this machine.
    pub async fn open_if_named(&self) -> Result<(), Error> {
        if self.named().is_some() {
            self.opened().await?;
        }
        Ok(())
    }

    /// The configured address, if there is one.
    #[must_use]
    pub fn named(&self) -> Option<SocketAddr> {
        self.0.place.named()
    }

    /// Serves these tools under their own path until the registration is dropped.
    pub(crate) async fn register(&self, tools: Arc<Tools>) -> Result<Registration, Error> {
        let opened = self.opened().await?;
        let token = token::new().map_err(Error::Randomness)?;
        Ok(opened.registry.register(token, Handler::new(tools), opened.base.clone()))
    }

    async fn opened(&self) -> Result<&Opened, Error> {
        self.0.opened.get_or_try_init(|| open(&self.0.place)).await
    }

    #[cfg(test)]
    pub(crate) fn bound(&self) -> Option<SocketAddr> {
        Some(self.0.opened.get()?.bound)
    }

    /// The number of registrations; `None` while nothing is open.
    #[cfg(test)]
    pub(crate) fn registrations(&self) -> Option<usize> {
        Some(self.0.opened.get()?.registry.len())
    }
}

async fn open(place: &ToolAddress) -> Result<Opened, Error> {
    let failed = |source| Error::Listen { address: place.listen(), source };
    let listener = TcpListener::bind(place.listen()).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let registry = Arc::new(Registry::default());
    let routes = http::routes(Arc::clone(&registry), place.hosts(bound));
    let closed = CancellationToken::new();
    let open = closed.clone().drop_guard();
    // Agents may open many connections, and conversations need descriptors too: half for each.
    let terms = Terms { most: descriptors::for_connections() / 2, ..Terms::new("tool server") };
    let door = Door::new(listener, terms);
    tokio::spawn(listen::http::serve(door, routes, async move { closed.cancelled().await }));
    let base = place.base(bound);
    tracing::info!(%bound, base, "tools are served");
    Ok(Opened {
        #[cfg(test)]
        bound,
        base,
        registry,
        _open: open,
    })
}
