//! `gabfest report`: the pages of a run again, from its store or from a coordinator.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use coordinator::Observers;
use scenario::RunId;

use crate::{
    client::{self, Client},
    embedded::{self, Embedded},
    exit::{Exit, usage},
    export::{self, Exported},
    finish,
    patience::Patience,
    remote, report_files,
    run_folder::{RUNS, RunFolder},
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run's folder, or its id
    run: String,
    /// Print this to stdout; without it, the files in the run's folder are written again
    #[arg(short, long, value_enum)]
    format: Option<Format>,
    /// Write the files to this folder instead of the run's own
    #[arg(short, long, value_name = "DIR", conflicts_with = "format")]
    out: Option<PathBuf>,
    /// Get the run from this coordinator; a run that is stored in a folder here comes first
    #[arg(long, value_name = "URL", env = "GABFEST_COORDINATOR")]
    coordinator: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// The summary as on the terminal
    Text,
    Json,
    Junit,
    Markdown,
    Html,
    /// One line per trial
    Trials,
    /// One line per trial, with every message
    Transcripts,
    /// The knowledge base, with the results as comments
    Qna,
    /// The results of a batch of questions with expected ids, as a table
    QnaTsv,
    /// Verdicts without times and attempts, to compare two runs of one plan
    View,
}

/// How long a coordinator may be away while its report is read.
const AWAY_SECONDS: u64 = 120;

pub(crate) async fn report(args: Args) -> anyhow::Result<Exit> {
    let files = RunFolder::with_report(&args.run).filter(|_| !RunFolder::exists(&args.run));
    if let (Some(folder), None) = (&files, &args.coordinator) {
        return of_files(folder, &args);
    }
    if let Some(address) = args.coordinator.as_ref().filter(|_| !RunFolder::exists(&args.run)) {
        let mut client = client::of(remote::connect(address).await?);
        let run = match &files {
            Some(folder) => report_files::summary(folder)?.run.id,
            None => RunId::new(args.run.clone()),
        };
        let usual = files.unwrap_or_else(|| Path::new(RUNS).join(&args.run));
        return render(&mut client, &run, &args, usual, Patience::seconds(AWAY_SECONDS)).await;
    }
    let folder = RunFolder::find(&args.run)?;
    let store = embedded::open(&folder.store()).await?;
    let Some((run, _)) = embedded::only_run(&store).await? else {
        let path = folder.path.display();
        let hint = format!(
            "`gabfest resume {path}` plays it where its plan is there; `gabfest run … --out {path}` begins another"
        );
        return Err(usage(anyhow!(
            "the run in {path} was stopped before it began: there is nothing to report\nhint: {hint}"
        )));
    };
    let mut embedded = Embedded::start(store, None, Observers::default()).await?;
    let exit = render(embedded.client(), &run, &args, folder.path, Patience::NONE).await;
    embedded.stop().await;
    exit
}

/// Prints what the files of a report hold. There is no store to render them again from.
fn of_files(folder: &Path, args: &Args) -> anyhow::Result<Exit> {
    let text = match args.format {
        None if args.out.is_none() => format!("{}\n", folder.join("report.html").display()),
        None | Some(Format::View) => {
            return Err(usage(anyhow!(
                "{} holds the report of a run and not the run itself\nhint: name the coordinator that keeps it with --coordinator",
                folder.display()
            )));
        }
        Some(Format::Text) => {
            let summary = report_files::summary(folder)?;
            return painted(&finish::summary_text(&summary, &report_files::found(folder, &summary)?));
        }
        Some(format) => {
            read_file(format, folder, folder.join("report.qna").exists(), folder.join("report.qna.tsv").exists())?
        }
    };
    stdout::document(&text)?;
    Ok(Exit::Held)
}

async fn render(
    client: &mut Client,
    run: &RunId,
    args: &Args,
    usual: PathBuf,
    patience: Patience,
) -> anyhow::Result<Exit> {
    let Some(format) = args.format else {
        let folder = args.out.clone().unwrap_or(usual);
        let (_, written, _) = finish::write(client, run, &folder, patience).await?;
        stdout::line(&written.report_html.display().to_string())?;
        return Ok(Exit::Held);
    };
    if format == Format::View {
        let print = |Exported { trial, .. }| stdout::document(&report::view::line(&trial)).map(|()| true);
        return export::each_trial(client, run, 0, patience, print).await.map(|()| Exit::Held);
    }
    // Every format is written by the same hand; what is asked for is then printed.
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let (summary, written, _) = finish::write(client, run, folder.path(), patience).await?;
    let text = match format {
        Format::Text => return painted(&finish::summary_text(&summary, &written.found)),
        format => read_file(format, folder.path(), written.qna.is_some(), written.qna_tsv.is_some())?,
    };
    stdout::document(&text)?;
    Ok(Exit::Held)
}

fn painted(text: &str) -> anyhow::Result<Exit> {
    stdout::painted(text)?;
    Ok(Exit::Held)
}

/// The file that holds a format, of those that a writer leaves.
fn read_file(format: Format, folder: &Path, qna: bool, qna_tsv: bool) -> anyhow::Result<String> {
    let file = match format {
        Format::Json => "report.json",
        Format::Junit => "junit.xml",
        Format::Markdown => "report.md",
        Format::Html => "report.html",
        Format::Trials => "trials.jsonl",
        Format::Transcripts => "transcripts.jsonl",
        Format::Qna if qna => "report.qna",
        Format::QnaTsv if qna_tsv => "report.qna.tsv",
        Format::Qna | Format::QnaTsv => {
            return Err(usage(anyhow!(
                "the run has nothing of this format\nhint: `qna` is for questions with answers, `qna-tsv` for those with ids only"
            )));
        }
        Format::Text | Format::View => unreachable!("these are in no file"),
    };
    std::fs::read_to_string(folder.join(file)).with_context(|| format!("failed to read {file}"))
}
