//! `gabfest report`: the pages of a run again, from its store or from a coordinator.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use coordinator::Observers;
use report::{Form, Played, Rendering, forms};
use scenario::RunId;

use crate::{
    client::{self, Client},
    embedded::{self, Embedded},
    exit::{Exit, usage},
    export::{self, Exported},
    finish::{self, Shown},
    past,
    patience::Patience,
    regression, remote, report_files,
    run_folder::{self, RUNS, RunFolder},
    screen::screen,
    sentinels, stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run's folder, or its id
    run: String,
    /// Print this to stdout; without it, the files in the run's folder are written again
    #[arg(short, long, value_parser = form())]
    format: Option<&'static Form>,
    /// Write the files to this folder instead of the run's own
    #[arg(short, long, value_name = "DIR", conflicts_with = "format")]
    out: Option<PathBuf>,
    /// Get the run from this coordinator; a run in a local folder takes precedence
    #[arg(long, value_name = "URL", env = "GABFEST_COORDINATOR", value_delimiter = ',')]
    coordinator: Vec<String>,
    #[command(flatten)]
    identity: remote::Identity,
}

fn form() -> impl TypedValueParser<Value = &'static Form> {
    let values = forms::ALL.map(|form| PossibleValue::new(form.name).help(form.about));
    PossibleValuesParser::new(values).try_map(|name| forms::find(&name).ok_or("there is no such form"))
}

/// How long a coordinator may be away while its report is downloaded.
const AWAY_SECONDS: u64 = 120;

pub(crate) async fn report(args: Args) -> anyhow::Result<Exit> {
    let files = RunFolder::with_report(&args.run).filter(|_| !RunFolder::exists(&args.run));
    let coordinator = remote::listed(&args.coordinator);
    if let (Some(folder), None) = (&files, &coordinator) {
        return of_files(folder, &args);
    }
    if let Some(address) = coordinator.as_ref().filter(|_| !RunFolder::exists(&args.run)) {
        let mut client = client::of(remote::connect(address, &args.identity).await?);
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

/// Prints a report from its files. There is no store from which to render it again.
fn of_files(folder: &Path, args: &Args) -> anyhow::Result<Exit> {
    let Some(form) = args.format else {
        if args.out.is_some() {
            return Err(no_store(folder));
        }
        stdout::line(&folder.join("report.html").display().to_string())?;
        return Ok(Exit::Held);
    };
    match form.file.map(|file| folder.join(file)) {
        Some(path) if path.exists() => {
            let text = std::fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
            stdout::document(&text)?;
        }
        Some(_) => return Err(nothing_of(form)),
        None => {
            let summary = report_files::summary(folder)?;
            let mut selection = report_files::selection(folder, &summary)?;
            if let Some(comparison) = regression::earlier(folder, &summary.run.id) {
                selection.compare(comparison);
            }
            if let Some(drift) = sentinels::drift(folder, summary.run.id.as_str()) {
                selection.sentinels(drift);
            }
            let page = form.page(&summary, &selection, screen()).ok_or_else(|| no_store(folder))?;
            print(form, &page.context("failed to render the report")?)?;
        }
    }
    Ok(Exit::Held)
}

fn no_store(folder: &Path) -> anyhow::Error {
    usage(anyhow!(
        "{} holds the report of a run and not the run itself\nhint: name the coordinator that keeps it with --coordinator",
        folder.display()
    ))
}

fn nothing_of(form: &Form) -> anyhow::Error {
    usage(anyhow!(
        "the run has no {}\nhint: `qna` is for questions with expected answers, `qna-tsv` for questions with expected ids",
        form.name
    ))
}

async fn render(
    client: &mut Client,
    run: &RunId,
    args: &Args,
    usual: PathBuf,
    patience: Patience,
) -> anyhow::Result<Exit> {
    let Some(form) = args.format else {
        let folder = args.out.as_deref().unwrap_or(&usual);
        run_folder::refuse_file(folder)?;
        let shown = Shown { kept: Some(&usual), ..Shown::AGAIN };
        let (_, written, _) = finish::write(client, run, folder, shown, patience).await?;
        stdout::line(&written.report_html().display().to_string())?;
        return Ok(Exit::Held);
    };
    let mut summary = finish::summary(client, run, patience).await?;
    summary.past = past::earlier(&usual, run);
    let plan = if form.needs_plan() { Some(client::plan(client, &summary, patience).await?) } else { None };
    let mut rendering = Rendering::of(form, plan);
    if let Some(comparison) = regression::earlier(&usual, run) {
        regression::decide(&mut summary, &comparison);
        rendering.compare(comparison);
    }
    if let Some(drift) = sentinels::drift(&usual, run.as_str()) {
        rendering.sentinels(drift);
    }
    export::each_trial(client, run, 0, patience, |Exported { trial, turns, unreadable }| {
        let played = Played { trial: &trial, turns: &turns, unreadable: unreadable.as_deref() };
        rendering.add(&played).map_or(Ok(()), |text| stdout::document(&text)).map(|()| true)
    })
    .await?;
    let rest = rendering.finish(&summary, screen()).context("failed to render the report")?;
    print(form, &rest.ok_or_else(|| nothing_of(form))?)?;
    Ok(Exit::Held)
}

/// The terminal summary may add our own colours; every other form is printed exactly as in its file.
fn print(form: &Form, text: &str) -> anyhow::Result<()> {
    if form.name == "text" { stdout::painted(&format!("{}\n", text.trim_end())) } else { stdout::document(text) }
}
