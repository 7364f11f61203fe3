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
    let (run, coordinators) = (&args.run, args.coordinators.text());
    let mut client = client::of(remote::connect(&coordinators, &args.identity).await?);
    let request = v1::PauseRequest { run: run.clone() };
    client.runs.pause(request).await.map_err(|status| usage(anyhow!("{}", status.message())))?;
    stdout::line(&format!("{run} is paused; `gabfest resume {run} --coordinator {coordinators}` lets it continue"))?;
    Ok(Exit::Held)
}
