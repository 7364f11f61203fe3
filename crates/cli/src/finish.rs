//! The end of a run: writes its files, prints its result, and says why it stopped. The same for every transport.

use std::{collections::BTreeSet, io::IsTerminal as _, path::Path};

use anyhow::{Context as _, anyhow};
use proto::v1;
use record::{FailureKind, Summary, Trial, summary::RunState};
use report::{Found, Played, Screen, Writer, Written};
use scenario::RunId;

use crate::{
    client::{self, Client},
    exit::Exit,
    export::{self, Exported},
    patience::{Away, Patience},
    stdout,
};

/// Reads the numbers and every trial, writes the run's files, and prints the summary.
///
/// `trouble`: why the coordinator stopped the run by itself; empty where it did not. Such a run was not interrupted: the gates
/// decide its exit code, as for a finished run.
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
        let text = format!("{}\nreport  {}\n", summary_text(&summary, &written.found), written.report_html().display());
        stdout::painted(&text)?;
        for hint in hints {
            stdout::line(&format!("hint    {hint}"))?;
        }
        if summary.summary.failures.iter().any(|failure| failure.kind == FailureKind::JudgeMissing) {
            stdout::line(
                "hint    trials that need a judge were skipped; put the judge's key in place and run them again",
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
        // Removes the folder only where it is empty.
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
    // A question of a knowledge base: the report of one needs the plan.
    if summary.cases.iter().any(|case| case.variant.is_some()) {
        writer = writer.with_plan(&client::plan(client, &summary, patience).await?);
    }
    let mut hints = BTreeSet::new();
    export::each_trial(client, run, 0, patience, |Exported { trial, turns, unreadable }| {
        hints.extend(flag_of(&trial));
        let played = Played { trial: &trial, turns: &turns, unreadable: unreadable.as_deref() };
        writer.add(&played).context("failed to write the report").map(|()| true)
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

pub(crate) async fn summary(client: &mut Client, run: &RunId, patience: Patience) -> anyhow::Result<Summary> {
    let mut away = Away::new(patience);
    loop {
        match client.runs.get_summary(v1::GetSummaryRequest { run: run.as_str().to_owned() }).await {
            Ok(reply) => {
                let reply = reply.into_inner();
                let mut summary =
                    statistics::stored::read(&reply.summary).context("failed to read the numbers of the run")?;
                // Its process was killed before it could say so.
                if client.is_idle && summary.run.state == RunState::Running {
                    summary.run.state = RunState::Interrupted;
                }
                return Ok(summary);
            }
            Err(status) => away.wait("the numbers of the run cannot be read", &status).await?,
        }
    }
}

/// The end of a run that the coordinator stopped by itself, with the exit code of its report.
pub(crate) fn stopped(trouble: &str, exit: anyhow::Result<Exit>, again: &str) -> anyhow::Result<Exit> {
    let (trouble, mend) = llm::hint::split(trouble);
    let mend = mend.map_or_else(String::new, |mend| format!("{mend}; "));
    let error = anyhow!("the run stopped: {trouble}\nhint: {mend}what was acknowledged is kept; continue with {again}");
    match exit {
        Ok(exit @ Exit::GateFailed) => {
            crate::diagnostics::print_error(&error);
            Ok(exit)
        }
        _ => Err(error),
    }
}

/// The end of a run whose store is gone: it cannot be resumed.
pub(crate) fn lost(trouble: &str, report: &anyhow::Result<Exit>, folder: &Path) -> anyhow::Error {
    let kept = match report {
        Ok(_) => format!("everything played until then is in the report in {}", folder.display()),
        Err(_) => "nothing of the run is kept".to_owned(),
    };
    anyhow!("the run stopped: {trouble}\nhint: {kept}; the run cannot be resumed, so start it again")
}

/// The summary as a person reads it.
fn summary_text(summary: &Summary, found: &Found) -> String {
    let Screen { color, width } = screen();
    let text = report::terminal::summary_text(summary, found, color, width);
    format!("{}\n", text.trim_end())
}

/// Stdout, or plain text where it is no terminal. `COLUMNS` sets the width, where it is set.
pub(crate) fn screen() -> Screen {
    const USUAL: usize = 100;
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    Screen {
        color: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        width: told.or_else(seen).unwrap_or(USUAL).clamp(60, 160),
    }
}
