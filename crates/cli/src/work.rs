//! `gabfest worker`: play trials for a coordinator until SIGTERM.

use std::time::Duration;

use anyhow::Context as _;
use worker::{Config, Drain, Timing, Worker};

use crate::{args, assemble, exit::Exit, remote, settings, signals::Interrupts};

pub(crate) async fn work(args: args::Worker) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, false)?;
    let resources = assemble::resources(&read, &args.agents, &args.capacity).await?;
    let timing = Timing {
        patience: Duration::from_secs(args.patience),
        grace: Duration::from_secs(args.grace),
        ..Timing::default()
    };
    let name = args.name.unwrap_or_else(usual_name);
    let config = Config { name: name.clone(), slots: assemble::slots(&read, &args.capacity), timing };
    let channel = remote::lazy(&args.coordinator)?;
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
    say(&format!("worker {name}: {} slots, coordinator {}", config.slots, args.coordinator));
    Worker::new(config, resources).run(channel, drain).await.context("failed to work")?;
    Ok(Exit::Held)
}

fn usual_name() -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host = host.trim();
    format!("{}-{}", if host.is_empty() { "worker" } else { host }, std::process::id())
}

#[expect(clippy::print_stderr, reason = "messages of a role that runs for long")]
fn say(text: &str) {
    eprintln!("{text}");
}
