//! Which coordinator the next connection goes to, if several are named: the next one that answers.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{sleep, timeout},
};
use tokio_rustls::rustls::ClientConfig;
use tower::Service;

use super::{
    address::Address,
    dial::{self, DialError},
};

/// How long one of several may take to answer; the next one may be faster.
const EACH: Duration = Duration::from_secs(2);
/// Clients that lose a coordinator at once do not all come to the next one at once.
const LARGEST_JITTER_MILLIS: u64 = 200;

/// The TLS of the next connection; `None`: it has none.
pub(super) type Config = Arc<dyn Fn() -> Option<Arc<ClientConfig>> + Send + Sync>;

pub(super) trait Wire: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Wire for T {}

type Connected = TokioIo<Pin<Box<dyn Wire>>>;

/// The coordinators of a fleet, in turn.
#[derive(Clone)]
pub(super) struct Round {
    addresses: Arc<[Address]>,
    config: Config,
    next: Arc<AtomicUsize>,
    /// Whether there was a connection before.
    again: bool,
}

impl Round {
    /// Begins anywhere, so that a fleet of workers spreads over its coordinators.
    pub(super) fn new(addresses: Vec<Address>, config: Config) -> Self {
        let first = usize::try_from(random(addresses.len() as u64)).unwrap_or(0);
        Self { addresses: addresses.into(), config, next: Arc::new(AtomicUsize::new(first)), again: false }
    }

    /// For a channel: a connection that is opened again goes to the next coordinator, because the last one may be gone.
    pub(super) fn connector(
        mut self,
    ) -> impl Service<
        http::Uri,
        Response = Connected,
        Error = io::Error,
        Future = BoxFuture<'static, io::Result<Connected>>,
    > + Send {
        tower::service_fn(move |_: http::Uri| {
            let round = self.clone();
            self.again = true;
            let connected = async move { round.connect().await.map(TokioIo::new).map_err(io_error) };
            Box::pin(connected) as BoxFuture<'static, io::Result<Connected>>
        })
    }

    async fn connect(&self) -> Result<Pin<Box<dyn Wire>>, DialError> {
        let count = self.addresses.len();
        let mut first_error = None;
        for attempt in 0..count {
            if count > 1 && (self.again || attempt > 0) {
                sleep(Duration::from_millis(random(LARGEST_JITTER_MILLIS))).await;
            }
            // Moved on before the answer: a try that is given up meanwhile must not come back to a silent one.
            let address = &self.addresses[self.next.fetch_add(1, Ordering::Relaxed) % count];
            let opened = match count {
                1 => one(address, (self.config)()).await,
                _ => timeout(EACH, one(address, (self.config)()))
                    .await
                    .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into())),
            };
            match opened {
                Ok(wire) => return Ok(wire),
                Err(error) => first_error = worse(first_error, error),
            }
        }
        Err(first_error.unwrap_or_else(|| io::Error::from(io::ErrorKind::NotConnected).into()))
    }
}

/// Of all failures, one that another try may change, if there is one.
fn worse(before: Option<DialError>, error: DialError) -> Option<DialError> {
    match before {
        Some(known @ DialError::Io(_)) => Some(known),
        _ => Some(error),
    }
}

async fn one(address: &Address, config: Option<Arc<ClientConfig>>) -> Result<Pin<Box<dyn Wire>>, DialError> {
    Ok(match config {
        Some(config) => Box::pin(dial::encrypted(address, config).await?),
        None => Box::pin(dial::tcp(address).await?),
    })
}

fn io_error(error: DialError) -> io::Error {
    match error {
        DialError::Io(error) => error,
        trouble @ DialError::Trouble { .. } => io::Error::other(trouble),
    }
}

/// Less than `end`; 0 if that is 0. Good enough to spread clients.
fn random(end: u64) -> u64 {
    RandomState::new().build_hasher().finish() % end.max(1)
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt as _, io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    async fn listening(letter: u8) -> (String, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.write_all(&[letter]).await.unwrap();
            }
        });
        (address, task)
    }

    fn round(addresses: &[&str]) -> Round {
        Round { again: false, ..Round::new(Address::read_all(&addresses.join(",")).unwrap(), Arc::new(|| None)) }
    }

    async fn who(round: &Round) -> Result<char, DialError> {
        let mut letter = [0];
        round.connect().await?.read_exact(&mut letter).await?;
        Ok(letter[0].into())
    }

    #[tokio::test]
    async fn each_connection_goes_to_the_next_coordinator_that_answers() {
        let ((a, _a), (b, b_task)) = (listening(b'a').await, listening(b'b').await);
        let round = round(&[&a, &b, "http://127.0.0.1:1"]);
        let mut seen = String::new();
        for _ in 0..6 {
            seen.push(who(&round).await.unwrap());
        }
        assert!(seen.contains('a') && seen.contains('b'), "{seen}");
        b_task.abort();
        let _ = b_task.await;
        for _ in 0..4 {
            assert_eq!(who(&round).await.unwrap(), 'a');
        }
    }

    #[tokio::test]
    async fn with_none_that_answers_the_error_says_why() {
        let refused = who(&round(&["http://127.0.0.1:1", "http://127.0.0.1:1"])).await.unwrap_err();
        assert!(
            matches!(&refused, DialError::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused),
            "{refused}"
        );
    }
}
