//! The accepted connections of a coordinator, in the form that the gRPC server needs.

mod handshake;
mod still_valid;

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use coordinator::Visitor;
use listen::{Door, Guest, Terms};
use pki::{Authority, Peer};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, watch},
    task::JoinSet,
};
use tokio_rustls::server::TlsStream;
use tokio_stream::Stream;
use tonic::transport::server::Connected;

use self::{handshake::Refusals, still_valid::StillValid};

/// A connection that gives its place back when it is closed.
#[derive(Debug)]
pub(crate) struct Incoming {
    wire: Wire,
    visitor: Visitor,
    still_valid: StillValid,
    _place: OwnedSemaphorePermit,
}

#[derive(Debug)]
enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The endless stream of a listener's connections. With an authority they are encrypted, and each is checked with what the
/// authority trusts at that moment. While `isolated` holds, connections are closed, so that their clients go elsewhere.
pub(crate) fn incoming(
    listener: TcpListener,
    authority: Option<Arc<Authority>>,
    isolated: watch::Receiver<bool>,
) -> impl Stream<Item = io::Result<Incoming>> {
    let door = Door::new(listener, Terms::http2("coordinator"));
    let house = House { authority, isolated, refusals: Arc::new(Refusals::default()) };
    let state = (door, JoinSet::new(), house);
    futures_util::stream::unfold(state, async |(mut door, mut opening, house)| {
        loop {
            tokio::select! {
                // A handshake waits for its peer, so others go on meanwhile.
                guest = door.next() => {
                    opening.spawn(handshake::open(guest, house.clone()));
                }
                Some(opened) = opening.join_next() => {
                    if let Ok(Some(incoming)) = opened {
                        return Some((Ok(incoming), (door, opening, house)));
                    }
                }
            }
        }
    })
}

/// What all connections of a listener share.
#[derive(Debug, Clone)]
struct House {
    authority: Option<Arc<Authority>>,
    isolated: watch::Receiver<bool>,
    refusals: Arc<Refusals>,
}

impl Incoming {
    fn plain(guest: Guest, address: Option<SocketAddr>, isolated: watch::Receiver<bool>) -> Self {
        let visitor = Visitor::new(address, Peer::Unknown);
        let still_valid = StillValid::new(None, Peer::Unknown, isolated);
        Self { wire: Wire::Plain(guest.stream), visitor, still_valid, _place: guest.place }
    }
}

impl Connected for Incoming {
    type ConnectInfo = Visitor;

    fn connect_info(&self) -> Visitor {
        self.visitor.clone()
    }
}

/// The same method of either wire.
macro_rules! on_wire {
    ($self:ident . $method:ident ( $($argument:expr),* )) => {
        match &mut $self.wire {
            Wire::Plain(stream) => Pin::new(stream).$method($($argument),*),
            Wire::Tls(stream) => Pin::new(stream).$method($($argument),*),
        }
    };
}

impl AsyncRead for Incoming {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(over) = self.still_valid.poll_over(cx) {
            return Poll::Ready(Err(over));
        }
        on_wire!(self.poll_read(cx, buf))
    }
}

impl AsyncWrite for Incoming {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        on_wire!(self.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_wire!(self.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            Wire::Plain(stream) => stream.is_write_vectored(),
            Wire::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_wire!(self.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_wire!(self.poll_shutdown(cx))
    }
}
