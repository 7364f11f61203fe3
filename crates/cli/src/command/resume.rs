//! `gabfest resume`: continue a run that was interrupted or killed, here or on a coordinator, or that is paused there.

use anyhow::anyhow;
use proto::v1;
use scenario::{RunId, plan::Again};

use crate::{
    args::{Capacity, Config, Page},
    assemble,
    budget::{self, MaxCost},
    client::{self, Client},
    descriptors,
    embedded::{self, Embedded},
    exit::{Exit, usage},
    exporting::ExportTo,
    finish::Shown,
    follow::{self, OnInterrupt},
    history_file::Keeping,
    judges,
    observed::{self, Observed},
    past::Lookback,
    plan, play, refusal,
    regression::Baseline,
    remote, replay,
    run_folder::RunFolder,
    settings,
    signals::Interrupts,
    stderr,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run's folder, or its id
    run: String,
    /// Also play failed trials again; they still count as failed
    #[arg(long)]
    failed: bool,
    #[command(flatten)]
    max_cost: MaxCost,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    capacity: Capacity,
    /// Let this coordinator continue the run; a run in a local folder takes precedence
    #[arg(long, value_name = "URL", env = "GABFEST_COORDINATOR", value_delimiter = ',')]
    coordinator: Vec<String>,
    #[command(flatten)]
    identity: remote::Identity,
    /// Print only errors and, if the exit code is not 0, the verdict
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    keeping: Keeping,
    #[command(flatten)]
    export: ExportTo,
    #[command(flatten)]
    page: Page,
}

pub(crate) async fn resume(args: Args) -> anyhow::Result<Exit> {
    // GABFEST_COORDINATOR may be set, but a run in a local folder takes precedence.
    if let Some(address) = remote::listed(&args.coordinator).filter(|_| !RunFolder::exists(&args.run)) {
        if args.keeping.is_given() {
            return Err(usage(anyhow!(
                "--history and --label are for runs in a local folder\nhint: `gabfest watch RUN` stores a run of a coordinator in the history"
            )));
        }
        let mut client = client::of(remote::connect(&address, &args.identity).await?);
        let reply = ask(&mut client, &RunId::new(args.run.clone()), args.failed, args.max_cost).await?;
        say(args.quiet, &goes_on(&reply));
        return Ok(Exit::Held);
    }
    let folder = RunFolder::find(&args.run)?;
    let read = settings::read(&args.config, false)?;
    let interrupts = Interrupts::listen();
    let store = embedded::open(&folder.store()).await?;
    let stored = embedded::only_run(&store).await?;
    let is_stored = stored.is_some();
    // A run that was killed before its store had it has left its plan in the folder.
    let Some((run, plan)) = stored.map_or_else(|| folder.begun(), |stored| Ok(Some(stored)))? else {
        return Err(usage(anyhow!("there is no run {:?}\nhint: {}", args.run, folder.hint_to_begin())));
    };
    if let Some(origin) = &plan.origin {
        let again = match origin.how {
            Again::Replay => "gabfest run --replay",
            Again::Rejudge => "gabfest rejudge",
        };
        return Err(usage(anyhow!(
            "run {run} repeats run {0} and is not resumed\nhint: start it again with `{again} {0}`",
            origin.run
        )));
    }
    let baseline =
        Baseline::choose(None, read.settings.gates.regression.as_ref(), &plan.name, &run, &args.keeping.place).await?;
    if args.max_cost.flag().is_some() {
        budget::check(&plan.agents, &read)?;
    }
    let slots = assemble::slots_for(&plan, &read, &args.capacity)?;
    descriptors::check(&read.settings, plan.agents.iter().map(String::as_str), slots)?;
    // The plan may name agents by address; they are as trustworthy as when the run started here.
    let addresses: Vec<String> = plan.agents.iter().filter(|name| plan::is_address(name)).cloned().collect();
    let mut observed = Observed::start("gabfest", &observed::instance(), &args.page).await?;
    observed.serve(observed.health_of_worker())?;
    let played = async {
        let tape = replay::resumed(&folder.path)?;
        let resources = assemble::resources_on(&tape, &read, &addresses, &args.capacity, Some(&observed)).await?;
        judges::announce(&plan, &resources.models)?;
        judges::announce_pretence(&plan, &read.settings);
        judges::announce_uncalibrated(&plan);
        assemble::ready(&plan, &resources)?;
        assemble::open_tool_server(&resources, &args.page).await?;
        let mut embedded = Embedded::start(store, Some((resources, slots)), observed.observers()).await?;
        if !is_stored {
            embedded
                .submit(&run, &plan, record::call::Spend::default(), args.max_cost.or_settings(&read.settings))
                .await?;
        }
        folder.is_stored();
        let reply = ask(embedded.client(), &run, args.failed, args.max_cost).await?;
        say(args.quiet, &goes_on(&reply));
        let hurry = embedded.hurry();
        let interrupt = OnInterrupt::StopTheRun(&hurry);
        let last = follow::watch(embedded.client(), &run, args.quiet, &interrupts, interrupt).await?;
        let quiet = args.quiet;
        let past = Lookback::of(&args.keeping.place, &read);
        let shown = Shown { quiet, silent: false, baseline: baseline.as_ref(), past: Some(&past), kept: None };
        let exit = play::end(embedded, &run, &folder, shown, last.as_ref(), interrupts.count() > 0).await;
        replay::end(&tape);
        let exit = exit.and_then(|exit| match &baseline {
            Some(baseline) if !quiet => baseline.print(&folder.path).map(|()| exit),
            _ => Ok(exit),
        });
        let exit = args.export.at_end(read.settings.export.as_ref(), &folder, quiet, exit).await;
        args.keeping.keep(&read.settings.labels, &folder.path, &run, past.found(), &exit).await;
        exit
    };
    let exit = played.await;
    observed.end().await;
    exit
}

fn goes_on(reply: &v1::ResumeReply) -> String {
    let v1::ResumeReply { run, planned, done, again } = reply;
    let again = match again {
        0 => String::new(),
        1 => ", 1 trial is played again".to_owned(),
        again => format!(", {again} trials are played again"),
    };
    if *planned == 0 {
        // A load that ends by time has no number of trials.
        return format!("resuming run {run}: {done} trials are done{again}");
    }
    if done == planned && again.is_empty() {
        return format!("run {run} has nothing left to play: {done} of {planned} trials are done");
    }
    format!("resuming run {run}: {done} of {planned} trials are done{again}")
}

async fn ask(client: &mut Client, run: &RunId, failed: bool, max_cost: MaxCost) -> anyhow::Result<v1::ResumeReply> {
    let request =
        v1::ResumeRequest { run: run.as_str().to_owned(), failed, max_cost_nanos: max_cost.flag().map(|most| most.0) };
    let reply =
        client.runs.resume(request).await.map_err(|status| usage(refusal::of("the run cannot be resumed", &status)))?;
    Ok(reply.into_inner())
}

fn say(quiet: bool, text: &str) {
    if !quiet {
        stderr::say(text);
    }
}
