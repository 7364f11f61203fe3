//! gRPC over the simulated network.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Stream, stream};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::{Channel, Endpoint, server::Connected};
use turmoil::net::{TcpListener, TcpStream};

use crate::cuts::Cuts;

pub(crate) const COORDINATOR: &str = "coordinator";
const PORT: u16 = 7400;

/// A connection that the server accepted.
pub(crate) struct Accepted(TcpStream);

impl Connected for Accepted {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Accepted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// The connections to the coordinator's port, on the coordinator's host.
pub(crate) async fn accepted() -> io::Result<impl Stream<Item = io::Result<Accepted>>> {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    Ok(stream::unfold(listener, |listener| async move {
        let connection = listener.accept().await.map(|(stream, _)| Accepted(stream));
        Some((connection, listener))
    }))
}

/// A channel to the coordinator, with the pings of a real worker. `cuts` breaks it.
pub(crate) fn channel(cuts: Arc<Cuts>) -> Channel {
    let connect = tower::service_fn(move |_: http::Uri| {
        let cuts = Arc::clone(&cuts);
        async move { Ok::<_, io::Error>(TokioIo::new(cuts.connect((COORDINATOR, PORT)).await?)) }
    });
    Endpoint::from_static("http://coordinator")
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(20))
        .keep_alive_while_idle(true)
        .connect_timeout(Duration::from_secs(5))
        .connect_with_connector_lazy(connect)
}
