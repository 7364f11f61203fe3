//! How many turns a coordinator takes in: the batches of a worker, encoded beforehand, over gRPC into a store.
//!
//! `intake memory|sqlite TURNS [failures]` prints its figures as JSON. `failures` keeps the words of no conversation, so that
//! a long measurement needs little disk. The clock stands while batches are encoded. The coordinator has a thread of its own, so its CPU is that of
//! the process without the feeding thread. Run it on one core (`taskset -c 1`). Needs Linux.

mod batches;
mod feeder;

use std::{fs, path::Path, sync::Arc, thread, time::SystemTime};

use anyhow::Context as _;
use coordinator::{Clock, Config, Coordinator, Gate, Observers, service};
use scenario::plan::Transcripts;
use serde_json::json;
use store::{Memory, Sqlite, Store};
use tokio::{io::DuplexStream, sync::mpsc, time::Instant};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use self::feeder::{Feeder, Pipes};

/// Conversations that are encoded at a time: about 30 MB.
const ROUND: u64 = 160 * batches::CONVERSATIONS;
/// The allocator of gabfest.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "usage: intake memory|sqlite TURNS [failures]";

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let store = args.next().context(USAGE)?;
    let turns: u64 = args.next().context(USAGE)?.parse()?;
    let kept = if args.next().is_some() { Transcripts::Failures } else { Transcripts::All };
    let folder = tempfile::tempdir()?;
    let (pipes, incoming) = mpsc::channel(1);
    let drain = CancellationToken::new();
    let (path, stop) = (folder.path().join("store.db"), drain.clone());
    let coordinator = match store.as_str() {
        "memory" => thread::spawn(move || serve(async { Ok(Memory::new()) }, incoming, stop)),
        "sqlite" => thread::spawn(move || serve(async move { Ok(Sqlite::open(&path).await?) }, incoming, stop)),
        _ => anyhow::bail!(USAGE),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let fed = runtime.block_on(feed(&pipes, turns, kept));
    let bytes = size_of(folder.path())?;
    drain.cancel();
    drop((pipes, runtime));
    coordinator.join().map_err(|_| anyhow::anyhow!("the coordinator panicked"))??;
    let Fed { turns, seconds, cpu_seconds, memory } = fed?;
    // A store in memory grows by what it keeps.
    let growth = growth(&memory).filter(|_| store == "sqlite");
    println!(
        "{}",
        json!({
            "store": store,
            "turns": turns,
            "turns_per_second": turns as f64 / seconds,
            "turns_per_cpu_second": turns as f64 / cpu_seconds,
            "store_bytes_per_turn": bytes as f64 / turns as f64,
            "memory_growth_bytes_per_turn": growth,
            "memory_bytes": memory.last().map(|(_, bytes)| bytes),
        })
    );
    Ok(())
}

/// Plays a coordinator on this thread until `stop`.
fn serve<S: Store>(
    store: impl Future<Output = anyhow::Result<S>>,
    incoming: mpsc::Receiver<std::io::Result<DuplexStream>>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (config, clock) = (Config::default(), Clock::new(unix_millis));
        let (coordinator, handle) =
            Coordinator::open(Arc::new(store.await?), config, clock, Observers::default()).await?;
        let router = service::server().add_routes(service::routes(handle, &Gate::Open));
        let served = router.serve_with_incoming_shutdown(ReceiverStream::new(incoming), stop.clone().cancelled_owned());
        let (served, ()) = tokio::join!(served, coordinator.run(stop));
        Ok(served?)
    })
}

struct Fed {
    turns: u64,
    /// While batches were on their way.
    seconds: f64,
    /// Of the coordinator and its store.
    cpu_seconds: f64,
    /// The resident memory of the process after so many turns.
    memory: Vec<(u64, u64)>,
}

async fn feed(pipes: &Pipes, turns: u64, kept: Transcripts) -> anyhow::Result<Fed> {
    let rounds = turns.div_ceil(ROUND * batches::TURNS).max(1);
    let plan = batches::plan(rounds * ROUND, kept)?;
    let mut feeder = Feeder::join(pipes, &plan).await?;
    let mut fed = Fed { turns: 0, seconds: 0.0, cpu_seconds: 0.0, memory: Vec::new() };
    for round in 0..rounds {
        let encoded = batches::encode(&plan, round * ROUND..(round + 1) * ROUND)?;
        let (began, cpu) = (Instant::now(), cpu_of_others()?);
        feeder.feed(encoded).await?;
        fed.seconds += began.elapsed().as_secs_f64();
        fed.cpu_seconds += cpu_of_others()? - cpu;
        fed.turns += ROUND * batches::TURNS;
        fed.memory.push((fed.turns, resident_bytes()?));
    }
    feeder.leave().await?;
    Ok(fed)
}

/// The slope of the resident memory over the turns after the first quarter, in which caches fill: the median of the slopes
/// between all pairs. `None`: too few rounds.
fn growth(memory: &[(u64, u64)]) -> Option<f64> {
    let warm = &memory[memory.len() / 4..];
    let pairs = warm.iter().enumerate().flat_map(|(index, from)| warm[index + 1..].iter().map(move |to| (from, to)));
    let mut slopes: Vec<f64> =
        pairs.map(|(from, to)| (to.1 as f64 - from.1 as f64) / (to.0 as f64 - from.0 as f64)).collect();
    slopes.sort_unstable_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied().filter(|_| warm.len() >= 10)
}

/// The CPU of all threads but this one.
fn cpu_of_others() -> anyhow::Result<f64> {
    let nanos = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.split(' ').next().and_then(|first| first.parse::<u64>().ok()).unwrap_or(0)
    };
    let all = fs::read_dir("/proc/self/task")?.map(|task| Ok(nanos(&task?.path().join("schedstat"))));
    let all = all.sum::<anyhow::Result<u64>>()?;
    Ok(all.saturating_sub(nanos(Path::new("/proc/thread-self/schedstat"))) as f64 / 1e9)
}

/// Without mapped files.
fn resident_bytes() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024)
}

fn size_of(folder: &Path) -> anyhow::Result<u64> {
    fs::read_dir(folder)?.map(|file| Ok(file?.metadata()?.len())).sum()
}

#[expect(clippy::disallowed_methods, reason = "the program's edge")]
fn unix_millis() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
