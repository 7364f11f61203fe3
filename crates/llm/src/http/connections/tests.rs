use std::net::SocketAddr;

use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::advance,
};
use tower::service_fn;

use super::*;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";

/// A server that answers each call so, and counts its connections; what it reads goes to `heard`.
async fn server(answer: &'static [u8]) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let connections = Arc::clone(&heard);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("it accepts");
            let number = {
                let mut connections = connections.lock().expect("no panic");
                connections.push(String::new());
                connections.len() - 1
            };
            let connections = Arc::clone(&connections);
            tokio::spawn(async move {
                let mut bytes = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut bytes).await {
                    let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                    connections.lock().expect("no panic")[number].push_str(&text);
                    stream.write_all(answer).await.expect("it is read");
                }
            });
        }
    });
    (address, heard)
}

fn tcp() -> impl Service<Uri, Response = Stream, Error = BoxError, Future: Send> + Clone {
    service_fn(|uri: Uri| async move {
        let address = uri.authority().expect("it has a host").as_str().to_owned();
        let stream = TcpStream::connect(address).await?;
        Ok::<_, BoxError>(Stream::Plain(TokioIo::new(stream)))
    })
}

fn uri(address: SocketAddr) -> Uri {
    format!("http://{address}/path?a=b").parse().expect("it is an address")
}

fn call() -> Request<Full<Bytes>> {
    Request::new(Full::default())
}

/// Sends a call and reads its answer. Returns whether it had to connect.
async fn talk<C>(connections: &Connections<C>, address: SocketAddr) -> bool
where
    C: Service<Uri, Response = Stream, Error = BoxError, Future: Send> + Clone,
{
    let Head { response, mut connection, connected_at } =
        connections.send(&uri(address), call).await.expect("it is answered");
    let body = connection.working(response.into_body().collect()).await.expect("it is read").to_bytes();
    assert_eq!(body, "hi");
    connection.give_back();
    connected_at.is_some()
}

#[tokio::test]
async fn calls_one_after_the_other_share_a_connection_and_those_at_once_do_not() {
    let (address, heard) = server(ANSWER).await;
    let connections = Connections::new(tcp(), Duration::from_secs(5));
    assert!(talk(&connections, address).await, "the first call connects");
    assert!(!talk(&connections, address).await);
    assert!(!talk(&connections, address).await);
    let together = tokio::join!(talk(&connections, address), talk(&connections, address));
    assert!(together.0 != together.1, "one of two connects: {together:?}");
    let heard = heard.lock().expect("no panic").clone();
    assert_eq!(heard.len(), 2);
    let expected = format!("GET /path?a=b HTTP/1.1\r\nhost: {address}\r\n\r\n");
    assert_eq!(heard[0], expected.repeat(heard[0].len() / expected.len()));
}

#[tokio::test]
async fn a_connection_that_the_server_closes_is_not_used_again() {
    let (address, heard) = server(LAST_ANSWER).await;
    let connections = Connections::new(tcp(), Duration::from_secs(5));
    for _ in 0..3 {
        assert!(talk(&connections, address).await);
    }
    assert_eq!(heard.lock().expect("no panic").len(), 3);
}

#[tokio::test]
async fn a_connection_that_the_server_closes_while_it_waits_is_closed_soon_and_fails_no_call() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let (closed, mut closes) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("it accepts");
            let closed = closed.clone();
            tokio::spawn(async move {
                assert_ne!(stream.read(&mut [0; 4096]).await.expect("a call"), 0);
                stream.write_all(ANSWER).await.expect("it is read");
                // Later than the call gives it back.
                sleep(Duration::from_millis(20)).await;
                stream.shutdown().await.expect("it is open");
                let end = stream.read(&mut [0; 64]).await;
                closed.send(end.expect("it is closed")).expect("the test waits");
            });
        }
    });
    let connections = Connections::new(tcp(), Duration::from_secs(5));
    assert!(talk(&connections, address).await);
    sleep(Duration::from_millis(50)).await;
    assert!(talk(&connections, address).await, "the next call has another connection");
    assert_eq!(closes.recv().await, Some(0));
    sleep(Duration::from_millis(50)).await;
    // More than are looked at at once. One of them finds the second connection closed.
    let many = 3 * LOOKED_AT_ONCE;
    join_all((0..many).map(|_| talk(&connections, address))).await;
    sleep(Duration::from_millis(50)).await;
    tokio::time::pause();
    advance(LOOKED_AT_EVERY).await;
    tokio::time::resume();
    for _ in 0..=many {
        assert_eq!(timeout(Duration::from_secs(2), closes.recv()).await, Ok(Some(0)), "without another call");
    }
}

#[tokio::test]
async fn an_answer_of_thousands_of_pieces_is_read_to_its_end() {
    const PIECES: usize = 5_000;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("it accepts");
        assert_ne!(stream.read(&mut [0; 4096]).await.expect("a call"), 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.expect("it is read");
        for number in 0..PIECES {
            stream.write_all(b"1\r\na\r\n").await.expect("it is read");
            // Some come alone, others many at once.
            if number.is_multiple_of(100) {
                sleep(Duration::from_millis(1)).await;
            }
        }
        stream.write_all(b"0\r\n\r\n").await.expect("it is read");
        let _ = stream.read(&mut [0; 64]).await;
    });
    let connections = Connections::new(tcp(), Duration::from_secs(5));
    let Head { response, mut connection, .. } = connections.send(&uri(address), call).await.expect("it is answered");
    let body = timeout(Duration::from_secs(20), connection.working(response.into_body().collect())).await;
    let body = body.expect("in time").expect("it is whole").to_bytes();
    assert_eq!(body, "a".repeat(PIECES));
}

