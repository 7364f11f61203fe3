//! `gabfest run`: plan, play in this process, report.

mod replayed;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use llm::cassette::Tape;
use record::call::Spend;

use crate::{
    args::{Capacity, Config, Output, Page, Selection},
    assemble,
    budget::{self, MaxCost},
    clock, descriptors,
    exit::Exit,
    exporting::ExportTo,
    finish::Shown,
    history_file::Keeping,
    judges, log,
    observed::{self, Observed},
    past::Lookback,
    plan, play, preflight,
    regression::Baseline,
    remote::Identity,
    replay,
    run_folder::{RUNS, RunFolder},
    run_folders, sentinels, settings,
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
    max_cost: MaxCost,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Print every message and finding during the run, in the plan's order
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "quiet")]
    log: Option<log::LogFormat>,
    /// Compare with an earlier run at the end: `last`, `last-green`, a run's folder or its id; a run that is worse exits with 1
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    /// Keep every call to agents and models in the run's folder, for --replay
    #[arg(long, conflicts_with = "replay")]
    record: bool,
    /// Answer every call from this recorded run (a folder or an id) and make none; without PATH, its own scenarios are played
    #[arg(long, value_name = "RUN", conflicts_with_all = ["baseline", "labels"])]
    replay: Option<String>,
    /// With --replay: get the recorded run from this coordinator; a run in a local folder takes precedence
    #[arg(long, value_name = "URL", requires = "replay", value_delimiter = ',')]
    coordinator: Vec<String>,
    #[command(flatten)]
    identity: Identity,
    /// With --replay: the calls that workers recorded (`gabfest worker --record DIR`), as files or folders; repeat for several
    #[arg(long, value_name = "PATH", requires = "replay")]
    calls: Vec<PathBuf>,
    #[command(flatten)]
    keeping: Keeping,
    #[command(flatten)]
    export: ExportTo,
    #[command(flatten)]
    page: Page,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    if let Some(recorded) = args.replay.clone() {
        return replayed::run(args, &recorded).await;
    }
    let read = settings::read(&args.config, args.selection.strict)?;
    let slots = assemble::slots(&read, &args.capacity);
    let plan = plan::build(&args.selection, &read, plan::Player::ThisProcess, slots)?;
    let slots = assemble::slots_for(&plan, &read, &args.capacity)?;
    let max_cost = args.max_cost.or_settings(&read.settings);
    if max_cost.is_some() {
        budget::check(&plan.agents, &read)?;
    }
    if args.selection.dry_run {
        plan::dry_run(&plan, &read, slots, max_cost)?;
        return Ok(Exit::Held);
    }
    let run = clock::new_run_id();
    let retention = run_folders::Retention::of(&read.settings)?;
    args.export.check(read.settings.export.as_ref(), &run).await?;
    let gate = read.settings.gates.regression.as_ref();
    let baseline = Baseline::choose(args.baseline.as_deref(), gate, &plan.name, &run, &args.keeping.place).await?;
    descriptors::check(&read.settings, plan.agents.iter().map(String::as_str), slots)?;
    let addresses: Vec<String> = args.selection.agents.iter().filter(|name| plan::is_address(name)).cloned().collect();
    let mut observed = Observed::start("gabfest", &observed::instance(), &args.page).await?;
    observed.serve(observed.health_of_worker())?;
    let played = async {
        let tape = if args.record { Tape::Record(Arc::default()) } else { Tape::Off };
        let resources = assemble::resources_on(&tape, &read, &addresses, &args.capacity, Some(&observed)).await?;
        judges::announce(&plan, &resources.models)?;
        judges::announce_pretence(&plan, &read.settings);
        judges::announce_uncalibrated(&plan);
        assemble::ready(&plan, &resources)?;
        assemble::open_tool_server(&resources, &args.page).await?;
        let asks = !args.selection.no_preflight && plan.planned().is_none_or(|trials| trials >= preflight::LONG_TRIALS);
        let preflight = match asks {
            true => {
                let _budget = max_cost.map(|most| budget::outside_of_runs(&resources, most));
                preflight::before(&plan, &read.settings, &resources).await?
            }
            false => Spend::default(),
        };
        let watched = sentinels::judge(&read, &resources.models, slots, &run, &args.keeping.place).await?;
        let folder = RunFolder::begin(&run, &plan, args.output.out.as_deref()).await?;
        if let Some(watched) = watched {
            watched.write(&folder.path)?;
        }
        replay::begin(&tape, &folder.path)?;
        let submitted = (plan, preflight, max_cost);
        let quiet = args.output.quiet;
        let past = Lookback::of(&args.keeping.place, &read);
        let shown = Shown { quiet, silent: false, baseline: baseline.as_ref(), past: Some(&past), kept: None };
        let exit =
            play::play(submitted, (resources, slots), observed.observers(), &run, &folder, shown, args.log).await;
        replay::end(&tape);
        let exit = exit.and_then(|exit| match &baseline {
            Some(baseline) if !quiet => baseline.print(&folder.path).map(|()| exit),
            _ => Ok(exit),
        });
        let exit = args.export.at_end(read.settings.export.as_ref(), &folder, quiet, exit).await;
        args.keeping.keep(&read.settings.labels, &folder.path, &run, past.found(), &exit).await;
        if args.output.out.is_none() {
            retention.apply(Path::new(RUNS), &folder.path);
        }
        exit
    };
    let exit = played.await;
    observed.end().await;
    exit
}
