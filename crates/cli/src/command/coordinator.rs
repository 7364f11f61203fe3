//! `gabfest coordinator`: hand out trials to workers over the network, until SIGTERM.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use coordinator::{Clock, Config, Coordinator};
use tokio_util::sync::CancellationToken;

use crate::{
    args::Page,
    clock,
    exit::{Exit, usage},
    incoming::incoming,
    listening,
    observed::{self, Observed},
    signals::Interrupts,
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; port 0 picks a free port and prints it
    #[arg(short, long, default_value = "127.0.0.1:7400", value_name = "ADDR")]
    listen: std::net::SocketAddr,
    /// The folder that keeps the runs
    #[arg(short, long, default_value = "gabfest-data", value_name = "DIR")]
    data: PathBuf,
    #[command(flatten)]
    page: Page,
}

/// A store that takes longer is not in good health.
const STORE_ANSWERS: Duration = Duration::from_secs(5);

pub(crate) async fn coordinator(args: Args) -> anyhow::Result<Exit> {
    listening::allow(args.listen, args.page.insecure_i_know, "a coordinator is")?;
    std::fs::create_dir_all(&args.data).with_context(|| format!("failed to make {}", args.data.display()))?;
    let store = store::Sqlite::open(&args.data.join("gabfest.db")).await.context("failed to open the store")?;
    let listener = tokio::net::TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("failed to listen on {}", args.listen))
        .map_err(usage)?;
    let address = listener.local_addr().context("failed to read the address")?;
    stdout::line(&format!("coordinator at http://{address}, runs in {}", args.data.display()))?;
    let mut observed = Observed::start("gabfest-coordinator", &observed::instance(), &args.page).await?;
    let drain = CancellationToken::new();
    let interrupts = Interrupts::listen();
    let draining = drain.clone();
    tokio::spawn(async move {
        interrupts.reached(1).await;
        draining.cancel();
    });
    let clock = Clock::new(clock::now_millis);
    let (coordinator, handle) = Coordinator::open(Arc::new(store), Config::default(), clock, observed.observers())
        .await
        .context("failed to start the coordinator")?;
    observed.serve(health(handle.clone()))?;
    let router = coordinator::service::router(handle).await.context("failed to start the services")?;
    let served = router.serve_with_incoming_shutdown(incoming(listener), drain.clone().cancelled_owned());
    let (served, ()) = tokio::join!(served, coordinator.run(drain));
    observed.end().await;
    served.context("failed to serve")?;
    Ok(Exit::Held)
}

/// Of a coordinator: whether its store answers.
fn health<S: store::Store>(handle: coordinator::Handle<S>) -> telemetry::metrics::Health {
    telemetry::metrics::Health::new(move || {
        let handle = handle.clone();
        async move {
            match tokio::time::timeout(STORE_ANSWERS, handle.health()).await {
                Ok(answer) => answer.map_err(|error| error.to_string()),
                Err(_) => Err(format!("the store does not answer within {} s", STORE_ANSWERS.as_secs())),
            }
        }
    })
}
