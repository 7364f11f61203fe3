//! Opens a connection: TLS if the coordinator has it. Both sides learn why one is not opened.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use coordinator::Visitor;
use listen::Guest;
use pki::{Authority, trouble};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
    time::{Instant, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::{House, Incoming, StillValid, Wire};
use crate::tls_words::NEEDS_TLS;

/// A client that takes longer for its part of the handshake is gone.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a refused client may take to make its first call, and then to read why it is refused.
const FAREWELL: Duration = Duration::from_secs(1);
/// The length of what every client of HTTP/2 sends first, of a frame's head, and the type of the frame that begins a call.
const PREFACE_BYTES: usize = 24;
const HEAD_BYTES: usize = 9;
const HEADERS: u8 = 1;
/// Enough for the first call of every client of gabfest.
const MOST_ASKED_BYTES: usize = 16 << 10;
/// The first byte of a client that speaks TLS.
const TLS_HANDSHAKE: u8 = 0x16;
/// The error code of HTTP/2 for a connection that is not safe enough.
const INADEQUATE_SECURITY: u8 = 0x0c;

/// `None`: it is not opened.
pub(super) async fn open(guest: Guest, house: House) -> Option<Incoming> {
    let House { authority, isolated, refusals } = house;
    // Nagle's algorithm would hold small messages back for 40 ms.
    if let Err(error) = guest.stream.set_nodelay(true) {
        tracing::debug!(%error, "no nodelay on this socket");
    }
    let address = guest.stream.peer_addr().ok();
    let mut first = [0; 3];
    // The door has waited for these bytes.
    let peeked = guest.stream.peek(&mut first).await.unwrap_or_default();
    let opened = match authority {
        None if peeked > 0 && first[0] == TLS_HANDSHAKE => {
            Err("it speaks TLS, and this coordinator has none; it needs an address with http://".to_owned())
        }
        None => return Some(Incoming::plain(guest, address, isolated)),
        Some(_) if first == *b"PRI" => {
            send_away(guest.stream).await;
            Err("it does not speak TLS; it needs an address with https://".to_owned())
        }
        Some(authority) => encrypted(guest, address, authority, isolated).await,
    };
    opened.map_err(|reason| refusals.warn(address, &reason)).ok()
}

async fn encrypted(
    guest: Guest,
    address: Option<SocketAddr>,
    authority: Arc<Authority>,
    isolated: watch::Receiver<bool>,
) -> Result<Incoming, String> {
    let accepted = timeout(HANDSHAKE, TlsAcceptor::from(authority.server()).accept(guest.stream)).await;
    let stream = accepted.map_err(|_| "it does not finish the handshake".to_owned())?;
    let stream = stream.map_err(|error| trouble::of_client(&error))?;
    let peer = Authority::peer(stream.get_ref().1.peer_certificates()).map_err(|error| error.to_string())?;
    let still_valid = StillValid::new(Some(authority), peer.clone(), isolated);
    let visitor = Visitor::new(address, peer);
    Ok(Incoming { wire: Wire::Tls(Box::new(stream)), visitor, still_valid, _place: guest.place })
}

/// Tells a client of HTTP/2 without TLS why it is sent away, in the frames that it understands.
async fn send_away(mut stream: TcpStream) {
    // A client whose connection ends before its first call reports only that, and not the reason.
    let _ = timeout(FAREWELL, first_call(&mut stream)).await;
    let mut frames = vec![0, 0, 0, 4, 0, 0, 0, 0, 0];
    let length = u8::try_from(8 + NEEDS_TLS.len()).unwrap_or(u8::MAX);
    frames.extend([0, 0, length, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INADEQUATE_SECURITY]);
    frames.extend(NEEDS_TLS.as_bytes());
    let said = async {
        stream.write_all(&frames).await?;
        stream.shutdown().await?;
        // A socket with unread bytes is reset when it is closed, and the frames would be lost.
        while stream.read(&mut [0; 256]).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    let _ = timeout(FAREWELL, said).await;
}

/// Reads until the client has made a call.
async fn first_call(stream: &mut TcpStream) -> io::Result<()> {
    let mut said = Vec::new();
    while !has_call(&said) && said.len() < MOST_ASKED_BYTES && stream.read_buf(&mut said).await? > 0 {}
    Ok(())
}

fn has_call(said: &[u8]) -> bool {
    let mut frames = said.get(PREFACE_BYTES..).unwrap_or_default();
    while let Some(&[high, middle, low, kind]) = frames.first_chunk() {
        if kind == HEADERS {
            return true;
        }
        let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        frames = frames.get(HEAD_BYTES + length..).unwrap_or_default();
    }
    false
}

/// Keeps a client that tries again and again from filling the log.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<(Option<Instant>, u32)>);

impl Refusals {
    const PERIOD: Duration = Duration::from_secs(10);
    const MOST: u32 = 20;

    fn warn(&self, address: Option<SocketAddr>, reason: &str) {
        let address = address.map(|address| address.to_string()).unwrap_or_default();
        if self.may_warn(Instant::now()) {
            tracing::warn!(address, reason, "a connection is refused");
        } else {
            tracing::debug!(address, reason, "a connection is refused");
        }
    }

    fn may_warn(&self, now: Instant) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0.is_none_or(|since| now.duration_since(since) >= Self::PERIOD) {
            *state = (Some(now), 0);
        }
        state.1 += 1;
        state.1 <= Self::MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_tries_again_and_again_does_not_fill_the_log() {
        let refusals = Refusals::default();
        let warned = |times: u32| (0..times).filter(|_| refusals.may_warn(Instant::now())).count();
        assert_eq!(warned(1_000), 20);
        tokio::time::advance(Refusals::PERIOD).await;
        assert_eq!(warned(5), 5);
    }

    #[test]
    fn a_call_begins_with_its_headers() {
        let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
        let preface: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let before = [preface, &settings].concat();
        assert!(!has_call(b"") && !has_call(preface) && !has_call(&before));
        assert!(!has_call(&[&before[..], &[0, 0]].concat()), "a head that is cut");
        assert!(has_call(&[&before[..], &[0, 0, 1, HEADERS, 4, 0, 0, 0, 1]].concat()));
    }
}
