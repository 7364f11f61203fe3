//! The gate `regression`: a run is compared with an earlier one at its end.

mod latest;

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context as _, anyhow};
use record::{Summary, summary::RunState};
use scenario::RunId;
use statistics::{
    compare::{self, found::Comparison},
    gate,
};

use crate::{
    compared, diagnostics, exit::usage, history_file::Place, nights, run_folder::RUNS, screen::screen, sentinels,
    settings::Regression, stdout,
};

/// The latest finished run of the same name, and the latest of those whose gates held.
const LAST: &str = "last";
const LAST_GREEN: &str = "last-green";
/// In the folder of the new run.
const JSON: &str = "compare.json";

/// An earlier run, and by how much the success rate may fall below its.
#[derive(Debug)]
pub(crate) struct Baseline {
    folder: PathBuf,
    margin: f64,
    /// Once the new run's trials are written.
    found: OnceLock<Comparison>,
    /// It knows how much nights differ.
    history: Place,
}

impl Baseline {
    /// Finds the run to compare with before the new run is played, so that a wrong name or a run that cannot be read is found at
    /// once. `flag` is that of `--baseline`; `name` and `run` are those of the new run. `None`: no comparison, or no earlier run.
    pub(crate) async fn choose(
        flag: Option<&str>,
        gate: Option<&Regression>,
        name: &str,
        run: &RunId,
        history: &Place,
    ) -> anyhow::Result<Option<Self>> {
        let Some(wanted) = flag.or_else(|| gate.map(|gate| gate.baseline.as_str())) else { return Ok(None) };
        let margin = gate.and_then(|gate| compared::margin(&gate.margin).ok()).unwrap_or(compare::MARGIN);
        let folder = match wanted {
            LAST | LAST_GREEN => {
                let of = latest::Wanted { name, run, green: wanted == LAST_GREEN };
                let Some(folder) = latest::find(Path::new(RUNS), of, history).await? else {
                    diagnostics::note(&format!(
                        "there is no {wanted} run {name:?} in {RUNS}/ yet, so nothing is compared"
                    ));
                    return Ok(None);
                };
                folder
            }
            run => compared::folder(run)?,
        };
        if let Err(error) = compared::of_folder(&folder) {
            let why = diagnostics::error_text(&error);
            let hint = if why.contains("\nhint: ") { "" } else { "\nhint: name another run with --baseline RUN" };
            return Err(usage(anyhow!("the baseline cannot be read: {why}{hint}")));
        }
        Ok(Some(Self { folder, margin, found: OnceLock::new(), history: history.clone() }))
    }

    /// Compares a run that is whole, and writes the comparison beside its report. `folder` has its `trials.jsonl`. `None`: the run is not
    /// whole, so it says nothing about a change.
    pub(crate) async fn compare(&self, folder: &Path, summary: &Summary) -> anyhow::Result<Option<Comparison>> {
        if summary.run.state != RunState::Finished {
            return Ok(None);
        }
        let (base, new) = (compared::of_folder(&self.folder)?, compared::with_trials(folder, summary)?);
        let mut found = compare::compare(&base, &new, self.margin);
        found.nights = nights::between(&self.history, &base, &new, &found).await;
        found.sentinels = sentinels::between((&self.folder, &base.run.id), (folder, &new.run.id));
        for (name, text) in [
            (JSON, report::compare::json(&found)),
            ("compare.md", report::compare::markdown(&found)),
            ("compare.html", report::compare::html(&found)?),
        ] {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        }
        // A report that is written again finds the same.
        Ok(Some(self.found.get_or_init(|| found).clone()))
    }

    /// Prints the comparison, if there is one.
    pub(crate) fn print(&self, folder: &Path) -> anyhow::Result<()> {
        let Some(found) = self.found.get() else { return Ok(()) };
        let text = report::compare::terminal(found, screen());
        stdout::painted(&format!("\n{text}\ncompare {}\n", folder.join("compare.html").display()))
    }
}

/// Makes the comparison a gate of the run, so that its verdict and its exit code depend on it.
pub(crate) fn decide(summary: &mut Summary, found: &Comparison) {
    // A run that is not whole says nothing about a change.
    if summary.run.state == RunState::Finished {
        gate::add(summary, report::compare::gate(found));
    }
}

/// The comparison that was made when the run ended, for a report that is written again.
pub(crate) fn earlier(folder: &Path, run: &RunId) -> Option<Comparison> {
    let text = std::fs::read_to_string(folder.join(JSON)).ok()?;
    serde_json::from_str(&text).ok().filter(|found: &Comparison| found.new.id == run.as_str())
}

/// For commands that play elsewhere: they have no folder of earlier runs.
pub(crate) fn announce_unused(gate: Option<&Regression>) {
    if gate.is_some() {
        diagnostics::note(
            "gates.regression is for `gabfest run` and `gabfest resume`; compare this run's report with `gabfest compare`",
        );
    }
}
