//! gRPC over the simulated network.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use coordinator::{Visitor, peer};
use futures_util::{FutureExt as _, Stream, future::BoxFuture, stream};
use hyper_util::rt::TokioIo;
use pki::Peer;
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    sync::watch,
    time::timeout,
};
use tonic::transport::{Channel, Endpoint, server::Connected};

use crate::{cuts::Cuts, machine::Sockets};

/// How long one of several coordinators may take to answer; the next one may be faster.
const EACH: Duration = Duration::from_secs(2);
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// The name of its host.
pub(crate) fn coordinator(place: usize) -> String {
    format!("coordinator-{place}")
}

/// A connection that the server accepted.
pub(crate) struct Accepted {
    stream: DuplexStream,
    visitor: Visitor,
    isolated: BoxFuture<'static, ()>,
}

impl Connected for Accepted {
    type ConnectInfo = Visitor;

    fn connect_info(&self) -> Visitor {
        self.visitor.clone()
    }
}

impl AsyncRead for Accepted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.isolated.poll_unpin(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The connections to a coordinator. While `isolated` holds, they break.
pub(crate) fn accepted(
    sockets: &Sockets,
    isolated: watch::Receiver<bool>,
) -> impl Stream<Item = io::Result<Accepted>> + use<> {
    stream::unfold(sockets.listen(), move |mut guests| {
        let mut isolated = isolated.clone();
        async move {
            let (stream, from) = guests.recv().await?;
            let isolated = Box::pin(async move {
                // A sender that is gone isolates nobody.
                if isolated.wait_for(|isolated| *isolated).await.is_err() {
                    std::future::pending().await
                }
            });
            Some((Ok(Accepted { stream, visitor: Visitor::new(Some(from), Peer::Unknown), isolated }), guests))
        }
    })
}

/// A channel to the coordinators, with the pings of a real worker: each connection is to the next one that answers. `cuts`
/// breaks it.
pub(crate) fn channel(sockets: Sockets, coordinators: usize, cuts: Arc<Cuts>) -> Channel {
    let next = Arc::new(AtomicUsize::new(0));
    let connect = tower::service_fn(move |_: http::Uri| {
        let (sockets, cuts, next) = (sockets.clone(), Arc::clone(&cuts), Arc::clone(&next));
        async move {
            let mut failed = io::ErrorKind::NotConnected.into();
            for _ in 0..coordinators {
                let place = next.fetch_add(1, Ordering::Relaxed) % coordinators;
                let connected = timeout(EACH, cuts.connect(&sockets, &coordinator(place))).await;
                match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                    Ok(stream) => return Ok::<_, io::Error>(TokioIo::new(stream)),
                    Err(error) => failed = error,
                }
            }
            Err(failed)
        }
    });
    let endpoint = if coordinators > 1 { pinging(3, 6) } else { pinging(10, 20) };
    endpoint.connect_timeout(Duration::from_secs(5)).connect_with_connector_lazy(connect)
}

/// Both in seconds.
fn pinging(interval: u64, patience: u64) -> Endpoint {
    Endpoint::from_static("http://coordinator")
        .http2_keep_alive_interval(Duration::from_secs(interval))
        .keep_alive_timeout(Duration::from_secs(patience))
        .keep_alive_while_idle(true)
}

/// The way of a coordinator to another one.
#[derive(Debug, Clone)]
pub(crate) struct Between {
    sockets: Sockets,
    to: String,
}

impl Between {
    /// `address`: as [`address`] writes it.
    pub(crate) fn new(sockets: Sockets, address: &str) -> Self {
        Self { sockets, to: address.trim_start_matches("http://").to_owned() }
    }
}

/// Where others reach the coordinator at this place.
pub(crate) fn address(place: usize) -> String {
    format!("http://{}", coordinator(place))
}

impl peer::Way for Between {
    fn channel(&self) -> Channel {
        let Self { sockets, to } = self.clone();
        let connect = tower::service_fn(move |_: http::Uri| {
            let (sockets, to) = (sockets.clone(), to.clone());
            async move { sockets.connect(&to).await.map(TokioIo::new) }
        });
        pinging(10, 20).connect_with_connector_lazy(connect)
    }

    async fn answers(&self) -> bool {
        matches!(timeout(ANSWERS_WITHIN, self.sockets.connect(&self.to)).await, Ok(Ok(_)))
    }
}
