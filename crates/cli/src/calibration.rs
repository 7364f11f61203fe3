//! The measurements of `gabfest judge --save`: a file beside `gabfest.yaml` with one entry for each judge or panel.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use record::summary::Rate;
use scenario::plan::{Agreeing, JudgeGate, MeasuredCriterion, MeasuredJudges};
use serde::{Deserialize, Serialize};

use crate::{exit::usage, settings::Read};

/// The file, unless `calibration` in the settings names another.
const USUAL: &str = "gabfest.judges.json";
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Written {
    version: u32,
    /// The latest last.
    measured: Vec<Measured>,
}

/// One measurement of a judge or a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// As ballots name judges, ascending.
    pub(crate) judges: Vec<String>,
    /// The models behind them, as their servers name them.
    pub(crate) models: Vec<String>,
    /// The number of ballots for each question.
    pub(crate) ballots: u64,
    /// The day of the measurement.
    pub(crate) date: String,
    /// The name of the file of labels, and the SHA-256 of its text.
    pub(crate) labels: String,
    pub(crate) labels_digest: String,
    pub(crate) items: u64,
    pub(crate) answered: u64,
    pub(crate) kappa: Rate,
    pub(crate) sensitivity: Rate,
    pub(crate) specificity: Rate,
    pub(crate) seed_flips: Rate,
    pub(crate) attacks: Rate,
    /// Criteria with at least [`LEAST_OF_CRITERION`] items, ascending. Files of earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) criteria: Vec<OfCriterion>,
}

/// The figures on the labels of one criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OfCriterion {
    /// As ballots name it.
    pub(crate) criterion: String,
    pub(crate) items: u64,
    pub(crate) kappa: Rate,
    pub(crate) sensitivity: Rate,
    pub(crate) specificity: Rate,
}

/// Fewer items say too little about a judge.
pub(crate) const LEAST_OF_CRITERION: u64 = 20;

/// The file of measurements.
pub(crate) fn path(read: &Read) -> PathBuf {
    read.folder.join(read.settings.calibration.as_deref().unwrap_or(Path::new(USUAL)))
}

/// Stores a measurement, replacing an earlier one of the same judges.
pub(crate) fn keep(path: &Path, measured: Measured) -> anyhow::Result<()> {
    let mut all = read(path)?;
    all.retain(|earlier| (&earlier.judges, earlier.ballots) != (&measured.judges, measured.ballots));
    all.push(measured);
    let text = serde_json::to_string_pretty(&Written { version: VERSION, measured: all })?;
    std::fs::write(path, text + "\n").with_context(|| format!("failed to write {}", path.display()))
}

/// What a plan knows of judges: all measurements, and the floor of `gates.judges`. `None`: neither.
pub(crate) fn gate(settings: &Read) -> anyhow::Result<Option<JudgeGate>> {
    let min_kappa = settings.settings.gates.judges.map(|judges| judges.min_kappa);
    let measured: Vec<MeasuredJudges> = read(&path(settings))?.into_iter().filter_map(Measured::known).collect();
    let is_known = min_kappa.is_some() || !measured.is_empty();
    Ok(is_known.then_some(JudgeGate { min_kappa, measured }))
}

impl Measured {
    fn known(self) -> Option<MeasuredJudges> {
        let of_criterion = |found: OfCriterion| {
            Some(MeasuredCriterion {
                kappa: found.kappa.estimate?,
                sensitivity: agreeing(&found.sensitivity),
                specificity: agreeing(&found.specificity),
                criterion: found.criterion,
            })
        };
        Some(MeasuredJudges {
            kappa: self.kappa.estimate?,
            sensitivity: agreeing(&self.sensitivity),
            specificity: agreeing(&self.specificity),
            criteria: self.criteria.into_iter().filter_map(of_criterion).collect(),
            judges: self.judges,
            ballots: self.ballots,
            date: self.date,
        })
    }
}

fn agreeing(rate: &Rate) -> Agreeing {
    Agreeing { verdicts: (rate.estimate.unwrap_or_default() * rate.n as f64).round() as u64, of: rate.n }
}

/// No measurements if there is no file.
fn read(path: &Path) -> anyhow::Result<Vec<Measured>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(usage(anyhow!("failed to read {}: {error}", path.display()))),
    };
    let hint = "hint: `gabfest judge LABELS --save` writes this file; move it away to start again";
    let written: Written = serde_json::from_str(&text)
        .map_err(|error| usage(anyhow!("failed to read {}: {error}\n{hint}", path.display())))?;
    if written.version != VERSION {
        let found = written.version;
        return Err(usage(anyhow!(
            "failed to read {}: its version is {found}, expected {VERSION}\n{hint}",
            path.display()
        )));
    }
    Ok(written.measured)
}
