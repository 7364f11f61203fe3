//! `gabfest pause`: let a run on a coordinator start nothing more until it is resumed.

use anyhow::anyhow;
use proto::v1;

use crate::{
    client,
    exit::{Exit, usage},
    remote, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run's id
    run: String,
    #[command(flatten)]
    coordinators: remote::Coordinators,
    #[command(flatten)]
    identity: remote::Identity,
}

pub(crate) async fn pause(args: Args) -> anyhow::Result<Exit> {
    let mut client = client::of(remote::connect(&args.coordinators.text(), &args.identity).await?);
    let request = v1::PauseRequest { run: args.run.clone() };
    client.runs.pause(request).await.map_err(|status| usage(anyhow!("{}", status.message())))?;
    stdout::line(&format!("{} is paused; `gabfest resume {} --coordinator URL` lets it continue", args.run, args.run))?;
    Ok(Exit::Held)
}
