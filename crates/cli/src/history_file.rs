//! The history of runs: where it is, and how a run gets into it.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use history::History;
use record::Summary;
use report::Failures;
use scenario::RunId;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use statistics::nights::{Night, NightFailure, NightTrials};

use crate::{
    compared, diagnostics,
    exit::{Exit, UsageError, usage},
    report_files::{self, LinesFile},
    run_folder::RUNS,
    run_labels, sentinels,
};

const NAME: &str = "history.db";
/// For `--history`: no history is written.
const NONE: &str = "none";
const VARIABLE: &str = "GABFEST_HISTORY";
/// The file of a run's folder with what its report does not know.
const ENDED: &str = "ended.json";

/// Where the history is.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Place {
    /// The history of runs; `none` for none [default: gabfest-runs/history.db] [env: GABFEST_HISTORY]
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
}

/// The trials and the failures of a run.
pub(crate) type Found = (NightTrials, Vec<NightFailure>);

/// How a run is stored in the history.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Keeping {
    #[command(flatten)]
    pub(crate) place: Place,
    /// A label of the run in the history, such as `commit=1a2b3c`; repeat for several
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = run_labels::label)]
    pub(crate) labels: Vec<(String, String)>,
}

impl Place {
    /// `None`: there is no history.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let written = || std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let path = self.history.clone().or_else(written).unwrap_or_else(|| Path::new(RUNS).join(NAME));
        (path != Path::new(NONE)).then_some(path)
    }

    /// A file that a flag names must be there; without a flag, no history is no error.
    pub(crate) fn refuse_missing(&self) -> anyhow::Result<()> {
        match &self.history {
            Some(path) if path != Path::new(NONE) && !path.is_file() => Err(missing(path)),
            _ => Ok(()),
        }
    }

    /// Opens the history to read.
    pub(crate) async fn read(&self) -> anyhow::Result<History> {
        let Some(path) = self.path() else {
            return Err(usage(anyhow!("there is no history\nhint: name its file with --history FILE")));
        };
        History::read(&path).await.map_err(|error| match error {
            history::Error::Missing(_) => missing(&path),
            other => broken(&path, &other),
        })
    }

    /// Opens the history to write.
    pub(crate) async fn open(&self) -> anyhow::Result<History> {
        let Some(path) = self.path() else {
            return Err(usage(anyhow!("there is no history to write\nhint: name its file with --history FILE")));
        };
        History::open(&path).await.map_err(|error| broken(&path, &error))
    }
}

fn missing(path: &Path) -> anyhow::Error {
    let shown = path.display();
    if path.is_dir() {
        return folder(path);
    }
    usage(anyhow!(
        "there is no history in {shown}\nhint: `gabfest run` writes it; `gabfest history import FOLDER…` adds earlier runs"
    ))
}

fn folder(path: &Path) -> anyhow::Error {
    usage(anyhow!(
        "the history {0} is a folder\nhint: a history is a file; name one, such as --history {0}/{NAME}",
        path.display()
    ))
}

/// A file that cannot be opened, or that is no history.
fn broken(path: &Path, error: &history::Error) -> anyhow::Error {
    if path.is_dir() {
        return folder(path);
    }
    usage(anyhow!(
        "{error}\nhint: move {} away, and `gabfest history import {RUNS}` makes a new one from the folders of runs; or name another with --history FILE",
        path.display()
    ))
}

/// The history beside the runs of a folder.
pub(crate) fn beside(runs: &Path) -> PathBuf {
    runs.join(NAME)
}

/// How a run ended, in its folder: for `gabfest history import` elsewhere.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Ended {
    exit_code: u8,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

impl Ended {
    /// `None` in folders of earlier versions.
    fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(ENDED);
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            text => {
                let read = || format!("failed to read {}", path.display());
                Ok(Some(serde_json::from_str(&text.with_context(read)?).with_context(read)?))
            }
        }
    }
}

