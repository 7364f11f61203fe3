//! `gabfest selftest`: what this machine can do, before anyone trusts a figure of a load.
//!
//! The mock model is served and asked in this process, over HTTP on this machine. It knows how long it took for each answer, so the difference
//! to what gabfest measures is gabfest's own error.

use std::{fmt::Write as _, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use llm::{
    Message,
    chat::Request,
    endpoint::{Endpoint, Settings},
    retry::Policy,
};
use record::histogram::Histogram;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinSet,
    time::Instant,
};
use worker::pacer::{Pacer, Timer};

use crate::{args::whole, exit::Exit, stdout};

/// How long the mock takes where the error of latencies is measured.
const REPLY_MS: u64 = 20;
/// Conversations at once, in each row of the table.
const AT_ONCE: [usize; 3] = [1, 32, 256];
/// Between two waits that are timed.
const WAIT: Duration = Duration::from_micros(2_300);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long each measurement takes
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = whole::<u64>(1..=60))]
    seconds: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Results {
    /// Turns in a second with 32 conversations at once, of a mock that answers at once. It shares the machine.
    turns_a_second: f64,
    timers: Vec<OfTimer>,
    latency: Vec<OfLatency>,
}

/// How late a timer goes off, in microseconds.
#[derive(Debug, Serialize)]
struct OfTimer {
    timer: &'static str,
    late_p50_micros: f64,
    late_p99_micros: f64,
}

/// What gabfest measures beyond what the mock took, in milliseconds.
#[derive(Debug, Serialize)]
struct OfLatency {
    at_once: usize,
    turns: u64,
    error_p50_ms: f64,
    error_p99_ms: f64,
}

pub(crate) async fn selftest(args: Args) -> anyhow::Result<Exit> {
    let time = Duration::from_secs(args.seconds);
    let mut timers = Vec::new();
    for (timer, name) in [(Timer::Precise, "timerfd"), (Timer::Runtime, "runtime")] {
        let mut pacer = Pacer::new(timer);
        // Without timerfd, both are the same.
        if pacer.timer() == timer {
            timers.push(lateness(&mut pacer, name, time).await);
        }
    }
    let turns_a_second = {
        let (turns, took, _) = ask(0, 32, time).await?;
        turns.count() as f64 / took.as_secs_f64()
    };
    let mut latency = Vec::new();
    for at_once in AT_ONCE {
        let (turns, _, truth) = ask(REPLY_MS, at_once, time).await?;
        let error = |quantile: f64, of: &str| {
            let truth = truth[of].as_f64().context("the mock counted nothing")?;
            anyhow::Ok(turns.quantile(quantile) as f64 / 1_000.0 - truth)
        };
        let (error_p50_ms, error_p99_ms) = (error(0.5, "p50")?, error(0.99, "p99")?);
        latency.push(OfLatency { at_once, turns: turns.count(), error_p50_ms, error_p99_ms });
    }
    let results = Results { turns_a_second, timers, latency };
    if args.json {
        stdout::document(&format!("{}\n", serde_json::to_string_pretty(&results)?))?;
    } else {
        stdout::write(&text(&results))?;
    }
    Ok(Exit::Held)
}

async fn lateness(pacer: &mut Pacer, timer: &'static str, time: Duration) -> OfTimer {
    let mut late = Histogram::default();
    let end = Instant::now() + time;
    let mut due = Instant::now();
    while due < end {
        due = Instant::now() + WAIT;
        pacer.wait_until(Some(due)).await;
        late.record(u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    let micros = |quantile| late.quantile(quantile) as f64;
    OfTimer { timer, late_p50_micros: micros(0.5), late_p99_micros: micros(0.99) }
}

/// Asks a mock for so long. Returns what gabfest measures, how long it took, and what the mock says about the same turns.
async fn ask(reply_ms: u64, at_once: usize, time: Duration) -> anyhow::Result<(Histogram, Duration, Value)> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("failed to listen on this machine")?;
    let address = listener.local_addr().context("failed to read the address")?;
    let behaviour = serde_json::from_value(json!({ "latency": { "kind": "constant", "ms": reply_ms } }))?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(llm::mock::server::serve(listener, behaviour, Default::default(), async move {
        let _ = stopped.await;
    }));
    let settings: Settings = serde_json::from_value(
        json!({ "kind": "openai", "url": format!("http://{address}/v1"), "model": "mock-agent" }),
    )?;
    let endpoint = Arc::new(Endpoint::open("selftest", &settings).context("failed to open an endpoint")?);
    let began = Instant::now();
    let mut slots = JoinSet::new();
    for _ in 0..at_once {
        let chat = endpoint.chat(Policy::agent());
        slots.spawn(async move {
            let mut turns = Histogram::default();
            let request = Request { messages: vec![Message::user("Hello")], ..Request::default() };
            while began.elapsed() < time {
                let reply = chat.ask(&request).await?;
                turns.record(u64::try_from(reply.receipt.timing.total.as_micros()).unwrap_or(u64::MAX));
            }
            Ok::<_, llm::Error>(turns)
        });
    }
    let mut turns = Histogram::default();
    while let Some(slot) = slots.join_next().await {
        turns.merge(&slot?.context("failed to ask the mock")?);
    }
    let took = began.elapsed();
    let stats = stats(address).await.context("failed to read what the mock counted")?;
    let _ = stop.send(());
    server.await?;
    Ok((turns, took, stats["latency_ms"]["agent"].clone()))
}

/// What the mock counted. Its server closes a connection of HTTP/1.0 after the answer.
async fn stats(address: SocketAddr) -> anyhow::Result<Value> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /stats HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").context("the mock gave no answer")?;
    Ok(serde_json::from_str(body)?)
}

fn text(results: &Results) -> String {
    let mut text = format!(
        "turns         {:.0} a second, 32 at once, with the mock on the same machine\n",
        results.turns_a_second
    );
    for OfTimer { timer, late_p50_micros, late_p99_micros } in &results.timers {
        let _ = writeln!(
            text,
            "starts        {timer:<8} late by {late_p50_micros:.0} µs (p50), {late_p99_micros:.0} µs (p99)"
        );
    }
    for OfLatency { at_once, turns, error_p50_ms, error_p99_ms } in &results.latency {
        let _ = writeln!(
            text,
            "latencies     {at_once:>3} at once  {error_p50_ms:+.2} ms (p50), {error_p99_ms:+.2} ms (p99) of {turns} replies of {REPLY_MS} ms"
        );
    }
    text
}
