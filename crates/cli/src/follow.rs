//! Follows a run to its end, then writes its files and tells the result. The same for every transport.

use std::{collections::BTreeSet, io::IsTerminal as _, path::Path};

use anyhow::{Context as _, anyhow};
use futures_util::StreamExt as _;
use proto::v1::{self, coordinator_client::CoordinatorClient, runs_client::RunsClient};
use record::{FailureKind, Summary, Trial};
use report::{
    Found,
    write::{Writer, Written},
};
use scenario::{Format, Plan, RunId};
use tonic::{Status, Streaming, transport::Channel};

use crate::{
    exit::{Exit, usage},
    export::{self, Away, Exported, Patience},
    progress::Progress,
    signals::Interrupts,
    stdout,
};

/// The two services of a coordinator that people use.
pub(crate) struct Client {
    pub(crate) runs: RunsClient<Channel>,
    plans: CoordinatorClient<Channel>,
}

pub(crate) fn client(channel: Channel) -> Client {
    Client {
        runs: RunsClient::new(channel.clone())
            .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
            .max_encoding_message_size(proto::MAX_MESSAGE_BYTES),
        plans: CoordinatorClient::new(channel).max_decoding_message_size(proto::MAX_MESSAGE_BYTES),
    }
}

/// What Ctrl-C does while a run is followed.
pub(crate) enum OnInterrupt<'a> {
    /// The run is ours: drain it, then call this, which gives up what is being played. Either way it can be resumed.
    StopTheRun(&'a (dyn Fn() + Sync)),
    /// The run is somebody's: only stop looking. Its coordinator may be away for so long.
    StopLooking(Patience),
}

/// Shows progress until the run ends. `None`: somebody stopped looking. A run that is somebody's goes on without us, so that a
/// coordinator that goes away is waited for.
pub(crate) async fn watch(
    client: &mut Client,
    run: &RunId,
    quiet: bool,
    interrupts: &Interrupts,
    on_interrupt: OnInterrupt<'_>,
) -> anyhow::Result<Option<v1::Progress>> {
    let mut updates = updates(client, run).await.map_err(|status| refused("the run cannot be followed", &status))?;
    let mut shown = Progress::new(quiet);
    let mut asked = 0_u32;
    loop {
        tokio::select! {
            update = updates.next() => match update {
                Some(Ok(progress)) => {
                    shown.show(&progress);
                    if progress.state() != v1::RunState::Running {
                        shown.finish(Some(&progress));
                        return Ok(Some(progress));
                    }
                }
                lost => {
                    let gone = || Status::unavailable("the connection was closed");
                    let status = lost.map_or_else(gone, |lost| lost.err().unwrap_or_else(gone));
                    let patience = match on_interrupt {
                        OnInterrupt::StopTheRun(_) => Patience::NONE,
                        OnInterrupt::StopLooking(patience) => patience,
                    };
                    let back = tokio::select! {
                        back = wait_for(client, run, patience, status) => back,
                        () = interrupts.reached(asked + 1) => Ok(None),
                    };
                    match back {
                        Ok(Some(back)) => updates = back,
                        other => {
                            shown.finish(None);
                            return other.map(|_| None);
                        }
                    }
                }
            },
            () = interrupts.reached(asked + 1), if asked < 2 => {
                asked += 1;
                let OnInterrupt::StopTheRun(hurry) = &on_interrupt else {
                    shown.finish(None);
                    return Ok(None);
                };
                if asked == 2 {
                    shown.note("interrupted again: giving up the trials that are being played");
                    hurry();
                    continue;
                }
                shown.note("interrupted: finishing the trials that are being played; once more gives them up");
                shown.drain();
                let request = v1::CancelRequest { run: run.as_str().to_owned(), drain: true };
                client.runs.cancel(request).await.map_err(|status| anyhow!("the run cannot be stopped: {}", status.message()))?;
            }
        }
    }
}

async fn updates(client: &mut Client, run: &RunId) -> Result<Streaming<v1::Progress>, Status> {
    let request = v1::WatchRequest { run: run.as_str().to_owned() };
    client.runs.watch(request).await.map(tonic::Response::into_inner)
}

/// Tries to follow the run again until the coordinator is back.
async fn wait_for(
    client: &mut Client,
    run: &RunId,
    patience: Patience,
    mut status: Status,
) -> anyhow::Result<Option<Streaming<v1::Progress>>> {
    let mut away = Away::new(patience);
    loop {
        away.wait("the coordinator was lost while the run went on", &status).await?;
        match updates(client, run).await {
            Ok(updates) => return Ok(Some(updates)),
            Err(next) => status = next,
        }
    }
}

pub(crate) fn reason(status: Option<&Status>) -> String {
    let said = status.map(proto::reason).filter(|text| !text.is_empty());
    said.unwrap_or_else(|| "the connection was closed".to_owned())
}

/// The end of a run that the coordinator stopped by itself: said with the exit code that the report came to.
pub(crate) fn stopped(trouble: &str, exit: anyhow::Result<Exit>, again: &str) -> anyhow::Result<Exit> {
    let (trouble, mend) = llm::hint::split(trouble);
    let mend = mend.map_or_else(String::new, |mend| format!("{mend}; "));
    let error = anyhow!("the run stopped: {trouble}\nhint: {mend}what was acknowledged is kept; go on with {again}");
    match exit {
        Ok(exit @ Exit::GateFailed) => {
            crate::diagnostics::print_error(&error);
            Ok(exit)
        }
        _ => Err(error),
    }
}

