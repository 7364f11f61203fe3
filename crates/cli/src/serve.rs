//! `gabfest coordinator`: hand out trials to workers over the network, until SIGTERM.

use anyhow::{Context as _, anyhow};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;

use crate::{
    args::Coordinator,
    clock,
    exit::{Exit, usage},
    signals::Interrupts,
};

pub(crate) async fn serve(args: Coordinator) -> anyhow::Result<Exit> {
    if !args.listen.ip().is_loopback() && !args.insecure_i_know {
        return Err(usage(anyhow!(
            "{} is reachable from other machines, and nothing is encrypted or authenticated\nhint: listen on 127.0.0.1, or say --insecure-i-know",
            args.listen
        )));
    }
    std::fs::create_dir_all(&args.data).with_context(|| format!("failed to make {}", args.data.display()))?;
    let store = store::Sqlite::open(&args.data.join("gabfest.db")).await.context("failed to open the store")?;
    let listener = tokio::net::TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("failed to listen on {}", args.listen))
        .map_err(usage)?;
    let address = listener.local_addr().context("failed to read the address")?;
    print(&format!("coordinator at http://{address}, runs in {}", args.data.display()));
    let drain = CancellationToken::new();
    let interrupts = Interrupts::listen();
    let draining = drain.clone();
    tokio::spawn(async move {
        interrupts.reached(1).await;
        draining.cancel();
    });
    coordinator::serve(store, coordinator::Config::default(), clock::now_millis, TcpListenerStream::new(listener), drain)
        .await
        .context("failed to serve")?;
    Ok(Exit::Held)
}

#[expect(clippy::print_stdout, reason = "the address is what this command answers")]
fn print(text: &str) {
    println!("{text}");
}