impl Keeping {
    /// Stores the run whose report is in the folder. Labels of the flags take precedence over those of the settings, and these
    /// over those of the run before it was resumed. A failure is a warning, because it says nothing about the agent.
    pub(crate) async fn keep(
        &self,
        settings: &BTreeMap<String, String>,
        folder: &Path,
        run: &RunId,
        found: Option<&Found>,
        exit: &anyhow::Result<Exit>,
    ) {
        if let Err(error) = self.store(settings, folder, run, found, exit).await {
            diagnostics::warn_always(&format!("the run is not in the history: {}", diagnostics::error_text(&error)));
        }
    }

    async fn store(
        &self,
        settings: &BTreeMap<String, String>,
        folder: &Path,
        run: &RunId,
        found: Option<&Found>,
        exit: &anyhow::Result<Exit>,
    ) -> anyhow::Result<()> {
        let Some(path) = self.place.path() else { return Ok(()) };
        // Without a report of this run there is nothing to store.
        if report_files::run_id(folder).is_none_or(|id| id != *run) {
            return Ok(());
        }
        let exit_code = match exit {
            Ok(exit) => exit.code(),
            Err(error) if error.is::<UsageError>() => Exit::Usage.code(),
            Err(_) => Exit::NotEnoughEvidence.code(),
        };
        let mut labels = Ended::read(folder)?.unwrap_or_default().labels;
        let hidden =
            |(name, value): (&String, &String)| (redact::redact(name).into_owned(), redact::redact(value).into_owned());
        labels.extend(settings.iter().map(hidden));
        labels.extend(self.labels.iter().map(|(name, value)| hidden((name, value))));
        let ended = serde_json::to_string(&Ended { exit_code, labels }).context("failed to write labels")?;
        let file = folder.join(ENDED);
        fs::write(&file, ended + "\n").with_context(|| format!("failed to write {}", file.display()))?;
        let night = night_with(folder, found)?;
        let mut history = History::open(&path).await.map_err(|error| broken(&path, &error))?;
        history.keep(&night).await?;
        Ok(history.close().await?)
    }

    /// Whether a flag was given, for commands that store a run only sometimes.
    pub(crate) fn is_given(&self) -> bool {
        self.place.history.is_some() || !self.labels.is_empty()
    }
}

/// The recorded run that the run in this folder plays or judges again. Such a run is no night.
pub(crate) fn repeated(folder: &Path) -> anyhow::Result<Option<RunId>> {
    Ok(report_files::summary(folder)?.run.origin.map(|origin| origin.run))
}

/// A run, as its folder describes it.
pub(crate) fn night(folder: &Path) -> anyhow::Result<Night> {
    night_with(folder, None)
}

/// The same. `found`: its trials and failures, if its report was just written.
fn night_with(folder: &Path, found: Option<&Found>) -> anyhow::Result<Night> {
    let summary = report_files::summary(folder)?;
    let ended = Ended::read(folder)?;
    let exit_code = ended.as_ref().map_or_else(|| Exit::of(&summary).code(), |ended| ended.exit_code);
    let mut night = Night::of(&summary, exit_code, ended.map(|ended| ended.labels).unwrap_or_default());
    night.run.sentinels = sentinels::night(folder, &night.run.id);
    let (trials, failures) = match found {
        Some((trials, failures)) => (trials.clone(), failures.clone()),
        None => read(folder, &summary)?,
    };
    Ok(night.with_trials(trials).with_failures(failures))
}

/// The trials and the failures, as `trials.jsonl` has them.
fn read(folder: &Path, summary: &Summary) -> anyhow::Result<Found> {
    let mut trials = NightTrials::of(summary);
    let mut failures = Failures::default();
    let file = LinesFile::of(folder, "trials.jsonl");
    for text in file.texts()? {
        let text = text?;
        let mut line: compared::Line<IgnoredAny> = file.read(&text)?;
        if line.may_be_failure() {
            let whole = report_files::trial(file.read(&text)?, summary);
            failures.add(&whole.context("failed to read trials.jsonl")?);
        }
        let (case, faulty) = (std::mem::take(&mut line.case_id), line.has_faulty_user());
        trials.add_played(&case, &line.into(), faulty);
    }
    Ok((trials, failures.nightly(summary)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_no_history() {
        let place = |text: &str| Place { history: Some(PathBuf::from(text)) };
        assert_eq!((place("none").path(), place("x.db").path()), (None, Some(PathBuf::from("x.db"))));
    }
}