/// The end of a run whose store is gone: there is nothing to go on with, whatever the report has.
pub(crate) fn lost(trouble: &str, report: &anyhow::Result<Exit>, folder: &Path) -> anyhow::Error {
    let kept = match report {
        Ok(_) => format!("what was played until then is in the report in {}", folder.display()),
        Err(_) => "nothing of the run is kept".to_owned(),
    };
    anyhow!("the run stopped: {trouble}\nhint: {kept}; it cannot be gone on with, so run it again")
}

/// Asks for the numbers and every trial, writes the run's files, and prints the summary.
///
/// `trouble`: why the coordinator stopped the run by itself, empty where it did not. Then nobody interrupted it, and what
/// was found decides the exit code as in a run that was played to its end.
pub(crate) async fn report(
    client: &mut Client,
    run: &RunId,
    folder: &Path,
    quiet: bool,
    trouble: &str,
    patience: Patience,
) -> anyhow::Result<Exit> {
    let (summary, written, hints) = write(client, run, folder, patience).await?;
    if !quiet {
        let text = format!("{}\nreport  {}\n", summary_text(&summary, &written.found), written.report_html.display());
        stdout::painted(&text)?;
        for hint in hints {
            stdout::line(&format!("hint    {hint}"))?;
        }
        if summary.summary.failures.iter().any(|failure| failure.kind == FailureKind::JudgeMissing) {
            stdout::line(
                "hint    what needs a judge was skipped and is not judged; with its key in place, run it again",
            )?;
        }
    }
    Ok(if trouble.is_empty() { Exit::of(&summary) } else { Exit::of_stopped(&summary) })
}

/// Writes the run's files. The hints say which flag lets programs run that were not allowed.
pub(crate) async fn write(
    client: &mut Client,
    run: &RunId,
    folder: &Path,
    patience: Patience,
) -> anyhow::Result<(Summary, Written, BTreeSet<&'static str>)> {
    let is_new = !folder.exists();
    let written = write_files(client, run, folder, patience).await;
    if written.is_err() && is_new {
        // One that holds nothing is in nobody's interest; one that holds something stays.
        let _ = std::fs::remove_dir(folder);
    }
    written
}

async fn write_files(
    client: &mut Client,
    run: &RunId,
    folder: &Path,
    patience: Patience,
) -> anyhow::Result<(Summary, Written, BTreeSet<&'static str>)> {
    let mut summary = summary(client, run, patience).await?;
    let mut writer = Writer::create(folder).context("failed to write the report")?;
    if summary.cases.iter().any(|case| case.format == Format::Qna.name()) {
        writer = writer.with_plan(&plan(client, &summary).await?);
    }
    let mut hints = BTreeSet::new();
    export::each_trial(client, run, 0, patience, |Exported { trial, turns, unreadable }| {
        hints.extend(flag_of(&trial));
        let written = match unreadable {
            None => writer.add(&trial, &turns),
            Some(reason) => writer.add_without_words(&trial, &reason),
        };
        written.context("failed to write the report").map(|()| true)
    })
    .await?;
    let written = writer.finish(&summary).context("failed to write the report")?;
    summary.unreadable.clone_from(&written.unreadable);
    Ok((summary, written, hints))
}

/// The flag that plays a trial which the operator did not allow.
fn flag_of(trial: &Trial) -> Option<&'static str> {
    let failure = trial.failure.as_ref().filter(|failure| failure.kind == FailureKind::ExecutionNotAllowed)?;
    // Agents that are programs say so themselves: no sandbox lets them run.
    Some(if failure.message.contains("--allow-exec=host") {
        "the agent is a program of this machine, which was not started; --allow-exec=host starts it"
    } else {
        "scenarios that run programs were skipped; --allow-exec plays them in a sandbox"
    })
}

async fn plan(client: &mut Client, summary: &Summary) -> anyhow::Result<Plan> {
    let request = v1::GetPlanRequest { digest: summary.run.plan_digest.to_string() };
    let reply = client
        .plans
        .get_plan(request)
        .await
        .map_err(|status| anyhow!("the plan of the run cannot be read: {}", status.message()))?
        .into_inner();
    let text = std::str::from_utf8(&reply.plan).context("failed to read the plan of the run")?;
    Plan::from_json(text).context("failed to read the plan of the run")
}

pub(crate) async fn summary(client: &mut Client, run: &RunId, patience: Patience) -> anyhow::Result<Summary> {
    let mut away = Away::new(patience);
    loop {
        match client.runs.get_summary(v1::GetSummaryRequest { run: run.as_str().to_owned() }).await {
            Ok(reply) => {
                let reply = reply.into_inner();
                return statistics::stored::read(&reply.summary).context("failed to read the numbers of the run");
            }
            Err(status) => away.wait("the numbers of the run cannot be read", &status).await?,
        }
    }
}

/// What a coordinator refused. A run that it does not know is the caller's mistake.
pub(crate) fn refused(what: &str, status: &Status) -> anyhow::Error {
    let error = anyhow!("{what}: {}", status.message());
    if status.code() == tonic::Code::NotFound { usage(error) } else { error }
}

/// The summary as a person reads it.
pub(crate) fn summary_text(summary: &Summary, found: &Found) -> String {
    let color = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let text = report::terminal::summary_text(summary, found, color, width());
    format!("{}\n", text.trim_end())
}

/// `COLUMNS` where somebody set it, else what the terminal says.
fn width() -> usize {
    const USUAL: usize = 100;
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    told.or_else(seen).unwrap_or(USUAL).clamp(60, 160)
}
