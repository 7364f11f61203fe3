//! `gabfest watch`: follow a run on a coordinator to its end, then write its report.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context as _, anyhow};
use scenario::RunId;

use crate::{
    args::{LONGEST_SECONDS, Output, whole},
    client::{self, Client},
    diagnostics,
    exit::{Exit, UsageError},
    finish::{self, Shown},
    follow::{self, OnInterrupt},
    history_file::Keeping,
    past::Lookback,
    patience::Patience,
    remote,
    run_folder::{self, RUNS},
    sentinels::Judged,
    signals::Interrupts,
    stdout,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run's id
    run: String,
    #[command(flatten)]
    coordinators: remote::Coordinators,
    #[command(flatten)]
    identity: remote::Identity,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Seconds that the coordinator may be away
    #[arg(long, default_value_t = 120, value_name = "S", value_parser = whole::<u64>(0..=LONGEST_SECONDS))]
    patience: u64,
    #[command(flatten)]
    keeping: Keeping,
}

pub(crate) async fn watch(args: Args) -> anyhow::Result<Exit> {
    let client = client::of(remote::connect(&args.coordinators.text(), &args.identity).await?);
    let past = Lookback::without_settings(&args.keeping.place);
    let kept = Kept { keeping: &args.keeping, labels: &BTreeMap::new(), past: &past, watched: None };
    let patience = Patience::seconds(args.patience);
    to_its_end(client, &args.coordinators, &RunId::new(args.run), &args.output, kept, patience).await
}

/// What the report and the history of a run get besides its trials.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept<'a> {
    pub(crate) keeping: &'a Keeping,
    /// Of the settings.
    pub(crate) labels: &'a BTreeMap<String, String>,
    pub(crate) past: &'a Lookback,
    /// The sentinels that were judged before the run.
    pub(crate) watched: Option<&'a Judged>,
}

/// Follows a run, writes its report, and stores it in the history, for `submit --watch` too.
pub(crate) async fn to_its_end(
    mut client: Client,
    coordinators: &remote::Coordinators,
    run: &RunId,
    output: &Output,
    Kept { keeping, labels, past, watched }: Kept<'_>,
    patience: Patience,
) -> anyhow::Result<Exit> {
    let named = format!("{run} --coordinator {}", coordinators.text());
    let folder = output.out.clone().unwrap_or_else(|| Path::new(RUNS).join(run.as_str()));
    run_folder::refuse_file(&folder)?;
    let interrupts = Interrupts::listen();
    let quiet = output.quiet;
    let last = follow::watch(&mut client, run, quiet, &interrupts, OnInterrupt::StopLooking(patience)).await?;
    let Some(last) = last else {
        stdout::line(&format!(
            "run {run} continues on the coordinator; `gabfest watch {named}` follows it again, `gabfest cancel {named}` stops it"
        ))?;
        return Ok(Exit::Interrupted);
    };
    if let Some(watched) = watched {
        fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
        watched.write(&folder)?;
    }
    let shown = Shown { quiet, silent: false, baseline: None, past: Some(past), kept: None };
    let exit = tokio::select! {
        exit = finish::report(&mut client, run, &folder, shown, &last.trouble, patience) => exit,
        () = interrupts.reached(1) => {
            stdout::line(&format!("run {run} has ended; `gabfest watch {named}` writes its report"))?;
            return Ok(Exit::Interrupted);
        }
    };
    keeping.keep(labels, &folder, run, past.found(), &exit).await;
    if last.trouble.is_empty() {
        return exit.map_err(|error| if error.is::<UsageError>() { error } else { not_downloaded(&named, &error) });
    }
    if finish::is_of_lost_store(&last.trouble) {
        return Err(finish::lost(&last.trouble, &exit, &folder));
    }
    finish::stopped(&last.trouble, exit, &format!("`gabfest resume {named}`"))
}

/// `named`: the run and its coordinator, as arguments.
fn not_downloaded(named: &str, error: &anyhow::Error) -> anyhow::Error {
    anyhow!(
        "the run has ended, and its report is not written: {}\nhint: the coordinator keeps the run; `gabfest watch {named}` writes the report",
        diagnostics::error_text(error)
    )
}
