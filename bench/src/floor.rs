//! A bare loop over the HTTP client: the cost of a turn without plan, judgment, store and report.
//!
//! `floor URL CALLS CONCURRENCY` posts the same small chat completion and reads the whole answer.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::Context as _;

const BODY: &str = r#"{"model":"mock-agent","messages":[{"role":"user","content":"Please say hello to me and tell me the order number 1234."}]}"#;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut args = std::env::args().skip(1);
    let url = args.next().context("usage: floor URL CALLS CONCURRENCY")?;
    let calls: u64 = args.next().context("CALLS is missing")?.parse()?;
    let concurrency: u64 = args.next().context("CONCURRENCY is missing")?.parse()?;
    let client = reqwest::Client::builder().tcp_nodelay(true).http1_only().build()?;
    let left = Arc::new(AtomicU64::new(calls));
    let mut loops = Vec::new();
    for _ in 0..concurrency {
        let (client, url, left) = (client.clone(), url.clone(), Arc::clone(&left));
        loops.push(tokio::spawn(async move {
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                let request = client.post(&url).header("content-type", "application/json").body(BODY);
                let body = request.send().await?.error_for_status()?.bytes().await?;
                anyhow::ensure!(!body.is_empty(), "an empty answer");
            }
            Ok(())
        }));
    }
    for one in loops {
        one.await??;
    }
    Ok(())
}
