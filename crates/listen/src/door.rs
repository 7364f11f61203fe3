//! Accepts connections and drops peers that send nothing.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::descriptors;

/// The pause after the first failed accept; each further failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The minimum interval between two warnings of the same kind.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(10);
/// The polling interval for a peer that has sent too few bytes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
const MOST_FIRST_BYTES: usize = 24;

/// The requirements of a listener.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// The listener's name in warnings, such as `coordinator`.
    pub name: &'static str,
    /// The maximum number of connections; more wait in the system's queue.
    pub most: usize,
    /// The timeout for a peer's first bytes.
    pub first_word: Duration,
    /// The number of these bytes, at most 24: every client of the protocol sends at least this many first.
    pub first_bytes: usize,
}

impl Terms {
    /// For protocols whose clients first send at least one byte.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, most: descriptors::for_connections(), first_word: Duration::from_secs(10), first_bytes: 1 }
    }

    /// For clients that send the HTTP/2 preface first.
    #[must_use]
    pub fn http2(name: &'static str) -> Self {
        Self { first_bytes: MOST_FIRST_BYTES, ..Self::new(name) }
    }
}

/// A connection that occupies one place of the limit.
#[derive(Debug)]
pub struct Guest {
    pub stream: TcpStream,
    pub place: OwnedSemaphorePermit,
}

#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
    terms: Terms,
    room: Arc<Semaphore>,
    /// Accepted peers that have sent nothing yet.
    silent: JoinSet<Option<Guest>>,
    pause: Duration,
    warned: Option<Instant>,
}

impl Door {
    #[must_use]
    pub fn new(listener: TcpListener, terms: Terms) -> Self {
        let room = Arc::new(Semaphore::new(terms.most.clamp(1, Semaphore::MAX_PERMITS)));
        Self { listener, terms, room, silent: JoinSet::new(), pause: FIRST_PAUSE, warned: None }
    }

    /// The next connection that has sent its first bytes. Cancel-safe.
    pub async fn next(&mut self) -> Guest {
        loop {
            if self.room.available_permits() == 0 {
                self.warn(&format!("{} connections are open, and others wait", self.terms.most));
            }
            let accepted = tokio::select! {
                Some(spoken) = self.silent.join_next() => match spoken {
                    Ok(Some(guest)) => return guest,
                    _ => continue,
                },
                accepted = accept(&self.listener, &self.room) => accepted,
            };
            match accepted {
                Ok(guest) => {
                    self.pause = FIRST_PAUSE;
                    self.silent.spawn(speaks(guest, self.terms));
                }
                // The peer is gone already; that is not an error.
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    self.warn(&format!("no connection can be accepted: {error}"));
                    // At the descriptor limit, accept fails immediately every time, which would keep a core busy.
                    sleep(self.pause).await;
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn warn(&mut self, trouble: &str) {
        if self.warned.is_none_or(|warned| warned.elapsed() >= BETWEEN_WARNINGS) {
            self.warned = Some(Instant::now());
            tracing::warn!(listener = self.terms.name, descriptors = descriptors::limit(), "{trouble}");
        }
    }
}

/// Waits for a free place first: a connection in the system's queue costs nothing.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> io::Result<Guest> {
    let place = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok(Guest { stream, place })
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted | Kind::ConnectionReset | Kind::ConnectionRefused | Kind::Interrupted
    )
}

/// The connection after its peer's first bytes, or nothing after the timeout, which closes it.
async fn speaks(guest: Guest, terms: Terms) -> Option<Guest> {
    let heard = timeout(terms.first_word, first_bytes(&guest.stream, terms.first_bytes)).await;
    match heard {
        Ok(true) => Some(guest),
        Ok(false) => None,
        Err(_) => {
            tracing::debug!(listener = terms.name, "closes a connection that sent nothing");
            None
        }
    }
}

/// Whether enough bytes came; `false` if the peer is gone.
async fn first_bytes(stream: &TcpStream, bytes: usize) -> bool {
    let mut seen = [0; MOST_FIRST_BYTES];
    let bytes = bytes.clamp(1, MOST_FIRST_BYTES);
    loop {
        match stream.peek(&mut seen[..bytes]).await {
            Ok(0) | Err(_) => return false,
            Ok(some) if some >= bytes => return true,
            Ok(_) => sleep(BETWEEN_LOOKS).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn door(most: usize, first_bytes: usize) -> (Door, std::net::SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let terms = Terms { name: "test", most, first_word: Duration::from_millis(200), first_bytes };
        (Door::new(listener, terms), address)
    }

    /// Whether the other side has closed it.
    async fn is_closed(stream: &mut TcpStream) -> bool {
        matches!(stream.read(&mut [0]).await, Ok(0) | Err(_))
    }

    #[tokio::test]
    async fn who_says_nothing_is_shown_out_and_makes_room() {
        let (mut door, address) = door(3, 4).await;
        let mut silent = Vec::new();
        for said in [&b""[..], b"a", b"abc"] {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(said).await.expect("sent");
            silent.push(stream);
        }
        // There is no place for it until another connection closes.
        let mut speaker = TcpStream::connect(address).await.expect("a connection");
        speaker.write_all(b"abcd").await.expect("sent");
        let mut guest = door.next().await;
        let mut said = [0; 4];
        guest.stream.read_exact(&mut said).await.expect("what was said is still there");
        assert_eq!(&said, b"abcd");
        drop(guest);
        let closed = async {
            for stream in &mut silent {
                assert!(is_closed(stream).await);
            }
        };
        tokio::select! {
            () = closed => {}
            _ = door.next() => panic!("nobody else has spoken"),
        }
    }

    #[tokio::test]
    async fn who_goes_again_leaves_the_place() {
        let (mut door, address) = door(1, 1).await;
        drop(TcpStream::connect(address).await.expect("a connection"));
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(b"x").await.expect("sent");
        let first = door.next().await;
        let mut second = TcpStream::connect(address).await.expect("a connection");
        second.write_all(b"y").await.expect("sent");
        assert!(timeout(Duration::from_millis(50), door.next()).await.is_err(), "one at a time");
        drop(first);
        assert_eq!(door.next().await.stream.peer_addr().ok(), second.local_addr().ok());
    }

    #[test]
    fn only_the_peers_own_troubles_are_passed_over() {
        let of = |code| is_of_the_peer(&io::Error::from_raw_os_error(code));
        // EMFILE, ENFILE, ENOBUFS, ENOMEM; then ECONNABORTED, EINTR.
        assert_eq!([24, 23, 105, 12].map(of), [false; 4]);
        assert_eq!([103, 4].map(of), [true; 2]);
    }
}
