//! HTTP/1 behind a [`Door`]: a time for every head, and an end that waits for answers.

use std::{convert::Infallible, error::Error, future::Future, time::Duration};

use http::{Request, Response};
use hyper::{
    body::{Body, Incoming},
    server::conn::http1::Builder,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service;

use crate::{Door, Guest};

/// For the head of a request, and between two requests on one connection: longer than clients keep theirs.
const HEAD: Duration = Duration::from_secs(75);

/// Serves until `shutdown` is ready, then waits until requests that are being answered have ended.
pub async fn serve<S, B>(door: Door, service: S, shutdown: impl Future<Output = ()>)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    serve_within(door, service, shutdown, HEAD).await;
}

async fn serve_within<S, B>(mut door: Door, service: S, shutdown: impl Future<Output = ()>, head: Duration)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
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
        // Nagle's algorithm would hold small answers back for 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no nodelay on this socket");
        }
        let service = TowerToHyperService::new(service.clone());
        let ending = ending.clone();
        open.spawn(async move {
            let mut builder = Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(head);
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
    use http_body_util::Full;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
        sync::oneshot,
    };

    use super::*;
    use crate::Terms;

    async fn served(head: Duration) -> (std::net::SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let answer = tower::service_fn(async |_: Request<Incoming>| {
            Ok::<_, Infallible>(Response::new(Full::new(bytes::Bytes::from_static(b"here"))))
        });
        let door = Door::new(listener, Terms::new("test"));
        let stopped = async move { stopped.await.unwrap_or_default() };
        (address, stop, tokio::spawn(serve_within(door, answer, stopped, head)))
    }

    #[tokio::test]
    async fn a_head_that_never_ends_and_a_connection_that_is_kept_for_nothing_are_closed() {
        let (address, stop, served) = served(Duration::from_millis(200)).await;
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
}
