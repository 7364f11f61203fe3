//! A chat server with known delays, and its own measurement of them: the truth that latencies are compared with.
//!
//! `bench-server` prints its address and serves until its standard input closes. The first part of a path names the pace
//! of the answers: `/zero/v1`, `/paced/v1` (first token after 50 ms, then one each 5 ms), `/slow/v1` (2 s), `/slowest/v1` (20 s),
//! `/stall/v1` (at once, but not from 4 s to 6 s after the first request). An answer is a stream of 16 pieces if the request
//! asks for a stream. `GET /stats` returns what was served since the last `GET /stats`, and `GET /open` how many requests wait
//! for an answer. `/otlp` takes telemetry and throws it away.

mod timed_body;
mod wall_clock;

use std::{cell::RefCell, convert::Infallible, io::Read as _, net::Ipv4Addr, rc::Rc, thread, time::Duration};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::{
    Request, Response,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
    task::LocalSet,
    time::{Instant, sleep},
};

use self::{timed_body::TimedBody, wall_clock::unix_micros};

/// The system may allow fewer.
const WAITING_CONNECTIONS: u32 = 16_384;
const STALL_FROM: Duration = Duration::from_secs(4);
const STALL_UNTIL: Duration = Duration::from_secs(6);

/// When the pieces of an answer are sent, measured from when the request is read.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    first: Duration,
    between: Duration,
    stalls: bool,
}

impl Pace {
    fn of(path: &str) -> Option<Self> {
        match path.trim_start_matches('/').split('/').next()? {
            "zero" => Some(Self::default()),
            "paced" => Some(Self { between: Duration::from_millis(5), ..Self::after(Duration::from_millis(50)) }),
            "slow" => Some(Self::after(Duration::from_secs(2))),
            "slowest" => Some(Self::after(Duration::from_secs(20))),
            "stall" => Some(Self { stalls: true, ..Self::default() }),
            _ => None,
        }
    }

    fn after(first: Duration) -> Self {
        Self { first, ..Self::default() }
    }

    /// How long the first piece waits, if the first request came so long ago.
    fn wait(self, since_first: Duration) -> Duration {
        let in_stall = self.stalls && (STALL_FROM..STALL_UNTIL).contains(&since_first);
        if in_stall { STALL_UNTIL - since_first } else { self.first }
    }
}

/// What was served since the last look.
#[derive(Debug, Default)]
struct Stats {
    first_request: Option<Instant>,
    /// When each request came, in unix microseconds.
    requests_micros: Vec<u64>,
    last_answer_micros: u64,
    first_token: Vec<Duration>,
    whole: Vec<Duration>,
    /// How many requests wait for an answer.
    open: usize,
}

impl Stats {
    /// Returns how long ago the first request came.
    fn began(&mut self, now: Instant) -> Duration {
        self.requests_micros.push(unix_micros());
        self.open += 1;
        now.duration_since(*self.first_request.get_or_insert(now))
    }

    /// `first_token`: of a stream.
    fn answered(&mut self, began: Instant, first_token: Option<Duration>) {
        self.whole.push(began.elapsed());
        self.first_token.extend(first_token);
        self.last_answer_micros = unix_micros();
        self.open = self.open.saturating_sub(1);
    }

    fn take(&mut self) -> serde_json::Value {
        let new = Self { open: self.open, ..Self::default() };
        let Self { requests_micros, last_answer_micros, first_token, whole, .. } = std::mem::replace(self, new);
        json!({
            "answers": whole.len(),
            "requests_micros": requests_micros,
            "last_answer_micros": last_answer_micros,
            "first_token_ms": quantiles(first_token),
            "whole_ms": quantiles(whole),
        })
    }
}

fn quantiles(mut times: Vec<Duration>) -> serde_json::Value {
    times.sort_unstable();
    let at = |percent: usize| {
        let rank = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(rank).map(|time| time.as_secs_f64() * 1e3)
    };
    json!({ "p50": at(50), "p99": at(99) })
}

#[derive(Deserialize)]
struct Asked {
    messages: Vec<Said>,
    #[serde(default)]
    stream: bool,
}

#[derive(Deserialize)]
struct Said {
    role: String,
}

async fn answer(request: Request<Incoming>, stats: Rc<RefCell<Stats>>) -> Result<Response<TimedBody>, Infallible> {
    match request.uri().path() {
        "/stats" => return Ok(Response::new(TimedBody::whole(stats.borrow_mut().take().to_string().into()))),
        "/open" => return Ok(Response::new(TimedBody::whole(stats.borrow().open.to_string().into()))),
        _ => {}
    }
    let path = request.uri().path();
    let (pace, is_telemetry) = (Pace::of(path), path.starts_with("/otlp/"));
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    if is_telemetry {
        return Ok(Response::new(TimedBody::whole(Bytes::new())));
    }
    let (Some(pace), Ok(asked)) = (pace, serde_json::from_slice::<Asked>(&body)) else {
        let mut refusal = Response::new(TimedBody::whole(Bytes::from_static(b"no such path, or no chat")));
        *refusal.status_mut() = hyper::StatusCode::BAD_REQUEST;
        return Ok(refusal);
    };
    let began = Instant::now();
    let wait = pace.wait(stats.borrow_mut().began(began));
    let turn = asked.messages.iter().filter(|message| message.role == "user").count();
    let (kind, body) = if asked.stream {
        ("text/event-stream", TimedBody::stream(turn, Pace { first: wait, ..pace }, began, stats))
    } else {
        // A timer of zero would still wait for the next millisecond.
        if !wait.is_zero() {
            sleep(wait).await;
        }
        let body = TimedBody::whole(timed_body::completion(turn));
        stats.borrow_mut().answered(began, None);
        ("application/json", body)
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

async fn serve(listener: TcpListener) -> anyhow::Result<()> {
    let stats = Rc::new(RefCell::new(Stats::default()));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let stats = Rc::clone(&stats);
        tokio::task::spawn_local(async move {
            let service = service_fn(|request| answer(request, Rc::clone(&stats)));
            // A client that goes away is no fault of the server.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

#[expect(clippy::print_stdout, reason = "its address is its output")]
fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let listener = socket.listen(WAITING_CONNECTIONS)?;
        println!("http://{}", listener.local_addr()?);
        let (closed, ended) = oneshot::channel();
        thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            let _ = closed.send(());
        });
        tokio::select! {
            failed = serve(listener) => failed,
            _ = ended => Ok(()),
        }
    })
}
