//! The client of a coordinator: the two services that people use.

use anyhow::Context as _;
use proto::{
    Transport,
    v1::{self, coordinator_client::CoordinatorClient, runs_client::RunsClient},
};
use record::{Summary, Usd, call::Spend};
use scenario::{Plan, RunId};
use tonic::Code;

use crate::{
    clock,
    exit::usage,
    patience::{Away, Patience, answered},
    refusal,
};

/// The two services of a coordinator that people use.
pub(crate) struct Client {
    pub(crate) runs: RunsClient<Transport>,
    plans: CoordinatorClient<Transport>,
    /// The coordinator is in this process with the store and has no worker, so nothing plays its runs.
    pub(crate) is_idle: bool,
}

pub(crate) fn of(coordinator: impl Into<Transport>) -> Client {
    let coordinator = coordinator.into();
    Client {
        runs: RunsClient::new(coordinator.clone())
            .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
            .max_encoding_message_size(proto::MAX_MESSAGE_BYTES),
        plans: CoordinatorClient::new(coordinator).max_decoding_message_size(proto::MAX_MESSAGE_BYTES),
        is_idle: false,
    }
}

/// Submits a plan. The same id with the same plan is the same run, so that it can be submitted again if the answer was lost.
pub(crate) async fn submit(
    client: &mut Client,
    run: &RunId,
    plan: &Plan,
    (preflight, max_cost): (Spend, Option<Usd>),
    patience: Patience,
) -> anyhow::Result<()> {
    let request = v1::SubmitRequest {
        run: run.as_str().to_owned(),
        plan: plan.to_json().into(),
        submitted_at: clock::now_millis(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        preflight: proto::trial::spend_to_wire(preflight),
        max_cost_nanos: max_cost.map(|most| most.0),
    };
    let mut away = Away::new(patience);
    loop {
        let Err(status) = client.runs.submit(request.clone()).await else { return Ok(()) };
        match status.code() {
            Code::AlreadyExists | Code::InvalidArgument => {
                return Err(usage(refusal::of("the run was refused", &status)));
            }
            _ => away.wait("the run was not taken", &status).await?,
        }
    }
}

/// The runs of the coordinator, the latest first.
pub(crate) async fn runs(client: &mut Client) -> anyhow::Result<Vec<v1::RunLine>> {
    let list = async || client.runs.list(v1::ListRequest {}).await;
    Ok(answered("the runs cannot be listed", list).await?.runs)
}

/// The plan of the run that a summary is of.
pub(crate) async fn plan(client: &mut Client, summary: &Summary, patience: Patience) -> anyhow::Result<Plan> {
    let request = v1::GetPlanRequest { digest: summary.run.plan_digest.to_string() };
    let mut away = Away::new(patience);
    loop {
        match client.plans.get_plan(request.clone()).await {
            Ok(reply) => {
                let reply = reply.into_inner();
                let text = std::str::from_utf8(&reply.plan).context("failed to read the plan of the run")?;
                return Plan::from_json(text).context("failed to read the plan of the run");
            }
            Err(status) => away.wait("the plan of the run cannot be read", &status).await?,
        }
    }
}

/// As people read it.
pub(crate) fn state_name(state: v1::RunState) -> &'static str {
    match state {
        v1::RunState::Unspecified => "unknown",
        v1::RunState::Running => "running",
        v1::RunState::Finished => "finished",
        v1::RunState::Interrupted => "interrupted",
        v1::RunState::Cancelled => "cancelled",
    }
}
