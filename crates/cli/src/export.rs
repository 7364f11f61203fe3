//! The trials of a run from whoever keeps it, one at a time, across a coordinator that goes away: what was handed over is not
//! asked for again.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use futures_util::StreamExt as _;
use proto::v1;
use record::{Failure, FailureKind, Trial, Turn, Verdict};
use scenario::RunId;
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::{
    client::{self, Client},
    stderr::say,
};

const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// How long a coordinator may be away, counted from its last word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience(Duration);

impl Patience {
    /// For a coordinator in this process: one that is gone does not come back.
    pub(crate) const NONE: Self = Self(Duration::ZERO);

    pub(crate) fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

/// A trial as it was handed over.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) trial: Trial,
    pub(crate) turns: Vec<Turn>,
    /// Why there are no turns, where they cannot be read.
    pub(crate) unreadable: Option<String>,
}

/// Since when a coordinator is away.
#[derive(Debug)]
pub(crate) struct Away {
    patience: Patience,
    since: Option<Instant>,
}

impl Away {
    pub(crate) fn new(patience: Patience) -> Self {
        Self { patience, since: None }
    }

    /// It is there.
    pub(crate) fn is_back(&mut self) {
        self.since = None;
    }

    /// Waits before the next try. An error says why none is made: the coordinator refused, or it was away for too long.
    pub(crate) async fn wait(&mut self, what: &str, status: &Status) -> anyhow::Result<()> {
        if refuses(status.code()) {
            return Err(client::refused(what, status));
        }
        let Patience(most) = self.patience;
        if most.is_zero() {
            return Err(anyhow!("{what}: {}", client::reason(Some(status))));
        }
        let reason = client::reason(Some(status));
        let since = self.since.unwrap_or_else(|| {
            say(&format!("the coordinator went away ({reason}): waiting for it"));
            Instant::now()
        });
        self.since = Some(since);
        if since.elapsed() >= most {
            let waited = record::count::plural(most.as_secs(), "second", "seconds");
            return Err(anyhow!("{what}: the coordinator went away and was not back within {waited}: {reason}"));
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
        Ok(())
    }
}

/// Whether a coordinator that is there said no; everything else may be a connection that broke.
fn refuses(code: Code) -> bool {
    matches!(
        code,
        Code::NotFound
            | Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
            | Code::OutOfRange
            | Code::ResourceExhausted
            | Code::DataLoss
    )
}

/// Hands over the latest attempt of each trial from a place in the plan on, in the plan's order, until somebody has enough.
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

/// What cannot be read is said of its trial, and is no reason to read no other.
fn read(exported: v1::ExportedTrial) -> anyhow::Result<Exported> {
    let v1::ExportedTrial { trial, turns, unreadable } = exported;
    let trial = trial.context("a trial came without its record")?;
    let trial = proto::trial::from_wire(trial.clone()).unwrap_or_else(|error| without_record(trial, &error));
    let turns: Result<Vec<Turn>, _> = turns.into_iter().map(proto::turn::from_wire).collect();
    Ok(match turns {
        Ok(turns) => Exported { trial, turns, unreadable: Some(unreadable).filter(|reason| !reason.is_empty()) },
        Err(error) => Exported { trial, turns: Vec::new(), unreadable: Some(error.to_string()) },
    })
}

/// A trial of which only its place in the plan can be read.
fn without_record(trial: v1::Trial, error: &proto::Error) -> Trial {
    let failure = Failure::new(FailureKind::Unreadable, format!("its record cannot be read: {error}"));
    let planned = scenario::Trial {
        number: trial.number,
        id: scenario::TrialId::new(trial.trial_id),
        case: trial.case,
        case_id: scenario::CaseId::new(trial.case_id),
        repeat: trial.repeat,
        seed: trial.seed,
    };
    Trial::unplayed(&planned, trial.epoch, Verdict::Error, failure)
}
