//! HTTP/1 behind a [`Door`]: time limits for the head and the body of each request, and an end that waits for answers.

mod timely;

use std::{convert::Infallible, error::Error, future::Future, time::Duration};

use http::{Request, Response};
use hyper::{body::Body, server::conn::http1::Builder};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service;

use crate::{Door, Guest};

use self::timely::Timely;
pub use self::timely::TimelyBody;

#[derive(Debug, Clone, Copy)]
struct Limits {
    /// For the head of a request, and between two requests on one connection.
    head: Duration,
    /// For the body of a request, from its head on.
    body: Duration,
}

impl Limits {
    const USUAL: Self = Self {
        // Longer than clients keep connections that they do not use.
        head: Duration::from_secs(75),
        // The largest body, a conversation of 16 MiB, needs a link of 600 KB/s.
        body: Duration::from_secs(30),
    };
}

/// Serves until `shutdown` is ready, then finishes the current requests.
pub async fn serve<S, B>(door: Door, service: S, shutdown: impl Future<Output = ()>)
where
    S: Service<Request<TimelyBody>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    serve_within(door, service, shutdown, Limits::USUAL).await;
}

async fn serve_within<S, B>(mut door: Door, service: S, shutdown: impl Future<Output = ()>, limits: Limits)
where
    S: Service<Request<TimelyBody>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (open, ending) = (TaskTracker::new(), CancellationToken::new());
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let Guest { stream, place } = tokio::select! {
            guest = door.next() => guest,
            () = &mut shutdown => break,
        };
        // Nagle's algorithm would delay small answers by 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no nodelay on this socket");
        }
        let service = TowerToHyperService::new(Timely::new(service.clone(), limits.body));
        let ending = ending.clone();
        open.spawn(async move {
            let mut builder = Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(limits.head);
            let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = ending.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended badly");
            }
            drop(place);
        });
    }
    drop(door);
    ending.cancel();
    open.close();
    open.wait().await;
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use http_body_util::{BodyExt as _, Full};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
        sync::oneshot,
    };

    use super::*;
    use crate::Terms;

    const SHORT: Limits = Limits { head: Duration::from_millis(200), body: Duration::from_millis(200) };

    async fn served() -> (std::net::SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        // As axum does, it answers a body that breaks off with 400.
        let answer = tower::service_fn(async |request: Request<TimelyBody>| {
            let whole = request.into_body().collect().await.is_ok();
            let mut response = Response::new(Full::new(bytes::Bytes::from_static(b"here")));
            *response.status_mut() = if whole { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            Ok::<_, Infallible>(response)
        });
        let door = Door::new(listener, Terms::new("test"));
        let stopped = async move { stopped.await.unwrap_or_default() };
        (address, stop, tokio::spawn(serve_within(door, answer, stopped, SHORT)))
    }

    #[tokio::test]
    async fn a_head_that_never_ends_and_a_connection_that_is_kept_for_nothing_are_closed() {
        let (address, stop, served) = served().await;
        for said in ["GET / HTTP/1.1\r\nhost: x", "GET / HTTP/1.1\r\nhost: x\r\n\r\n"] {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(said.as_bytes()).await.expect("sent");
            let mut answer = String::new();
            // It ends, though the client has closed nothing.
            let _ = stream.read_to_string(&mut answer).await;
            assert_eq!(answer.ends_with("here"), said.ends_with("\r\n\r\n"), "{answer}");
        }
        stop.send(()).expect("it is served");
        served.await.expect("it ends");
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_in_time_gets_408_and_its_connection_ends() {
        let (address, _stop, _served) = served().await;
        // Nothing of it, and a byte now and then: the limit is on the whole.
        for pause in [None, Some(Duration::from_millis(20))] {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n";
            stream.write_all(head).await.expect("sent");
            let (mut read, mut write) = stream.split();
            let dripping = async {
                while let Some(pause) = pause {
                    tokio::time::sleep(pause).await;
                    if write.write_all(b"x").await.is_err() {
                        break;
                    }
                }
                std::future::pending::<()>().await;
            };
            let mut answer = Vec::new();
            tokio::select! {
                // A reset after the answer is an end too.
                _ = read.read_to_end(&mut answer) => {}
                () = dripping => {}
            }
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
            assert!(answer.contains("connection: close"), "{answer}");
        }
    }

    #[tokio::test]
    async fn a_body_that_comes_in_pieces_but_in_time_is_read() {
        let (address, _stop, _served) = served().await;
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let head = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 4\r\n\r\n";
        stream.write_all(head).await.expect("sent");
        for piece in [b"ab", b"cd"] {
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.write_all(piece).await.expect("sent");
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
}
