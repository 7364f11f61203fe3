//! `gabfest rejudge`: asks the judged checks of a run again, with another judge, and says which verdicts change.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use anyhow::anyhow;
use coordinator::Observers;
use llm::cassette::Tape;
use record::{call::Spend, count::plural};
use scenario::{
    Plan,
    plan::{Again, Gates, Origin},
};
use worker::rerun::{Again as What, Rerun};

use crate::{
    args::{Config, Output, SLOTS, whole},
    assemble::judging,
    budget::{self, MaxCost},
    calibration,
    changed_verdicts::{self, Changed},
    clock, diagnostics,
    exit::{Exit, usage},
    finish::Shown,
    play,
    recorded_run::{RecordedRun, Source},
    rejudged, replay,
    run_folder::RunFolder,
    settings, stdout,
};

/// The round of a single judgment; `gabfest noise` asks in later rounds too.
const ROUND: u32 = 1;

#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// The folder of the run to judge again, or its id
    run: String,
    /// The endpoint of the settings that judges [default: `roles.judge` and `models`]
    #[arg(short, long, value_name = "ENDPOINT")]
    judge: Option<String>,
    /// Ask every question again, also those that this judge has answered about this run before
    #[arg(long)]
    fresh: bool,
    /// Let trials whose conversations were not kept keep their verdicts, instead of refusing the run
    #[arg(long)]
    partial: bool,
    /// Print what would be asked and ask nothing
    #[arg(long)]
    dry_run: bool,
    /// Trials judged at the same time [default: `slots` in the settings file, else 32]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>(u64::from(*SLOTS.start())..=u64::from(*SLOTS.end())))]
    slots: Option<u32>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    config: Config,
    #[command(flatten)]
    max_cost: MaxCost,
    #[command(flatten)]
    pub(crate) output: Output,
}

const NOTES: &str = "\
No conversation is played. Checks of files, commands, services, tables and mocks keep their recorded results, and so do checks without a judge. \
The new run has a folder and a report of its own, which name the recorded run, and is no night of the history. Exit codes are those of `gabfest run`.";

pub(crate) async fn rejudge(args: Args) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, false)?;
    if let Some(judge) = &args.judge
        && judge != settings::MOCK
        && !read.settings.endpoints.contains_key(judge)
    {
        let all: Vec<&str> = read.settings.endpoints.keys().map(String::as_str).collect();
        return Err(usage(anyhow!(
            "there is no endpoint {judge:?}\nhint: the settings define {}",
            if all.is_empty() { "none".to_owned() } else { all.join(", ") }
        )));
    }
    let mut source = RecordedRun::open(&args.run, args.source.coordinator()).await?;
    let usable = rejudged::usable(&mut source, args.partial).await;
    let (usable, left_out) = match usable {
        Ok(found) => found,
        Err(error) => {
            source.close().await;
            return Err(error);
        }
    };
    let asked = replay::Judged::of(&source.plan);
    if !args.output.quiet {
        stdout::write(&said(&source, usable.len(), &left_out, &asked))?;
    }
    if args.dry_run {
        source.close().await;
        return Ok(Exit::Held);
    }
    if asked.checks == 0 {
        source.close().await;
        return Err(usage(anyhow!(
            "no check of the run asks a judge, so there is nothing to judge again\nhint: `gabfest run PATH… --replay RUN` applies changed checks to the recorded answers"
        )));
    }
    let judged = judge(&args, &read, &mut source).await;
    source.close().await;
    judged
}

async fn judge(args: &Args, read: &settings::Read, source: &mut RecordedRun) -> anyhow::Result<Exit> {
    let slots = args.slots.or(read.settings.slots).unwrap_or(32);
    let cache = rejudged::cache(source, args.fresh)?;
    let rerun = Rerun { recordings: Arc::new(source.recordings()), what: What::Judge, round: ROUND };
    let plan = plan_of(source, args.judge.as_deref(), read)?;
    let max_cost = args.max_cost.or_settings(&read.settings);
    if max_cost.is_some() {
        // Nobody asks an agent.
        budget::check(&[], read)?;
    }
    let tape = Tape::Cache(Arc::clone(&cache));
    let resources = judging::judging(&read.settings, &plan, args.judge.as_deref(), &tape, rerun).await?;
    let run = clock::new_run_id();
    let folder = RunFolder::begin(&run, &plan, args.output.out.as_deref()).await?;
    let quiet = args.output.quiet;
    let shown = Shown { quiet, silent: false, baseline: None, past: None, kept: None };
    let submitted = (plan, Spend::default(), max_cost);
    let exit = play::play(submitted, (resources, slots), Observers::default(), &run, &folder, shown, None).await?;
    let changed = changed_verdicts::between(source, &folder).await?;
    if !quiet {
        stdout::write(&format!("\n{}", changed_verdicts::text(&changed)))?;
        let (found, asked) = cache.counts();
        if found > 0 {
            diagnostics::note(&format!(
                "{found} answers are those of an earlier rejudge, {asked} were asked; --fresh asks all"
            ));
        }
    }
    write_changes(&folder.path, source, args.judge.as_deref(), &changed)?;
    Ok(exit)
}

/// The recorded plan, with the judge of now.
fn plan_of(source: &RecordedRun, judge: Option<&str>, read: &settings::Read) -> anyhow::Result<Plan> {
    let by = judge.map_or_else(String::new, |judge| format!(" by {judge}"));
    let origin = Origin { run: source.run.clone(), how: Again::Rejudge, judge: judge.map(str::to_owned) };
    // Whether a judge decides depends on how well it is measured by now.
    let gates = Gates { judges: calibration::gate(read)?, ..source.plan.gates.clone() };
    Ok(Plan {
        name: format!("{} (judged again{by}, run {})", source.plan.name, source.run),
        gates,
        endpoints: read.settings.digests(),
        origin: Some(origin),
        plays_on: true,
        decide: None,
        ..source.plan.clone()
    })
}

fn said(source: &RecordedRun, usable: usize, left_out: &[(u64, String)], asked: &replay::Judged) -> String {
    let trials = plural(usable as u64, "trial is", "trials are");
    let mut text = format!("run {}: {trials} judged again, and none is played\n", source.run);
    if !left_out.is_empty() {
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        left_out.iter().for_each(|(_, why)| *reasons.entry(why).or_default() += 1);
        for (why, count) in reasons {
            let trials = plural(count, "trial keeps its verdict", "trials keep their verdicts");
            text.push_str(&format!("  {trials}: {why}\n"));
        }
    }
    if !asked.kept.is_empty() {
        text.push_str(&format!(
            "  these checks keep their recorded results: {}\n",
            asked.kept.iter().copied().collect::<Vec<_>>().join(", ")
        ));
    }
    text
}

/// The changes as JSON, beside the report.
fn write_changes(folder: &Path, source: &RecordedRun, judge: Option<&str>, changed: &Changed) -> anyhow::Result<()> {
    let path = folder.join("rejudge.json");
    let json = changed_verdicts::json(&source.run, judge, changed)?;
    std::fs::write(&path, json).map_err(|error| anyhow!("failed to write {}: {error}", path.display()))
}
