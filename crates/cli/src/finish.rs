//! The end of a run: writes its files, prints its result, and says why it stopped. The same for every transport.

use std::{collections::BTreeSet, io::IsTerminal as _, path::Path};

use anyhow::{Context as _, anyhow};
use proto::v1;
use record::{FailureKind, Summary, Trial};
use report::{
    Found,
    write::{Writer, Written},
};
use scenario::RunId;

use crate::{
    client::{self, Client},
    exit::Exit,
    export::{self, Exported},
    patience::{Away, Patience},
    stdout,
};

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
    if summary.cases.iter().any(|case| case.format == formats::qna::FORMAT.name()) {
        writer = writer.with_plan(&client::plan(client, &summary, patience).await?);
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
