//! `gabfest run`: plan, play in this process, report.

use record::call::Spend;

use crate::{
    args::{Capacity, Config, Output, Page, Selection},
    assemble, clock, descriptors,
    exit::Exit,
    judges, log,
    observed::{self, Observed},
    plan, play, preflight,
    run_folder::RunFolder,
    settings,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    capacity: Capacity,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Print every message and finding during the run, in the plan's order
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "quiet")]
    log: Option<log::LogFormat>,
    #[command(flatten)]
    page: Page,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, args.selection.strict)?;
    let plan = plan::build(&args.selection, &read)?;
    let slots = assemble::slots(&read, &args.capacity);
    if args.selection.dry_run {
        plan::dry_run(&plan, &read, slots)?;
        return Ok(Exit::Held);
    }
    descriptors::check(&read.settings, plan.agents.iter().map(String::as_str), slots)?;
    let addresses: Vec<String> = args.selection.agents.iter().filter(|name| plan::is_address(name)).cloned().collect();
    let mut observed = Observed::start("gabfest", &observed::instance(), &args.page).await?;
    observed.serve(observed.health_of_worker())?;
    let played = async {
        let resources = assemble::resources(&read, &addresses, &args.capacity, Some(&observed)).await?;
        judges::announce(&plan, &resources.models)?;
        judges::announce_pretence(&plan, &read.settings);
        judges::announce_uncalibrated(&plan);
        assemble::ready(&plan, &resources)?;
        assemble::open_tool_server(&resources, &args.page).await?;
        let asks = !args.selection.no_preflight && plan.planned() >= preflight::LONG_TRIALS;
        let preflight =
            if asks { preflight::before(&plan, &read.settings, &resources).await? } else { Spend::default() };
        let run = clock::new_run_id();
        let folder = RunFolder::begin(&run, &plan, args.output.out.as_deref()).await?;
        let submitted = (plan, preflight);
        play::play(submitted, (resources, slots), observed.observers(), &run, &folder, args.output.quiet, args.log)
            .await
    };
    let exit = played.await;
    observed.end().await;
    exit
}
