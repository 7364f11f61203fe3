//! `gabfest cancel`: stop a run on a coordinator.

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
    /// The coordinator's address
    #[arg(long, default_value = "http://127.0.0.1:7400", value_name = "URL", env = "GABFEST_COORDINATOR")]
    coordinator: String,
    /// Finish the trials that are being played; the run can be resumed later
    #[arg(long)]
    drain: bool,
}

pub(crate) async fn cancel(args: Args) -> anyhow::Result<Exit> {
    let mut client = client::of(remote::connect(&args.coordinator).await?);
    let request = v1::CancelRequest { run: args.run.clone(), drain: args.drain };
    let reply = client
        .runs
        .cancel(request)
        .await
        .map_err(|status| usage(anyhow!("the run cannot be cancelled: {}", status.message())))?;
    let state = reply.into_inner().state();
    let said = match state {
        // It takes no more; it ends with what is being played.
        v1::RunState::Running if args.drain => "is being drained",
        other => client::state_name(other),
    };
    stdout::line(&format!("{} {said}", args.run))?;
    Ok(Exit::Held)
}
