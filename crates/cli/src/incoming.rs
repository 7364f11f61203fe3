//! The accepted connections of a coordinator, in the form that the gRPC server needs.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use listen::{Door, Guest, Terms};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::OwnedSemaphorePermit,
};
use tokio_stream::Stream;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// A connection that gives its place back when it is closed.
#[derive(Debug)]
pub(crate) struct Incoming {
    stream: TcpStream,
    _place: OwnedSemaphorePermit,
}

/// The endless stream of a listener's connections.
pub(crate) fn incoming(listener: TcpListener) -> impl Stream<Item = io::Result<Incoming>> {
    futures_util::stream::unfold(Door::new(listener, Terms::http2("coordinator")), async |mut door| {
        let Guest { stream, place } = door.next().await;
        // Nagle's algorithm would hold small messages back for 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no nodelay on this socket");
        }
        Some((Ok(Incoming { stream, _place: place }), door))
    })
}

impl Connected for Incoming {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Incoming {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Incoming {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
