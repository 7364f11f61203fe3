//! `gabfest run`: plan, play in this process, report.

use anyhow::Context as _;
use coordinator::Observers;
use record::call::Spend;
use scenario::{Plan, RunId};
use tokio_util::sync::CancellationToken;
use worker::Resources;

use crate::{
    args::{Log, Run},
    assemble, clock, descriptors,
    embedded::{self, Embedded},
    exit::Exit,
    export::Patience,
    follow::{self, OnInterrupt},
    judges, log,
    observed::{self, Observed},
    ping, plan,
    run_folder::RunFolder,
    settings,
    signals::Interrupts,
    stderr::say,
};

pub(crate) async fn run(args: Run) -> anyhow::Result<Exit> {
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
        assemble::ready(&plan, &resources)?;
        assemble::open_tool_server(&resources, &args.page).await?;
        let asks = !args.selection.no_preflight && plan.planned() >= ping::LONG_TRIALS;
        let preflight = if asks { ping::before(&plan, &read.settings, &resources).await? } else { Spend::default() };
        let run = clock::new_run_id();
        let folder = RunFolder::begin(&run, &plan, args.output.out.as_deref()).await?;
        let submitted = (plan, preflight);
        play(submitted, (resources, slots), observed.observers(), &run, &folder, args.output.quiet, args.log).await
    };
    let exit = played.await;
    observed.end().await;
    exit
}

/// Plays a plan in this process and reports into the run's folder. With the plan, what was spent before.
pub(crate) async fn play(
    (plan, preflight): (Plan, Spend),
    worker: (Resources, u32),
    observers: Observers,
    run: &RunId,
    folder: &RunFolder,
    quiet: bool,
    log: Option<Log>,
) -> anyhow::Result<Exit> {
    let interrupts = Interrupts::listen();
    let store = embedded::open(&folder.store()).await?;
    let mut embedded = Embedded::start(store, Some(worker), observers).await?;
    embedded.submit(run, &plan, preflight).await?;
    folder.is_stored();
    let log_ends = CancellationToken::new();
    let log = log.map(|format| {
        let client = embedded.second_client();
        tokio::spawn(log::print(format, client, run.clone(), plan, log_ends.clone()))
    });
    let hurry = embedded.hurry();
    let last = follow::watch(embedded.client(), run, quiet, &interrupts, OnInterrupt::StopTheRun(&hurry)).await;
    log_ends.cancel();
    if let Some(log) = log {
        log.await.context("failed to print the log")??;
    }
    finish(embedded, run, folder, quiet, last?.as_ref(), interrupts.count() > 0).await
}

/// Reports what there is, also when the run stopped before its end.
pub(crate) async fn finish(
    mut embedded: Embedded,
    run: &RunId,
    folder: &RunFolder,
    quiet: bool,
    last: Option<&proto::v1::Progress>,
    interrupted: bool,
) -> anyhow::Result<Exit> {
    let trouble = last.map_or("", |last| last.trouble.as_str());
    embedded.make_room();
    let exit = follow::report(embedded.client(), run, &folder.path, quiet, trouble, Patience::NONE).await;
    let is_gone = embedded.is_gone().await;
    embedded.stop().await;
    if is_gone {
        let trouble = if trouble.is_empty() { "the store was removed at the end of the run" } else { trouble };
        return Err(follow::lost(trouble, &exit, &folder.path));
    }
    if !trouble.is_empty() {
        return follow::stopped(trouble, exit, &format!("`gabfest resume {}`", folder.path.display()));
    }
    let exit = match exit? {
        // Whoever asked to stop knows why it stopped.
        Exit::Budget if interrupted => Exit::Interrupted,
        exit => exit,
    };
    if !quiet {
        let why = match exit {
            Exit::Interrupted => Some("the run was interrupted"),
            Exit::Budget => Some("the run stopped, because a provider's quota is used up"),
            _ => None,
        };
        if let Some(why) = why {
            say(&format!("{why}; go on with `gabfest resume {}`", folder.path.display()));
        }
    }
    Ok(exit)
}
