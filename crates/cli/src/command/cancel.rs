//! `gabfest cancel`: stop a run on a coordinator.

use proto::v1;

use crate::{
    client,
    exit::{Exit, usage},
    refusal, remote, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run's id
    run: String,
    #[command(flatten)]
    coordinators: remote::Coordinators,
    #[command(flatten)]
    identity: remote::Identity,
    /// Finish the trials that are being played; the run can be resumed later
    #[arg(long)]
    drain: bool,
}

pub(crate) async fn cancel(args: Args) -> anyhow::Result<Exit> {
    let mut client = client::of(remote::connect(&args.coordinators.text(), &args.identity).await?);
    let request = v1::CancelRequest { run: args.run.clone(), drain: args.drain };
    let reply = client
        .runs
        .cancel(request)
        .await
        .map_err(|status| usage(refusal::of("the run cannot be cancelled", &status)))?;
    let state = reply.into_inner().state();
    let said = match state {
        // It takes no more trials and ends when the running ones have ended.
        v1::RunState::Running if args.drain => "is being drained",
        other => client::state_name(other),
    };
    stdout::line(&format!("{} {said}", args.run))?;
    Ok(Exit::Held)
}
