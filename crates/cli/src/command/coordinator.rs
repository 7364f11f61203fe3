//! `gabfest coordinator`: hand out trials to workers over the network, until SIGTERM.

mod open_store;
mod tls;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use coordinator::{Clock, Config, Coordinator, Gate};
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
    /// Keep the runs in PostgreSQL 14 or later instead: `postgres://USER@HOST/DATABASE`
    #[arg(long, value_name = "URL", env = "GABFEST_STORE", hide_env_values = true)]
    store: Option<String>,
    /// The folder with the certificates that `gabfest pki init` wrote [default: `pki` in the folder of --data, if it is there]
    #[arg(long, value_name = "DIR", env = "GABFEST_TLS")]
    tls: Option<PathBuf>,
    #[command(flatten)]
    page: Page,
}

/// A store that takes longer is not in good health.
const STORE_ANSWERS: Duration = Duration::from_secs(5);

pub(crate) async fn coordinator(args: Args) -> anyhow::Result<Exit> {
    let authority = tls::authority(args.tls.as_deref(), &args.data)?;
    if authority.is_none() {
        listening::allow_plaintext(args.listen, args.page.insecure_i_know)?;
    }
    let interrupts = Interrupts::listen();
    let opened = tokio::select! {
        opened = open_store::open(&args.data, args.store.as_deref()) => opened?,
        () = interrupts.reached(1) => return Ok(Exit::Interrupted),
    };
    let listener = tokio::net::TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("failed to listen on {}", args.listen))
        .map_err(usage)?;
    let address = listener.local_addr().context("failed to read the address")?;
    let scheme = if authority.is_some() { "https" } else { "http" };
    stdout::line(&format!("coordinator at {scheme}://{address}, runs in {}", opened.place))?;
    let mut observed = Observed::start("gabfest-coordinator", &observed::instance(), &args.page).await?;
    let drain = CancellationToken::new();
    let draining = drain.clone();
    tokio::spawn(async move {
        interrupts.reached(1).await;
        draining.cancel();
    });
    let store = Arc::new(opened.engine);
    let replaced = open_store::replaced(Arc::clone(&store), drain.clone());
    let clock = Clock::new(clock::now_millis);
    let (coordinator, handle) = Coordinator::open(Arc::clone(&store), Config::default(), clock, observed.observers())
        .await
        .context("failed to start the coordinator")?;
    observed.serve(health(handle.clone()))?;
    let gate = authority.clone().map_or(Gate::Open, Gate::Certificates);
    let router = coordinator::service::router(handle, gate).await.context("failed to start the services")?;
    if let Some(authority) = &authority {
        tokio::spawn(tls::follow(Arc::clone(authority)));
    }
    let incoming = incoming(listener, authority);
    let served = router.serve_with_incoming_shutdown(incoming, drain.clone().cancelled_owned());
    let (served, ()) = tokio::join!(served, coordinator.run(drain));
    observed.end().await;
    served.context("failed to serve")?;
    replaced.await.context("failed to watch the store")??;
    store.hand_over().await.context("failed to hand the store over")?;
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
