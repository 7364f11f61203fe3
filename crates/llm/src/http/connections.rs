//! The open connections of an endpoint. A call takes one that waits or opens one, and gives it back when its answer is read.
//!
//! hyper-util has such a pool. Its calls take 3 KB more each while they wait, spawn tasks, and hide when a connection was
//! established, which this pool reports: connecting is no part of a call's latency.
//!
//! No connection has a task of its own. It reads and writes while a call waits for it, in the task of the call, so that
//! no piece of an answer goes from task to task ([`work`]). One that waits for a call does nothing; the pool looks from time to time
//! whether its server has closed it.

mod work;

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    io,
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ::http::{
    HeaderMap, HeaderValue, Request, Response, Uri,
    header::HOST,
    uri::{Authority, PathAndQuery, Scheme},
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use tokio::{
    task::yield_now,
    time::{Instant, sleep, timeout},
};
use tower::{BoxError, Service};

use self::work::Work;
use super::stream::Stream;

/// Servers close idle connections after about a minute, so keeping them longer is useless.
const KEPT_IDLE: Duration = Duration::from_secs(90);
/// Between two looks at the connections that wait. Those that their servers have closed hold a descriptor until then.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(5);
/// So many are looked at before other tasks of the thread run.
const LOOKED_AT_ONCE: usize = 32;
/// How long a call waits for a connection that is not ready. It never is if the server has answered without reading the
/// whole request.
const READY_WITHIN: Duration = Duration::from_millis(5);

/// `C` connects.
#[derive(Debug)]
pub(super) struct Connections<C> {
    connector: C,
    within: Duration,
    idle: Arc<Idle>,
}

/// Connections that wait for a call.
#[derive(Debug, Default)]
struct Idle {
    servers: Mutex<HashMap<(Scheme, Authority), Arc<Server>>>,
    /// A task closes those that wait for too long.
    is_watched: AtomicBool,
}

/// The waiting connections to one server, and since when they wait. The last one to come is the first to go.
#[derive(Debug, Default)]
struct Server(Mutex<VecDeque<(Open, Instant)>>);

/// An open connection.
#[derive(Debug)]
struct Open {
    sends: SendRequest<Full<Bytes>>,
    work: Work,
}

/// A connection while a call uses it.
#[derive(Debug)]
pub(super) struct Taken {
    open: Open,
    server: Arc<Server>,
}

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) response: Response<Incoming>,
    pub(super) connection: Taken,
    /// When the connection was established, if the call had to open it.
    pub(super) connected_at: Option<Instant>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("the address has no host")]
    NoHost,
    #[error("failed to connect")]
    Connect(#[source] BoxError),
    /// `reused`: the connection was open already, so the server may have closed it before the call came.
    #[error("failed to call")]
    Call { source: hyper::Error, reused: bool },
}

impl<C> Connections<C>
where
    C: Service<Uri, Response = Stream, Error = BoxError, Future: Send> + Clone,
{
    pub(super) fn new(connector: C, within: Duration) -> Self {
        Self { connector, within, idle: Arc::default() }
    }

    /// The head of the answer to a call to this address. The call is built when its connection is at hand: a call that waits
    /// would keep room for it.
    pub(super) async fn send(&self, uri: &Uri, call: impl FnOnce() -> Request<Full<Bytes>>) -> Result<Head, Broken> {
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else { return Err(Broken::NoHost) };
        let server = self.idle.server(scheme, authority);
        let (mut open, connected_at) = match server.take().await {
            Some(open) => (open, None),
            // Boxed, because most calls find a connection and thousands wait at once.
            None => {
                let open = Box::pin(self.connect(uri.clone())).await?;
                (open, Some(Instant::now()))
            }
        };
        let answer = open.sends.send_request(addressed(call(), uri));
        match open.work.until(answer).await {
            Ok(response) => Ok(Head { response, connection: Taken { open, server }, connected_at }),
            Err(source) => Err(Broken::Call { source, reused: connected_at.is_none() }),
        }
    }

    async fn connect(&self, uri: Uri) -> Result<Open, Broken> {
        let mut connector = self.connector.clone();
        let connecting = async {
            poll_fn(|context| connector.poll_ready(context)).await?;
            connector.call(uri).await
        };
        let Ok(connected) = timeout(self.within, connecting).await else {
            let message = format!("no connection within {} ms", self.within.as_millis());
            return Err(Broken::Connect(io::Error::new(io::ErrorKind::TimedOut, message).into()));
        };
        let stream = connected.map_err(Broken::Connect)?;
        let (sends, work) = http1::handshake(stream).await.map_err(|error| Broken::Connect(error.into()))?;
        self.idle.watch();
        Ok(Open { sends, work: Work::new(work) })
    }
}

