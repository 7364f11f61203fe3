//! The end of a run: writes its files, prints its result, and says why it stopped. The same for every transport.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context as _, anyhow};
use proto::v1;
use record::{
    FailureKind, Summary, Trial,
    summary::{RunState, RunVerdict},
};
use report::{Found, Played, Screen, Writer, Written};
use scenario::RunId;
use statistics::nights::NightTrials;

use crate::{
    client::{self, Client},
    diagnostics,
    exit::Exit,
    export::{self, Exported},
    past::{self, Lookback},
    patience::{Away, Patience},
    regression::{self, Baseline},
    screen::screen,
    sentinels, stderr, stdout,
};

/// What the end of a run shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    /// Print only the verdict of a run that does not exit with 0.
    pub(crate) quiet: bool,
    /// Print nothing at all.
    pub(crate) silent: bool,
    /// The earlier run to compare with.
    pub(crate) baseline: Option<&'a Baseline>,
    /// What the history knows of it; `None`: the report keeps what it knew when the run ended.
    pub(crate) past: Option<&'a Lookback>,
    /// The folder with what was known when the run ended, if the report goes to another one.
    pub(crate) kept: Option<&'a Path>,
}

impl Shown<'_> {
    /// A report that is written again.
    pub(crate) const AGAIN: Shown<'static> =
        Shown { quiet: true, silent: true, baseline: None, past: None, kept: None };
}

