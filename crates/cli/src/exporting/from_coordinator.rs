//! A run on a coordinator.

use anyhow::Context as _;
use lake::{Attempt, Ending};
use proto::v1;
use record::{Summary, call::Spend};
use scenario::{Plan, RunId};
use tonic::Streaming;

use super::Source;
use crate::{
    client::{self, Client},
    export::{self, Exported},
    finish,
    patience::{Away, Patience},
};

pub(crate) struct FromCoordinator {
    client: Client,
    run: RunId,
    patience: Patience,
    trials: Option<Streaming<proto::ExportedTrial>>,
    next: u64,
}

impl FromCoordinator {
    pub(crate) fn new(client: Client, run: RunId, patience: Patience) -> Self {
        Self { client, run, patience, trials: None, next: 0 }
    }

    fn name(&self) -> String {
        self.run.as_str().to_owned()
    }
}

impl Source for FromCoordinator {
    async fn summary(&mut self) -> anyhow::Result<Summary> {
        finish::summary(&mut self.client, &self.run, self.patience).await
    }

    async fn plan(&mut self, summary: &Summary) -> anyhow::Result<Plan> {
        client::plan(&mut self.client, summary, self.patience).await
    }

    async fn next(&mut self) -> anyhow::Result<Option<Exported>> {
        let mut away = Away::new(self.patience);
        loop {
            let status = match &mut self.trials {
                None => {
                    let request = v1::ExportRequest { run: self.name(), first: self.next };
                    match self.client.runs.export(request).await {
                        Ok(trials) => {
                            self.trials = Some(trials.into_inner());
                            continue;
                        }
                        Err(status) => status,
                    }
                }
                Some(trials) => match trials.message().await {
                    Ok(None) => return Ok(None),
                    Ok(Some(exported)) => {
                        let exported = export::read(exported)?;
                        self.next = exported.trial.number.saturating_add(1);
                        return Ok(Some(exported));
                    }
                    Err(status) => status,
                },
            };
            self.trials = None;
            away.wait("the trials cannot be read", &status).await?;
        }
    }

    async fn attempts(&mut self, after: Option<(u64, u32)>) -> anyhow::Result<Vec<Attempt>> {
        let request = v1::GetAttemptsRequest {
            run: self.name(),
            after_trial: after.map(|(trial, _)| trial),
            after_epoch: after.map_or(0, |(_, epoch)| epoch),
        };
        let mut away = Away::new(self.patience);
        loop {
            match self.client.runs.get_attempts(request.clone()).await {
                Ok(reply) => return reply.into_inner().attempts.into_iter().map(attempt).collect(),
                Err(status) => away.wait("the attempts cannot be read", &status).await?,
            }
        }
    }

    async fn spend(&mut self) -> anyhow::Result<Spend> {
        let request = v1::GetSpendRequest { run: self.name() };
        let mut away = Away::new(self.patience);
        loop {
            match self.client.runs.get_spend(request.clone()).await {
                Ok(reply) => {
                    let spend = reply.into_inner().spend;
                    return proto::trial::spend_from_wire(spend).context("failed to read the spend of the run");
                }
                Err(status) => away.wait("the spend cannot be read", &status).await?,
            }
        }
    }
}

fn attempt(attempt: v1::OtherAttempt) -> anyhow::Result<Attempt> {
    let v1::OtherAttempt { trial: number, epoch, begun, given_up, lost_at, replaced } = attempt;
    let ending = match replaced {
        None => Ending::Lost { begun, given_up, at: lost_at },
        Some(trial) => {
            let trial = proto::trial::from_wire(trial).context("failed to read an attempt that was replaced")?;
            Ending::Replaced(Box::new(trial))
        }
    };
    Ok(Attempt { number, epoch, ending })
}
