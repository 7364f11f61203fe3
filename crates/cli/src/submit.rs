//! `gabfest submit`, `watch` and `cancel`: what people do with a coordinator.

use std::path::Path;

use anyhow::anyhow;
use proto::v1;
use record::call::Spend;
use scenario::{Plan, RunId};

use crate::{
    args::{Cancel, Output, Submit, Watch},
    assemble, clock,
    exit::{Exit, UsageError, usage},
    export::Patience,
    follow::{self, Client, OnInterrupt},
    plan, remote,
    run_folder::RUNS,
    settings,
    signals::Interrupts,
    stdout,
};

pub(crate) async fn submit(args: Submit) -> anyhow::Result<Exit> {
    let read = settings::read(&args.config, args.selection.strict)?;
    let plan = plan::build(&args.selection, &read)?;
    if args.selection.dry_run {
        let capacity = crate::args::Capacity::default();
        plan::dry_run(&plan, &read, assemble::slots(&read, &capacity))?;
        return Ok(Exit::Held);
    }
    let run = args.run.clone().map_or_else(clock::new_run_id, RunId::new);
    let mut client = follow::client(remote::connect(&args.coordinator).await?);
    hand_over(&mut client, &run, &plan, Spend::default()).await?;
    if !args.watch {
        stdout::line(run.as_str())?;
        return Ok(Exit::Held);
    }
    look(client, &run, &args.output, Patience::seconds(args.patience)).await
}

/// Submits a plan; the same id with the same plan is the same run.
pub(crate) async fn hand_over(client: &mut Client, run: &RunId, plan: &Plan, preflight: Spend) -> anyhow::Result<()> {
    let request = v1::SubmitRequest {
        run: run.as_str().to_owned(),
        plan: plan.to_json().into(),
        submitted_at: clock::now_millis(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        preflight: proto::trial::spend_to_wire(preflight),
    };
    client.runs.submit(request).await.map_err(|status| match status.code() {
        tonic::Code::AlreadyExists | tonic::Code::InvalidArgument => {
            usage(anyhow!("the run was refused: {}", status.message()))
        }
        _ => anyhow!("the run was not taken: {}", status.message()),
    })?;
    Ok(())
}

pub(crate) async fn watch(args: Watch) -> anyhow::Result<Exit> {
    let client = follow::client(remote::connect(&args.coordinator).await?);
    look(client, &RunId::new(args.run), &args.output, Patience::seconds(args.patience)).await
}

pub(crate) async fn cancel(args: Cancel) -> anyhow::Result<Exit> {
    let mut client = follow::client(remote::connect(&args.coordinator).await?);
    let request = v1::CancelRequest { run: args.run.clone(), drain: args.drain };
    let reply = client
        .runs
        .cancel(request)
        .await
        .map_err(|status| usage(anyhow!("the run cannot be cancelled: {}", status.message())))?;
    let state = reply.into_inner().state();
    let said = match state {
        // It takes no more; it ends with what is being played.
        v1::RunState::Running if args.drain => "is being drained",
        other => word(other),
    };
    stdout::line(&format!("{} {said}", args.run))?;
    Ok(Exit::Held)
}

async fn look(mut client: Client, run: &RunId, output: &Output, patience: Patience) -> anyhow::Result<Exit> {
    let interrupts = Interrupts::listen();
    let quiet = output.quiet;
    let last = follow::watch(&mut client, run, quiet, &interrupts, OnInterrupt::StopLooking(patience)).await?;
    let Some(last) = last else {
        stdout::line(&format!(
            "run {run} goes on without you; `gabfest watch {run}` looks again, `gabfest cancel {run}` stops it"
        ))?;
        return Ok(Exit::Interrupted);
    };
    let folder = output.out.clone().unwrap_or_else(|| Path::new(RUNS).join(run.as_str()));
    let exit = tokio::select! {
        exit = follow::report(&mut client, run, &folder, quiet, &last.trouble, patience) => exit,
        () = interrupts.reached(1) => {
            stdout::line(&format!("run {run} has ended; `gabfest watch {run}` writes its report"))?;
            return Ok(Exit::Interrupted);
        }
    };
    if last.trouble.is_empty() {
        return exit.map_err(|error| if error.is::<UsageError>() { error } else { not_downloaded(run, &error) });
    }
    follow::stopped(&last.trouble, exit, &format!("`gabfest resume {run} --coordinator URL`"))
}

fn not_downloaded(run: &RunId, error: &anyhow::Error) -> anyhow::Error {
    anyhow!(
        "the run has ended, and its report is not written: {error:#}\nhint: the coordinator keeps the run; `gabfest watch {run}` writes the report"
    )
}

pub(crate) fn word(state: v1::RunState) -> &'static str {
    match state {
        v1::RunState::Unspecified => "unknown",
        v1::RunState::Running => "running",
        v1::RunState::Finished => "finished",
        v1::RunState::Interrupted => "interrupted",
        v1::RunState::Cancelled => "cancelled",
    }
}
