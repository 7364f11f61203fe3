//! `gabfest submit`: send a run to a coordinator.

use anyhow::anyhow;
use record::call::Spend;
use scenario::RunId;

use super::watch;
use crate::{
    args::{Capacity, Config, Output, Selection},
    assemble, client, clock,
    exit::{Exit, usage},
    patience::Patience,
    plan, remote, settings, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    pub(crate) output: Output,
    /// With --watch: seconds that the coordinator may be away
    #[arg(long, default_value_t = 120, value_name = "S")]
    patience: u64,
    /// The coordinator's address
    #[arg(long, default_value = "http://127.0.0.1:7400", value_name = "URL", env = "GABFEST_COORDINATOR")]
    coordinator: String,
    /// The run's id; submitting the same id and plan twice gives one run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Follow the run, report, and exit as `run` does
    #[arg(short, long)]
    watch: bool,
}

pub(crate) async fn submit(args: Args) -> anyhow::Result<Exit> {
    if let (Some(folder), false) = (&args.output.out, args.watch) {
        return Err(usage(anyhow!(
            "--out needs --watch: without it, no report is written\nhint: add --watch, or write the report later with `gabfest watch RUN --out {}`",
            folder.display()
        )));
    }
    let read = settings::read(&args.config, args.selection.strict)?;
    let plan = plan::build(&args.selection, &read)?;
    if args.selection.dry_run {
        plan::dry_run(&plan, &read, assemble::slots(&read, &Capacity::default()))?;
        return Ok(Exit::Held);
    }
    let run = args.run.clone().map_or_else(clock::new_run_id, RunId::new);
    let mut client = client::of(remote::connect(&args.coordinator).await?);
    let patience = if args.watch { Patience::seconds(args.patience) } else { Patience::NONE };
    client::submit(&mut client, &run, &plan, Spend::default(), patience).await?;
    if !args.watch {
        stdout::line(run.as_str())?;
        return Ok(Exit::Held);
    }
    watch::to_its_end(client, &run, &args.output, patience).await
}
