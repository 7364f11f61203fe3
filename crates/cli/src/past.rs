//! What the history knows at the end of a run, for its report: quarantined cases that got worse, and since when failures are seen.

use std::{collections::BTreeMap, path::Path, sync::OnceLock};

use history::History;
use record::{
    Summary,
    count::plural,
    summary::{Past, QuarantineAlert},
};
use scenario::{Quarantine, RunId};
use statistics::{
    ledger::HALF_LIFE,
    nights::{Night, NightFailure, NightTrials},
    quarantine::alerts,
    recurring::since,
};

use crate::{
    clock, diagnostics,
    history_file::{Found, Place},
    report_files,
    settings::Read,
};

/// Nights that a run is compared with.
const MOST_BEFORE: usize = 90;

/// Where to look, and what the settings say.
#[derive(Debug, Clone)]
pub(crate) struct Lookback {
    place: Place,
    half_life: f64,
    /// Entries of the quarantine whose last day is over.
    expired: Vec<Quarantine>,
    /// What the report found, for the history: so that nothing reads `trials.jsonl` again.
    found: OnceLock<Found>,
}

impl Lookback {
    pub(crate) fn of(place: &Place, read: &Read) -> Self {
        let today = clock::today();
        let expired = read.settings.quarantine.iter().filter(|entry| entry.is_expired(&today));
        let (half_life, expired) = (read.settings.history.half_life, expired.cloned().collect());
        Self { half_life, expired, ..Self::without_settings(place) }
    }

    /// For commands that read no settings.
    pub(crate) fn without_settings(place: &Place) -> Self {
        Self { place: place.clone(), half_life: HALF_LIFE, expired: Vec::new(), found: OnceLock::new() }
    }

    /// The trials and failures of the report, if one was written.
    pub(crate) fn found(&self) -> Option<&Found> {
        self.found.get()
    }

    /// `None`: there is nothing to say. A history that cannot be read is a warning.
    pub(crate) async fn past(
        &self,
        summary: &Summary,
        trials: NightTrials,
        failures: Vec<NightFailure>,
    ) -> Option<Past> {
        let before = match self.nights(summary).await {
            Ok(before) => before,
            Err(error) => {
                diagnostics::warn_always(&format!("the history is not used: {}", diagnostics::error_text(&error)));
                Vec::new()
            }
        };
        let (_, failures) = self.found.get_or_init(|| (trials, failures));
        let tonight = Night::of(summary, 0, BTreeMap::new()).with_failures(failures.clone());
        let quarantined = tonight.run.is_night() && tonight.cells.iter().any(|cell| cell.quarantine.is_some());
        let past = Past {
            nights: before.len() as u64,
            alerts: if quarantined { alerts(&before, &tonight, self.half_life) } else { Vec::new() },
            expired: self.expired.clone(),
            failures: since(&before, &tonight),
        };
        Some(past).filter(|past| !past.is_empty())
    }

    /// Those before the run, the earliest first.
    async fn nights(&self, summary: &Summary) -> anyhow::Result<Vec<Night>> {
        let Some(path) = self.place.path().filter(|path| path.is_file()) else { return Ok(Vec::new()) };
        let mut history = History::read(&path).await?;
        let mut runs = history.runs().await?;
        let run = &summary.run;
        runs.retain(|of| of.is_night() && of.id != run.id.as_str() && of.started_at < run.started_at);
        runs.drain(..runs.len().saturating_sub(MOST_BEFORE));
        let nights = history.nights(runs).await?;
        history.close().await?;
        Ok(nights)
    }
}

/// What the history knew when the run ended, for a report that is written again.
pub(crate) fn earlier(folder: &Path, run: &RunId) -> Option<Past> {
    report_files::summary(folder).ok().filter(|summary| summary.run.id == *run)?.past
}

/// Warns of quarantined cases that passed less often than the nights before let expect.
pub(crate) fn warn(summary: &Summary) {
    let alerts = summary.past.iter().flat_map(|past| &past.alerts);
    for QuarantineAlert { case, passed, trials, expected_rate, chance, owner } in alerts {
        diagnostics::warn(&format!(
            "the quarantined case {case} is worse than before: {passed} of {} passed, and before {} did (chance {chance:.4})\nhint: its owner is {owner}",
            plural(*trials, "trial", "trials"),
            report::percent(*expected_rate),
        ));
    }
}
