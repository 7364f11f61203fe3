//! The machines of the simulated network: each carries the connections of its process, which may be paused, like a kernel.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{DuplexStream, copy_bidirectional, duplex},
    sync::{mpsc, oneshot},
};
use turmoil::net::{TcpListener, TcpStream};

const PORT: u16 = 7400;
/// What a connection holds that its process has not read, or the network has not taken.
const BUFFER_BYTES: usize = 64 << 10;

/// A connection that a machine accepted, and from where.
pub(crate) type Guest = (DuplexStream, SocketAddr);

/// What a process asks of its machine.
#[derive(Debug)]
pub(crate) enum Ask {
    Connect { to: String, reply: oneshot::Sender<io::Result<DuplexStream>> },
    Listen { guests: mpsc::UnboundedSender<Guest> },
}

/// A process's way to the network.
#[derive(Debug, Clone)]
pub(crate) struct Sockets(mpsc::UnboundedSender<Ask>);

impl Sockets {
    /// With what its machine hears.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Ask>) {
        let (asks, heard) = mpsc::unbounded_channel();
        (Self(asks), heard)
    }

    /// A connection to the port of another machine.
    pub(crate) async fn connect(&self, to: &str) -> io::Result<DuplexStream> {
        let (reply, connected) = oneshot::channel();
        let asked = self.0.send(Ask::Connect { to: to.to_owned(), reply });
        asked.map_err(|_| io::Error::from(io::ErrorKind::NetworkDown))?;
        connected.await.unwrap_or_else(|_| Err(io::ErrorKind::NetworkDown.into()))
    }

    /// The connections to the port of this machine.
    pub(crate) fn listen(&self) -> mpsc::UnboundedReceiver<Guest> {
        let (guests, accepted) = mpsc::unbounded_channel();
        // A machine that is gone accepts nothing.
        let _ = self.0.send(Ask::Listen { guests });
        accepted
    }
}

/// The asks of the present process of a machine, which starts anew with each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slot(Arc<Mutex<Option<mpsc::UnboundedReceiver<Ask>>>>);

impl Slot {
    pub(crate) fn set(&self, asks: mpsc::UnboundedReceiver<Ask>) {
        *self.0.lock().unwrap() = Some(asks);
    }

    /// Serves the process until the machine is killed.
    pub(crate) async fn serve(self) -> turmoil::Result {
        let asks = self.0.lock().unwrap().take();
        serve(asks.unwrap()).await
    }
}

pub(crate) async fn serve(mut asks: mpsc::UnboundedReceiver<Ask>) -> turmoil::Result {
    while let Some(ask) = asks.recv().await {
        match ask {
            Ask::Connect { to, reply } => {
                tokio::spawn(async move {
                    let connected = TcpStream::connect((to.as_str(), PORT)).await;
                    let (ours, theirs) = duplex(BUFFER_BYTES);
                    let (wire, answer) = match connected {
                        Ok(wire) => (Some(wire), Ok(theirs)),
                        Err(error) => (None, Err(error)),
                    };
                    // Nobody waits for it any more if it cannot be given.
                    if reply.send(answer).is_ok()
                        && let Some(wire) = wire
                    {
                        carry(wire, ours).await;
                    }
                });
            }
            Ask::Listen { guests } => {
                let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
                tokio::spawn(async move {
                    while let Ok((wire, from)) = listener.accept().await {
                        let (ours, theirs) = duplex(BUFFER_BYTES);
                        if guests.send((theirs, from)).is_err() {
                            return;
                        }
                        tokio::spawn(carry(wire, ours));
                    }
                });
            }
        }
    }
    // The process has ended; what it sent is still carried.
    std::future::pending().await
}

/// Until both sides have closed it, or it breaks.
async fn carry(mut wire: TcpStream, mut process: DuplexStream) {
    let _ = copy_bidirectional(&mut wire, &mut process).await;
}
