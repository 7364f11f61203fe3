//! `gabfest worker`: play trials for a coordinator until SIGTERM.

use std::time::Duration;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;
use worker::{Config, Timing, Worker};

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
    let drain = CancellationToken::new();
    let interrupts = Interrupts::listen();
    let (once, twice) = (interrupts.clone(), interrupts);
    let draining = drain.clone();
    tokio::spawn(async move {
        once.reached(1).await;
        say("draining: finishing the trials that are being played; once more stops them");
        draining.cancel();
    });
    say(&format!("worker {name}: {} slots, coordinator {}", config.slots, args.coordinator));
    tokio::select! {
        ended = Worker::new(config, resources).run(channel, drain) => {
            ended.context("failed to work")?;
            Ok(Exit::Held)
        }
        () = twice.reached(2) => Ok(Exit::Interrupted),
    }
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
