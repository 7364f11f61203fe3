//! `gabfest report`: the pages of a run again, from its store or from a coordinator.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use coordinator::Observers;
use record::Summary;
use report::write::Written;
use scenario::RunId;

use crate::{
    args::{Format, Report},
    embedded::{self, Embedded},
    exit::{Exit, usage},
    follow::{self, Client},
    remote,
    run_folder::RunFolder,
    stdout,
};

pub(crate) async fn report(args: Report) -> anyhow::Result<Exit> {
    if let Some(address) = args.coordinator.as_ref().filter(|_| !RunFolder::exists(&args.run)) {
        let mut client = follow::client(remote::connect(address).await?);
        let usual = Path::new("gabfest-runs").join(&args.run);
        return render(&mut client, &RunId::new(args.run.clone()), &args, usual).await;
    }
    let folder = RunFolder::find(&args.run)?;
    let store = embedded::open(&folder.store()).await?;
    let (run, _) = embedded::only_run(&store).await?;
    let mut embedded = Embedded::start(store, None, Observers::default()).await?;
    let exit = render(embedded.client(), &run, &args, folder.path).await;
    embedded.stop().await;
    exit
}

async fn render(client: &mut Client, run: &RunId, args: &Report, usual: PathBuf) -> anyhow::Result<Exit> {
    let Some(format) = args.format else {
        let folder = args.out.clone().unwrap_or(usual);
        let (_, written) = follow::write(client, run, &folder).await?;
        stdout::line(&written.report_html.display().to_string())?;
        return Ok(Exit::Held);
    };
    if format == Format::View {
        return follow::each_trial(client, run, |trial, _| stdout::write(&report::view::line(trial)))
            .await
            .map(|()| Exit::Held);
    }
    // Every format is written by the same hand; what is asked for is then printed.
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let (summary, written) = follow::write(client, run, folder.path()).await?;
    stdout::write(&text(format, &summary, &written, folder.path())?)?;
    Ok(Exit::Held)
}

fn text(format: Format, summary: &Summary, written: &Written, folder: &Path) -> anyhow::Result<String> {
    let file = match format {
        Format::Text => return Ok(follow::summary_text(summary, written)),
        Format::Json => "report.json",
        Format::Junit => "junit.xml",
        Format::Markdown => "report.md",
        Format::Html => "report.html",
        Format::Trials => "trials.jsonl",
        Format::Transcripts => "transcripts.jsonl",
        Format::Qna if written.qna.is_some() => "report.qna",
        Format::QnaTsv if written.qna_tsv.is_some() => "report.qna.tsv",
        Format::Qna | Format::QnaTsv => {
            return Err(usage(anyhow!(
                "the run has nothing of this format\nhint: `qna` is for questions with answers, `qna-tsv` for those with ids only"
            )));
        }
        Format::View => unreachable!("a view is printed trial by trial"),
    };
    std::fs::read_to_string(folder.join(file)).with_context(|| format!("failed to read {file}"))
}
