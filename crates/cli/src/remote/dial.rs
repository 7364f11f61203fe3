//! Connects to a coordinator, and finds out at once whether both sides agree on TLS.

use std::{fmt, io, sync::Arc, time::Duration};

use pki::trouble::{self, Trouble};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream, rustls::ClientConfig};

use super::address::Address;
use crate::tls_words::{NEEDS_TLS, TLS_HINT};

/// For the handshake, and for the first bytes of a coordinator.
const PATIENCE: Duration = Duration::from_secs(5);
/// What every client of HTTP/2 sends first, and empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

#[derive(Debug)]
pub(super) enum DialError {
    /// Another try has the same end.
    Trouble {
        what: String,
        hint: &'static str,
    },
    Io(io::Error),
}

impl fmt::Display for DialError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trouble { what, .. } => formatter.write_str(what),
            Self::Io(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for DialError {}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A connection whose other side has accepted our certificate. In TLS 1.3 the client has finished before the server has
/// looked, so this waits for the server's first bytes: a server of HTTP/2 sends them without being asked.
pub(super) async fn encrypted(address: &Address, config: Arc<ClientConfig>) -> Result<TlsStream<TcpStream>, DialError> {
    let stream = tcp(address).await?;
    let name = address.server_name().map_err(|what| DialError::Trouble { what, hint: "" })?;
    let greeted = async {
        let mut stream = TlsConnector::from(config).connect(name, stream).await?;
        match stream.fill_buf().await?.is_empty() {
            true => Err(io::ErrorKind::UnexpectedEof.into()),
            false => Ok(stream),
        }
    };
    match timeout(PATIENCE, greeted).await {
        Ok(greeted) => greeted.map_err(|error| {
            let Trouble { what, hint } = trouble::of_coordinator(&error);
            DialError::Trouble { what, hint }
        }),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the coordinator does not finish the handshake").into()),
    }
}

/// Asks a server whether it needs TLS.
pub(super) async fn agrees_without_tls(address: &Address) -> Result<(), DialError> {
    let mut stream = tcp(address).await?;
    stream.write_all(PREFACE).await?;
    let mut said = [0; 256];
    // A coordinator with TLS says so in one piece, and every other server something else.
    let bytes = timeout(PATIENCE, stream.read(&mut said)).await.unwrap_or(Ok(0))?;
    let text = NEEDS_TLS.as_bytes();
    if said[..bytes].windows(text.len()).any(|window| window == text) {
        return Err(DialError::Trouble { what: NEEDS_TLS.to_owned(), hint: TLS_HINT });
    }
    Ok(())
}

pub(super) async fn tcp(address: &Address) -> io::Result<TcpStream> {
    let connected = timeout(PATIENCE, TcpStream::connect((address.host.as_str(), address.port))).await;
    let stream = connected.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    // Nagle's algorithm would hold small messages back for 40 ms.
    stream.set_nodelay(true)?;
    Ok(stream)
}
