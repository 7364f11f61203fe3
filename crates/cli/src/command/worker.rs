//! `gabfest worker`: play trials for a coordinator until SIGTERM.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use record::count::plural;
use worker::{Drain, Timing, Worker};

use crate::{
    args::{Capacity, Config, LONGEST_SECONDS, Page, whole},
    assemble,
    command::pki::{JoinToken, join_if_needed},
    descriptors,
    exit::Exit,
    judges,
    observed::{self, Observed},
    remote::{self, Remote},
    replay, settings,
    signals::Interrupts,
    stderr::say,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    coordinators: remote::Coordinators,
    #[command(flatten)]
    identity: remote::Identity,
    #[command(flatten)]
    join_token: JoinToken,
    /// The worker's name [default: host name and process id]
    #[arg(long)]
    name: Option<String>,
    /// Seconds to keep trying to reach the coordinator
    #[arg(long, default_value_t = 60, value_name = "S", value_parser = whole::<u64>(0..=LONGEST_SECONDS))]
    patience: u64,
    /// Seconds that trials may take after SIGTERM
    #[arg(long, default_value_t = 120, value_name = "S", value_parser = whole::<u64>(0..=LONGEST_SECONDS))]
    grace: u64,
    /// The URL of an OpenAI-compatible server that plans may name as an agent; repeat for several
    #[arg(short, long = "agent", value_name = "URL")]
    agents: Vec<String>,
    /// Keep every call to agents and models in this folder, a file for each run, for `gabfest run --replay RUN --calls DIR`
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    capacity: Capacity,
    #[command(flatten)]
    page: Page,
}

pub(crate) async fn worker(args: Args) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, false)?;
    let name = args.name.unwrap_or_else(observed::instance);
    let mut observed = Observed::start("gabfest-worker", &name, &args.page).await?;
    observed.serve(observed.health_of_worker())?;
    let tape = replay::of_worker(args.record.as_deref(), &name)?;
    let resources = assemble::resources_on(&tape, &read, &args.agents, &args.capacity, Some(&observed)).await?;
    judges::announce_worker(&resources.models)?;
    assemble::open_tool_server(&resources, &args.page).await?;
    let timing = Timing {
        patience: Duration::from_secs(args.patience),
        grace: Duration::from_secs(args.grace),
        ..Timing::default()
    };
    let config = worker::Config {
        name: name.clone(),
        slots: assemble::slots(&read, &args.capacity),
        timing,
        timer: worker::pacer::Timer::Precise,
    };
    join_if_needed(&args.coordinators.text(), &args.join_token, &name, &args.identity).await?;
    let remote = Remote::new(&args.coordinators.text(), &args.identity)?;
    remote.agree().await?;
    let channel = remote.lazy()?;
    if let Some(keyring) = remote.keyring() {
        tokio::spawn(remote::keep_valid(keyring.clone(), channel.clone()));
    }
    let drain = Drain::default();
    let interrupts = Interrupts::listen();
    let draining = drain.clone();
    tokio::spawn(async move {
        interrupts.reached(1).await;
        say("draining: finishing the trials that are being played; once more gives them back");
        draining.begin.cancel();
        interrupts.reached(2).await;
        draining.hurry.cancel();
    });
    // Which of them the plans name is unknown yet.
    let known = read.settings.agents.keys().map(String::as_str).chain(args.agents.iter().map(String::as_str));
    descriptors::check(&read.settings, known, config.slots)?;
    let slots = plural(u64::from(config.slots), "slot", "slots");
    say(&format!("worker {name}: {slots}, coordinator {}", args.coordinators.text().replace(',', " or ")));
    let worked = Worker::new(config, resources).run(channel, drain).await;
    replay::end(&tape);
    observed.end().await;
    worked.context("failed to work")?;
    Ok(Exit::Held)
}
