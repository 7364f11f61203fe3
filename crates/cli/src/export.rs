//! Exports the trials of a run from its coordinator, one at a time. After a lost connection it continues behind the last
//! trial that came.

use anyhow::Context as _;
use futures_util::StreamExt as _;
use proto::{ExportedTrial, v1};
use record::{Failure, FailureKind, Trial, Turn, Verdict};
use scenario::RunId;

use crate::{
    client::Client,
    patience::{Away, Patience},
};

/// A trial from the coordinator.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) trial: Trial,
    pub(crate) turns: Vec<Turn>,
    /// Why there are no turns, if they cannot be read.
    pub(crate) unreadable: Option<String>,
}

/// Passes the latest attempt of each trial to `take`, in the plan's order from trial `first` on, until `take` returns false.
pub(crate) async fn each_trial(
    client: &mut Client,
    run: &RunId,
    first: u64,
    patience: Patience,
    mut take: impl FnMut(Exported) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let mut away = Away::new(patience);
    let mut next = first;
    loop {
        let request = v1::ExportRequest { run: run.as_str().to_owned(), first: next };
        let status = match client.runs.export(request).await {
            Err(status) => status,
            Ok(trials) => {
                let mut trials = trials.into_inner();
                loop {
                    match trials.next().await {
                        None => return Ok(()),
                        Some(Err(status)) => break status,
                        Some(Ok(exported)) => {
                            let exported = read(exported)?;
                            away.is_back();
                            next = exported.trial.number.saturating_add(1);
                            if !take(exported)? {
                                return Ok(());
                            }
                        }
                    }
                }
            }
        };
        away.wait("the trials cannot be read", &status).await?;
    }
}

/// Reads one trial. An unreadable trial is reported as such, and the export continues.
pub(crate) fn read(exported: ExportedTrial) -> anyhow::Result<Exported> {
    let ExportedTrial { trial, turns, unreadable } = exported;
    let trial = trial.context("a trial came without its record")?;
    let (planned, epoch) = (planned(&trial), trial.epoch);
    let trial = proto::trial::from_wire(trial).unwrap_or_else(|error| without_record(&planned, epoch, &error));
    let read = |(number, turn)| proto::turn::from_bytes(turn).map_err(|error| format!("turn {number}: {error}"));
    let turns: Result<Vec<Turn>, _> = (1..).zip(turns).map(read).collect();
    Ok(match turns {
        Ok(turns) => Exported { trial, turns, unreadable: Some(unreadable).filter(|reason| !reason.is_empty()) },
        Err(error) => Exported { trial, turns: Vec::new(), unreadable: Some(error) },
    })
}

/// The place of a trial in the plan.
fn planned(trial: &v1::Trial) -> scenario::Trial {
    scenario::Trial {
        number: trial.number,
        id: scenario::TrialId::new(trial.trial_id.clone()),
        case: trial.case,
        case_id: scenario::CaseId::new(trial.case_id.clone()),
        repeat: trial.repeat,
        seed: trial.seed,
    }
}

/// A trial of which only the place in the plan can be read.
fn without_record(planned: &scenario::Trial, epoch: u32, error: &proto::Error) -> Trial {
    let failure = Failure::new(FailureKind::Unreadable, format!("its record cannot be read: {error}"));
    Trial::unplayed(planned, epoch, Verdict::Error, failure)
}
