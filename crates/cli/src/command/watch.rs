//! `gabfest watch`: follow a run on a coordinator to its end, then write its report.

use std::path::Path;

use anyhow::anyhow;
use scenario::RunId;

use crate::{
    args::Output,
    client::{self, Client},
    exit::{Exit, UsageError},
    finish,
    follow::{self, OnInterrupt},
    patience::Patience,
    remote,
    run_folder::RUNS,
    signals::Interrupts,
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run's id
    run: String,
    /// The coordinator's address
    #[arg(long, default_value = "http://127.0.0.1:7400", value_name = "URL", env = "GABFEST_COORDINATOR")]
    coordinator: String,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Seconds that the coordinator may be away
    #[arg(long, default_value_t = 120, value_name = "S")]
    patience: u64,
}

pub(crate) async fn watch(args: Args) -> anyhow::Result<Exit> {
    let client = client::of(remote::connect(&args.coordinator).await?);
    to_its_end(client, &RunId::new(args.run), &args.output, Patience::seconds(args.patience)).await
}

/// Follows a run and writes its report, for `submit --watch` too.
pub(crate) async fn to_its_end(
    mut client: Client,
    run: &RunId,
    output: &Output,
    patience: Patience,
) -> anyhow::Result<Exit> {
    let interrupts = Interrupts::listen();
    let quiet = output.quiet;
    let last = follow::watch(&mut client, run, quiet, &interrupts, OnInterrupt::StopLooking(patience)).await?;
    let Some(last) = last else {
        stdout::line(&format!(
            "run {run} continues on the coordinator; `gabfest watch {run}` follows it again, `gabfest cancel {run}` stops it"
        ))?;
        return Ok(Exit::Interrupted);
    };
    let folder = output.out.clone().unwrap_or_else(|| Path::new(RUNS).join(run.as_str()));
    let exit = tokio::select! {
        exit = finish::report(&mut client, run, &folder, quiet, &last.trouble, patience) => exit,
        () = interrupts.reached(1) => {
            stdout::line(&format!("run {run} has ended; `gabfest watch {run}` writes its report"))?;
            return Ok(Exit::Interrupted);
        }
    };
    if last.trouble.is_empty() {
        return exit.map_err(|error| if error.is::<UsageError>() { error } else { not_downloaded(run, &error) });
    }
    finish::stopped(&last.trouble, exit, &format!("`gabfest resume {run} --coordinator URL`"))
}

fn not_downloaded(run: &RunId, error: &anyhow::Error) -> anyhow::Error {
    anyhow!(
        "the run has ended, and its report is not written: {error:#}\nhint: the coordinator keeps the run; `gabfest watch {run}` writes the report"
    )
}
