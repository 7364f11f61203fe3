//! The measurements of `gabfest judge --save`: a file beside `gabfest.yaml` with one entry for each judge or panel.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use record::summary::Rate;
use scenario::plan::{JudgeGate, MeasuredJudges};
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
}

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

/// The judge gate of a plan: `gates.judges`, with all measurements.
pub(crate) fn gate(settings: &Read) -> anyhow::Result<Option<JudgeGate>> {
    let Some(gate) = settings.settings.gates.judges else { return Ok(None) };
    let measured = read(&path(settings))?.into_iter().filter_map(|measured| {
        let Measured { judges, ballots, kappa, date, .. } = measured;
        Some(MeasuredJudges { judges, ballots, kappa: kappa.estimate?, date })
    });
    Ok(Some(JudgeGate { min_kappa: gate.min_kappa, measured: measured.collect() }))
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
