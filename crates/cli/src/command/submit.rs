//! `gabfest submit`: send a run to a coordinator.

use anyhow::anyhow;
use record::call::Spend;
use scenario::RunId;

use super::watch::{self, Kept};
use crate::{
    args::{Capacity, Config, LONGEST_SECONDS, Output, Selection, whole},
    assemble::{self, judging},
    budget::{self, MaxCost},
    client, clock,
    exit::{Exit, usage},
    history_file::Keeping,
    past::Lookback,
    patience::Patience,
    plan, regression, remote, run_folder, sentinels, settings, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    max_cost: MaxCost,
    #[command(flatten)]
    pub(crate) output: Output,
    /// With --watch: seconds that the coordinator may be away
    #[arg(long, default_value_t = 120, value_name = "S", value_parser = whole::<u64>(0..=LONGEST_SECONDS))]
    patience: u64,
    #[command(flatten)]
    coordinators: remote::Coordinators,
    #[command(flatten)]
    identity: remote::Identity,
    /// The run's id; submitting the same id and plan twice gives one run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Follow the run, report, and exit as `run` does
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    keeping: Keeping,
}

pub(crate) async fn submit(args: Args) -> anyhow::Result<Exit> {
    if let (Some(folder), false) = (&args.output.out, args.watch) {
        return Err(usage(anyhow!(
            "--out needs --watch: without it, no report is written\nhint: add --watch, or write the report later with `gabfest watch RUN --out {}`",
            folder.display()
        )));
    }
    if args.keeping.is_given() && !args.watch {
        return Err(usage(anyhow!(
            "--history and --label need --watch: without it, the run is not stored in the history\nhint: add --watch, or `gabfest watch RUN` later with these flags"
        )));
    }
    if let Some(folder) = &args.output.out {
        run_folder::refuse_file(folder)?;
    }
    let read = settings::read(&args.config, args.selection.strict)?;
    let slots = assemble::slots(&read, &Capacity::default());
    let plan = plan::build(&args.selection, &read, plan::Player::Workers, slots)?;
    let max_cost = args.max_cost.or_settings(&read.settings);
    if max_cost.is_some() {
        budget::check(&plan.agents, &read)?;
    }
    if args.selection.dry_run {
        plan::dry_run(&plan, &read, slots, max_cost)?;
        return Ok(Exit::Held);
    }
    regression::announce_unused(read.settings.gates.regression.as_ref());
    let run = args.run.clone().map_or_else(clock::new_run_id, RunId::new);
    let mut client = client::of(remote::connect(&args.coordinators.text(), &args.identity).await?);
    let watched = match args.watch {
        true => {
            sentinels::judge(&read, &judging::judges(&read.settings).await?, slots, &run, &args.keeping.place).await?
        }
        false => sentinels::announce_unused(&read).map(|()| None)?,
    };
    let patience = Patience::seconds(args.patience);
    client::submit(&mut client, &run, &plan, (Spend::default(), max_cost), patience).await?;
    if !args.watch {
        stdout::line(run.as_str())?;
        return Ok(Exit::Held);
    }
    let past = Lookback::of(&args.keeping.place, &read);
    let kept = Kept { keeping: &args.keeping, labels: &read.settings.labels, past: &past, watched: watched.as_ref() };
    watch::to_its_end(client, &args.coordinators, &run, &args.output, kept, patience).await
}
