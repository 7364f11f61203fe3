//! `gabfest run --replay`: a recorded run again, its calls answered from the recording. It is no night of the history.

use anyhow::anyhow;
use coordinator::Observers;
use record::call::Spend;
use scenario::{
    Plan,
    plan::{Again, Origin},
};

use super::Args;
use crate::{
    assemble, changed_verdicts, clock,
    exit::{Exit, usage},
    finish::Shown,
    plan, play,
    recorded_run::RecordedRun,
    replay,
    run_folder::RunFolder,
    settings, stdout,
};

/// Plays the recorded scenarios, or those of PATH.
pub(super) async fn run(args: Args, recorded: &str) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, args.selection.strict)?;
    let coordinator = (!args.coordinator.is_empty()).then_some((args.coordinator.as_slice(), &args.identity));
    let mut source = RecordedRun::open(recorded, coordinator).await?;
    let replayed = replay_of(args, &read, &mut source).await;
    source.close().await;
    replayed
}

async fn replay_of(mut args: Args, read: &settings::Read, source: &mut RecordedRun) -> anyhow::Result<Exit> {
    let slots = assemble::slots(read, &args.capacity);
    let plan = plan_of(&mut args, read, source, slots)?;
    let slots = assemble::slots_for(&plan, read, &args.capacity)?;
    let tape = replay::tape(source, &args.calls).await?;
    let addresses: Vec<String> = plan.agents.iter().filter(|name| plan::is_address(name)).cloned().collect();
    let resources = assemble::resources_on(&tape, read, &addresses, &args.capacity, None).await?;
    replay::refuse_unrecorded(&plan, &resources)?;
    if args.selection.dry_run {
        plan::dry_run(&plan, read, slots, None)?;
        return Ok(Exit::Held);
    }
    let run = clock::new_run_id();
    let folder = RunFolder::begin(&run, &plan, args.output.out.as_deref()).await?;
    let shown = Shown { quiet: args.output.quiet, silent: false, baseline: None, past: None, kept: None };
    // Every answer is recorded, so nothing costs anything.
    let submitted = (plan, Spend::default(), None);
    let exit = play::play(submitted, (resources, slots), Observers::default(), &run, &folder, shown, args.log).await?;
    let changed = changed_verdicts::between(source, &folder).await?;
    if !args.output.quiet {
        stdout::write(&format!("\n{}", replay::text(&source.run, &changed)))?;
    }
    Ok(exit)
}

/// The plan of the recorded run, or one of the scenarios of PATH with its seed: other seeds would make another user say other
/// things.
fn plan_of(args: &mut Args, read: &settings::Read, source: &RecordedRun, slots: u32) -> anyhow::Result<Plan> {
    let plan = if args.selection.paths.is_empty() {
        if let Some(flag) = args.selection.narrowing() {
            return Err(usage(anyhow!(
                "{flag} selects from scenarios, and --replay without PATH plays the recorded ones\nhint: name the scenarios too"
            )));
        }
        source.plan.clone()
    } else {
        if args.selection.seed == 0 {
            args.selection.seed = source.plan.seed;
        }
        plan::build(&args.selection, read, plan::Player::ThisProcess, slots)?
    };
    let origin = Origin { run: source.run.clone(), how: Again::Replay, judge: None };
    let name = format!("{} (replay of run {})", plan.name, source.run);
    // A call without a recording has none the second time either.
    Ok(Plan { name, replays: 0, plays_on: true, origin: Some(origin), ..plan })
}