#[tokio::test]
async fn an_answer_that_is_not_read_closes_its_connection() {
    let (address, heard) = server(ANSWER).await;
    let connections = Connections::new(tcp(), Duration::from_secs(5));
    drop(connections.send(&uri(address), call).await.expect("it is answered"));
    assert!(talk(&connections, address).await);
    assert_eq!(heard.lock().expect("no panic").len(), 2);
}

#[tokio::test]
async fn a_server_that_answers_without_reading_the_request_holds_no_other_call_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let mut open = Vec::new();
        for answer in [b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n".as_slice(), ANSWER] {
            let (mut stream, _) = listener.accept().await.expect("it accepts");
            let _ = stream.read(&mut [0; 64]).await;
            stream.write_all(answer).await.expect("it is read");
            open.push(stream);
        }
        std::future::pending::<()>().await;
    });
    let connections = Connections::new(tcp(), Duration::from_secs(5));
    let large = || Request::new(Full::new(Bytes::from(vec![b'a'; 32 << 20])));
    let head = connections.send(&uri(address), large).await.expect("it is answered");
    assert_eq!(head.response.status(), 413);
    head.connection.give_back();
    let next = timeout(Duration::from_secs(2), talk(&connections, address)).await;
    assert_eq!(next, Ok(true), "it opens a connection of its own");
}

#[tokio::test]
async fn idle_connections_are_closed_after_a_while() {
    let (address, _) = server(ANSWER).await;
    let connections = Connections::new(tcp(), Duration::from_secs(5));
    assert!(talk(&connections, address).await);
    tokio::time::pause();
    advance(KEPT_IDLE - Duration::from_secs(1)).await;
    tokio::time::resume();
    assert!(!talk(&connections, address).await, "it waits still");
    tokio::time::pause();
    advance(KEPT_IDLE + Duration::from_secs(1)).await;
    tokio::time::resume();
    assert!(talk(&connections, address).await, "it has waited for too long");
    assert_eq!(connections.idle.lock().len(), 1);
    tokio::time::pause();
    for _ in 0..3 {
        sleep(KEPT_IDLE).await;
    }
    assert!(connections.idle.lock().is_empty(), "the last one is closed too");
    assert!(!connections.idle.is_watched.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let silent = service_fn(|_: Uri| std::future::pending::<Result<Stream, BoxError>>());
    let connections = Connections::new(silent, Duration::from_millis(700));
    let error = connections.send(&uri(([127, 0, 0, 1], 9).into()), call).await.expect_err("no connection");
    let Broken::Connect(error) = error else { panic!("{error:?}") };
    assert_eq!(error.to_string(), "no connection within 700 ms");
}

#[test]
fn the_usual_port_of_a_host_is_not_named() {
    for (address, expected) in [
        ("http://h/", "h"),
        ("http://h:80/", "h"),
        ("https://h:443/", "h"),
        ("https://h:80/", "h:80"),
        ("http://user:word@h:81/", "h:81"),
        ("http://[::1]:8080/", "[::1]:8080"),
    ] {
        let uri: Uri = address.parse().expect("it is an address");
        let (scheme, authority) = (uri.scheme().expect("it has one"), uri.authority().expect("it has one"));
        assert_eq!(host(scheme, authority), expected);
    }
}

#[tokio::test]
async fn each_piece_of_an_answer_runs_its_reader_once() {
    const PIECES: usize = 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("it accepts");
        let mut bytes = [0; 4096];
        assert!(stream.read(&mut bytes).await.expect("a call") > 0);
        stream.set_nodelay(true).expect("an option");
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.expect("it is read");
        for _ in 0..PIECES {
            tokio::time::sleep(Duration::from_millis(5)).await;
            stream.write_all(b"2\r\nhi\r\n").await.expect("it is read");
        }
        stream.write_all(b"0\r\n\r\n").await.expect("it is read");
        // Until the reader closes the connection.
        assert_eq!(stream.read(&mut bytes).await.expect("an end"), 0);
    });
    let connections = Connections::new(tcp(), Duration::from_secs(5));
    let Head { response, mut connection, .. } = connections.send(&uri(address), call).await.expect("it is answered");
    let mut body = response.into_body();
    let (mut runs, mut pieces) = (0, 0);
    {
        let mut reading = std::pin::pin!(async {
            while let Some(frame) = connection.working(body.frame()).await {
                pieces += usize::from(frame.expect("it is read").is_data());
            }
        });
        poll_fn(|context| {
            runs += 1;
            reading.as_mut().poll(context)
        })
        .await;
    }
    assert_eq!(pieces, PIECES);
    // The first run waits for the first piece, and another one may read the end.
    assert!(runs <= PIECES + 2, "{runs} runs for {PIECES} pieces");
}
