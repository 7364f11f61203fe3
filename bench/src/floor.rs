//! Bare loops over the same four-turn conversations: the cost of a turn without plan, checks, store and report.
//!
//! `floor reqwest|hyper URL CONVERSATIONS AT_ONCE [stream]` prints how long the answers took. The loop over reqwest is
//! written as applications write it. The one over hyper is as lean as it gets: a connection for each conversation at once,
//! no pool, and a body that grows.
//!
//! `floor timer URL STARTS_A_SECOND SECONDS` prints how late this machine lets a start be.
//!
//! `floor core SECONDS` prints when a core was slow.

mod core_watch;
mod hyper_loop;
mod reqwest_loop;
mod script;
mod timer_loop;
mod wall_clock;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use serde_json::json;
use tokio::task::JoinSet;

/// Conversations that are left, for the loops to take.
#[derive(Debug)]
struct Quota(AtomicU64);

impl Quota {
    fn take(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// How long the answers took, and of streams their first pieces.
#[derive(Debug, Default)]
struct Times {
    whole: Vec<Duration>,
    first_token: Vec<Duration>,
}

fn quantile(times: &mut [Duration], percent: usize) -> Option<f64> {
    times.sort_unstable();
    let rank = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(rank).map(|time| time.as_secs_f64() * 1e3)
}

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> anyhow::Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut args = std::env::args().skip(1);
    let usage = "usage: floor reqwest|hyper URL CONVERSATIONS AT_ONCE [stream] | floor timer URL STARTS_A_SECOND SECONDS | floor core SECONDS";
    let library = args.next().context(usage)?;
    if library == "core" {
        let times = core_watch::watch(args.next().context(usage)?.parse()?);
        let times: Vec<_> = times.iter().map(|(at, took)| (at, took.as_nanos() as f64 / 1e3)).collect();
        println!("{}", json!({ "micros": times }));
        return Ok(());
    }
    let url = args.next().context(usage)?;
    if library == "timer" {
        let (rate, seconds) = (args.next().context(usage)?.parse()?, args.next().context(usage)?.parse()?);
        let mut late = timer_loop::play(&url, rate, seconds)?;
        println!("{}", json!({ "late_ms": { "p50": quantile(&mut late, 50), "p99": quantile(&mut late, 99) } }));
        return Ok(());
    }
    let quota = Arc::new(Quota(AtomicU64::new(args.next().context(usage)?.parse()?)));
    let at_once: u64 = args.next().context(usage)?.parse()?;
    let stream = args.next().is_some();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = reqwest_loop::client()?;
        let mut loops = JoinSet::new();
        for _ in 0..at_once {
            let (url, quota) = (url.clone(), Arc::clone(&quota));
            match library.as_str() {
                "reqwest" => loops.spawn(reqwest_loop::play(client.clone(), url, quota, stream)),
                "hyper" => loops.spawn(hyper_loop::play(url, quota, stream)),
                _ => anyhow::bail!(usage),
            };
        }
        let mut all = Times::default();
        while let Some(times) = loops.join_next().await {
            let mut times = times??;
            all.whole.append(&mut times.whole);
            all.first_token.append(&mut times.first_token);
        }
        let Times { whole, first_token } = &mut all;
        let figures = json!({
            "turns": whole.len(),
            "whole_ms": { "p50": quantile(whole, 50), "p99": quantile(whole, 99) },
            "first_token_ms": { "p50": quantile(first_token, 50), "p99": quantile(first_token, 99) },
        });
        println!("{figures}");
        Ok(())
    })
}
