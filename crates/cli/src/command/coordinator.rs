//! `gabfest coordinator`: hand out trials to workers over the network, until SIGTERM.

mod advertised;
mod keeper;
mod open_store;
mod others;
mod tls;

use std::{path::PathBuf, pin::pin, sync::Arc, time::Duration};

use anyhow::Context as _;
use coordinator::{
    Clock, Gate, Office, Peer, Standing,
    office::{self, Chores},
    service::{self, Front},
};
use tokio_util::sync::CancellationToken;

use self::{open_store::Opened, others::Others};
use crate::{
    args::Page,
    clock,
    exit::{Exit, usage},
    incoming::incoming,
    listening,
    observed::{self, Observed},
    signals::Interrupts,
    stderr::say,
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
    /// With --store: host and port at which the other coordinators of this store reach this one [default: --listen, or the name
    /// of the machine if that is every address]
    #[arg(long, value_name = "HOST:PORT", env = "GABFEST_ADVERTISE", requires = "store")]
    advertise: Option<String>,
    /// The folder with the certificates that `gabfest pki init` wrote [default: `pki` in the folder of --data, if it is there]
    #[arg(long, value_name = "DIR", env = "GABFEST_TLS")]
    tls: Option<PathBuf>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    keeper: keeper::EndedRuns,
}

/// How long connections may take to end after SIGTERM.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

pub(crate) async fn coordinator(args: Args) -> anyhow::Result<Exit> {
    let authority = tls::authority(args.tls.as_deref(), &args.data)?;
    if authority.is_none() {
        listening::allow_plaintext(args.listen, args.page.insecure_i_know)?;
    }
    args.keeper.check()?;
    let interrupts = Interrupts::listen();
    let opened = tokio::select! {
        opened = open_store::open(&args.data, args.store.as_deref()) => opened?,
        // Nothing has begun yet.
        () = interrupts.reached(1) => return Ok(Exit::Held),
    };
    let listener = tokio::net::TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("failed to listen on {}", args.listen))
        .map_err(usage)?;
    let address = listener.local_addr().context("failed to read the address")?;
    let scheme = if authority.is_some() { "https" } else { "http" };
    let advertised = advertised::url(args.advertise.as_deref(), address, scheme)?;
    stdout::line(&format!("coordinator at {scheme}://{address}, runs in {}", opened.place()))?;
    let mut observed = Observed::start("gabfest-coordinator", &observed::instance(), &args.page).await?;
    let drain = CancellationToken::new();
    let draining = drain.clone();
    tokio::spawn(async move {
        interrupts.reached(1).await;
        draining.cancel();
    });
    let gate = authority.clone().map_or(Gate::Open, Gate::Certificates);
    let clock = Clock::new(clock::now_millis);
    let (front, switch) = Front::new(gate.clone(), clock.clone()).await.context("failed to start the services")?;
    let standing = Standing::new(switch);
    observed.serve(standing.health())?;
    if let Some(authority) = &authority {
        tokio::spawn(tls::follow(Arc::clone(authority)));
    }
    let incoming = incoming(listener, authority.clone(), standing.isolated());
    let stopped = drain.clone().cancelled_owned();
    let mut serving = tokio::spawn(service::server().serve_with_incoming_shutdown(front, incoming, stopped));
    let keeper = args.keeper;
    let chores = Chores::new(move |store, stop| Box::pin(keeper::keep(store, keeper.clone(), stop)));
    let office = Office { standing, gate, clock, observers: observed.observers(), chores, drain: drain.clone() };
    let in_office = async {
        match opened {
            Opened::File(store, _) => office.hold(*store).await.map(drop).map_err(anyhow::Error::new),
            Opened::Database(candidate, place) => {
                if authority.as_ref().is_some_and(|authority| authority.client().is_none()) {
                    say(
                        "the certificate of this coordinator is not for calls to other coordinators; `gabfest pki renew` makes one that is",
                    );
                }
                let name = observed::instance();
                let world = Others { authority };
                let served = Peer { contender: candidate, office, world, name, address: advertised }.serve().await;
                served.map_err(|error| match error {
                    office::Error::Take(error) => {
                        anyhow::Error::new(error).context(format!("failed to open the store in {place}"))
                    }
                    error => anyhow::Error::new(error),
                })
            }
        }
    };
    let mut in_office = pin!(in_office);
    let ended = tokio::select! {
        ended = &mut in_office => ended,
        served = &mut serving => match served.context("failed to serve").and_then(|served| served.context("failed to serve")) {
            // The store is not handed over yet.
            Ok(()) if drain.is_cancelled() => in_office.await,
            served => served,
        },
    };
    drain.cancel();
    // Clients that stay are clients of another coordinator from now on.
    if !serving.is_finished() && tokio::time::timeout(ENDS_WITHIN, &mut serving).await.is_err() {
        serving.abort();
    }
    observed.end().await;
    ended?;
    Ok(Exit::Held)
}