impl Idle {
    fn server(&self, scheme: &Scheme, authority: &Authority) -> Arc<Server> {
        let key = (scheme.clone(), authority.clone());
        Arc::clone(self.lock().entry(key).or_default())
    }

    /// Closes connections that wait for too long or that their servers have closed, as long as there are any.
    fn watch(self: &Arc<Self>) {
        if self.is_watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let idle: Weak<Self> = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                sleep(LOOKED_AT_EVERY).await;
                let Some(idle) = idle.upgrade() else { return };
                let servers: Vec<_> = idle.lock().values().cloned().collect();
                for server in servers {
                    server.close_unusable().await;
                }
                let mut servers = idle.lock();
                // A server that a call uses is kept: its connection comes back.
                servers.retain(|_, server| !server.lock().is_empty() || Arc::strong_count(server) > 1);
                if servers.is_empty() {
                    return idle.is_watched.store(false, Ordering::Relaxed);
                }
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Scheme, Authority), Arc<Server>>> {
        self.servers.lock().expect("no panic happens while it is locked")
    }
}

impl Server {
    async fn take(&self) -> Option<Open> {
        loop {
            let (mut open, since) = self.lock().pop_back()?;
            if since.elapsed() < KEPT_IDLE && open.is_usable() && open.is_ready().await {
                return Some(open);
            }
        }
    }

    /// Closes those that have waited for too long, or that the server has closed. Calls go on meanwhile: they take and bring
    /// back the last ones.
    async fn close_unusable(&self) {
        let mut next = 0;
        while self.close_unusable_of(&mut next) {
            yield_now().await;
        }
    }

    /// The same with a few of them, from the one at `next` on. Returns whether there are more.
    fn close_unusable_of(&self, next: &mut usize) -> bool {
        let mut waiting = self.lock();
        for _ in 0..LOOKED_AT_ONCE {
            let Some((open, since)) = waiting.get_mut(*next) else { return false };
            if since.elapsed() < KEPT_IDLE && open.is_usable() {
                *next += 1;
            } else {
                waiting.remove(*next);
            }
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Open, Instant)>> {
        self.0.lock().expect("no panic happens while it is locked")
    }
}

impl Open {
    /// Whether it is open, after it has done what can be done now.
    fn is_usable(&mut self) -> bool {
        self.work.is_open() && !self.sends.is_closed()
    }

    /// Whether it takes a call now, or in a moment.
    async fn is_ready(&mut self) -> bool {
        if self.sends.is_ready() {
            return true;
        }
        let ready = self.work.until(self.sends.ready());
        matches!(timeout(READY_WITHIN, ready).await, Ok(Ok(())))
    }
}

impl Taken {
    /// Lets the connection read and write until `wait` is over, which must wait for nothing but its answer.
    pub(super) async fn working<T>(&mut self, wait: impl Future<Output = T>) -> T {
        self.open.work.until(wait).await
    }

    /// Another call may use it: the answer is read.
    pub(super) fn give_back(mut self) {
        if self.open.is_usable() {
            self.server.lock().push_back((self.open, Instant::now()));
        }
    }
}

/// The call as it is sent: with a path for its address, and the host in a header.
fn addressed(mut call: Request<Full<Bytes>>, uri: &Uri) -> Request<Full<Bytes>> {
    add_host(call.headers_mut(), uri);
    let path = uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    *call.uri_mut() = Uri::from(path);
    call
}

/// Adds the host of the address, unless the headers name one.
pub(crate) fn add_host(headers: &mut HeaderMap, uri: &Uri) {
    if let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) {
        headers.entry(HOST).or_insert_with(|| host(scheme, authority));
    }
}

/// The host of an address, with its port unless that is the usual one.
fn host(scheme: &Scheme, authority: &Authority) -> HeaderValue {
    let usual = if *scheme == Scheme::HTTPS { 443 } else { 80 };
    let host = match authority.port_u16().filter(|port| *port != usual) {
        None => HeaderValue::from_str(authority.host()),
        Some(port) => HeaderValue::from_maybe_shared(Bytes::from(format!("{}:{port}", authority.host()))),
    };
    host.expect("a host is ASCII without control characters")
}

#[cfg(test)]
mod tests;