/// Reads the numbers and every trial, writes the run's files, and prints the summary.
///
/// `trouble`: why the coordinator stopped the run by itself; otherwise empty. Such a run was not interrupted: the gates
/// decide its exit code, as for a finished run.
pub(crate) async fn report(
    client: &mut Client,
    run: &RunId,
    folder: &Path,
    shown: Shown<'_>,
    trouble: &str,
    patience: Patience,
) -> anyhow::Result<Exit> {
    let (mut summary, written, hints) = write(client, run, folder, shown, patience).await?;
    if !shown.quiet {
        let found = written.found.clone();
        // With a baseline, the whole comparison is printed below.
        let found = if shown.baseline.is_some() { found.without_comparison() } else { found };
        let text = format!("{}\nreport  {}\n", summary_text(&summary, &found), written.report_html().display());
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
    if shown.quiet && !shown.silent && Exit::of(&summary) != Exit::Held {
        stderr::error(verdict_lines(&summary, &written.found).trim_end());
    }
    past::warn(&summary);
    if !trouble.is_empty() {
        // A store that failed could not keep the reason.
        summary.run.stopped.get_or_insert_with(|| trouble.to_owned());
    }
    Ok(Exit::of(&summary))
}

/// Writes the run's files, and the comparison with an earlier run. The hints name the flag that allows programs which were refused.
pub(crate) async fn write(
    client: &mut Client,
    run: &RunId,
    folder: &Path,
    shown: Shown<'_>,
    patience: Patience,
) -> anyhow::Result<(Summary, Written, BTreeSet<&'static str>)> {
    let is_new = !folder.exists();
    let written = write_files(client, run, folder, shown, patience).await;
    if written.is_err() && is_new {
        // Removes the folder only if it is empty.
        let _ = std::fs::remove_dir(folder);
    }
    written
}

async fn write_files(
    client: &mut Client,
    run: &RunId,
    folder: &Path,
    Shown { baseline, past, kept, .. }: Shown<'_>,
    patience: Patience,
) -> anyhow::Result<(Summary, Written, BTreeSet<&'static str>)> {
    let kept = kept.unwrap_or(folder);
    let mut summary = summary(client, run, patience).await?;
    let mut writer = Writer::create(folder).context("failed to write the report")?;
    // A question of a knowledge base: the report of one needs the plan.
    if summary.cases.iter().any(|case| case.variant.is_some()) {
        writer = writer.with_plan(&client::plan(client, &summary, patience).await?);
    }
    let mut hints = BTreeSet::new();
    let mut trials = past.map(|_| NightTrials::of(&summary));
    export::each_trial(client, run, 0, patience, |Exported { trial, turns, unreadable }| {
        hints.extend(flag_of(&trial));
        trials.iter_mut().for_each(|trials| trials.add(&trial));
        let played = Played { trial: &trial, turns: &turns, unreadable: unreadable.as_deref() };
        writer.add(&played).context("failed to write the report").map(|()| true)
    })
    .await?;
    let comparison = match baseline {
        Some(baseline) => {
            writer.end_lines().context("failed to write the report")?;
            baseline.compare(folder, &summary).await
        }
        None => Ok(regression::earlier(kept, run)),
    };
    if let Ok(Some(comparison)) = &comparison {
        regression::decide(&mut summary, comparison);
        writer.compare(comparison.clone());
    }
    if let Some(drift) = sentinels::drift(kept, run.as_str()) {
        writer.sentinels(drift);
    }
    summary.past = match past.zip(trials) {
        Some((lookback, trials)) => lookback.past(&summary, trials, writer.nightly(&summary)).await,
        None => past::earlier(kept, run),
    };
    let written = writer.finish(&summary).context("failed to write the report")?;
    // The report is there, whatever the earlier run is like.
    comparison.context("failed to compare with the earlier run")?;
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
                // Its process was killed before it could record the end.
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
    let error = anyhow!("the run stopped: {trouble}\nhint: {mend}acknowledged results are kept; continue with {again}");
    match exit {
        Ok(exit @ Exit::GateFailed) => {
            diagnostics::print_error(&error);
            Ok(exit)
        }
        _ => Err(error),
    }
}

/// The end of a run whose report could not be written. The results are in its store.
pub(crate) fn without_report(error: anyhow::Error, folder: &Path) -> anyhow::Error {
    if error.chain().any(|cause| cause.is::<report::Error>()) {
        let folder = folder.display();
        let hint = format!("the results are kept; `gabfest report {folder}` writes the report later");
        return anyhow!("{}\nhint: {hint}", diagnostics::error_text(&error));
    }
    error
}

/// Whether a run stopped because its store was removed.
pub(crate) fn is_of_lost_store(trouble: &str) -> bool {
    trouble.starts_with(store::GONE)
}

/// The end of a run whose store was removed: it cannot be resumed.
pub(crate) fn lost(trouble: &str, report: &anyhow::Result<Exit>, folder: &Path) -> anyhow::Error {
    let kept = match report {
        Ok(_) => format!("everything played until then is in the report in {}", folder.display()),
        Err(_) => "nothing of the run is kept".to_owned(),
    };
    anyhow!("the run stopped: {trouble}\nhint: {kept}; the run cannot be resumed, so start it again")
}

/// `✗ FAIL  nightly`, and the gates that do not hold.
fn verdict_lines(summary: &Summary, found: &Found) -> String {
    let Screen { width, .. } = Screen::PLAIN;
    let all = report::terminal::summary_text(summary, found, false, width);
    let mut text = format!("{}\n", all.lines().next().unwrap_or_default());
    for gate in summary.gates.iter().filter(|gate| gate.verdict != RunVerdict::Pass) {
        text.push_str(&format!("  {}: {}\n", gate.name, gate.reason));
    }
    text
}

/// The summary as a person reads it.
fn summary_text(summary: &Summary, found: &Found) -> String {
    let Screen { color, width } = screen();
    let text = report::terminal::summary_text(summary, found, color, width);
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_report_that_cannot_be_written_can_be_written_later() {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let full = report::Error::Write { path: PathBuf::from("out/report.html"), source };
        let error = without_report(anyhow::Error::new(full).context("failed to write the report"), Path::new("out"));
        let expected = "failed to write the report: write out/report.html: no storage space\n\
            hint: the results are kept; `gabfest report out` writes the report later";
        assert_eq!(error.to_string(), expected);
        let other = without_report(anyhow!("the numbers cannot be read"), Path::new("out"));
        assert_eq!(other.to_string(), "the numbers cannot be read");
    }

    #[test]
    fn a_removed_store_is_recognised_by_its_error() {
        let gone = store::Error::Gone("out/run.db was removed".to_owned()).to_string();
        assert!(is_of_lost_store(&gone));
        assert!(!is_of_lost_store(&store::Error::Unwritable("disk full".to_owned()).to_string()));
    }
}
