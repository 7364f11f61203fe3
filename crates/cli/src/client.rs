//! The client of a coordinator: the two services that people use, and what a refusal of them means.

use anyhow::{Context as _, anyhow};
use proto::v1::{self, coordinator_client::CoordinatorClient, runs_client::RunsClient};
use record::{Summary, call::Spend};
use scenario::{Plan, RunId};
use tonic::{Status, transport::Channel};

use crate::{clock, exit::usage};

/// The two services of a coordinator that people use.
pub(crate) struct Client {
    pub(crate) runs: RunsClient<Channel>,
    plans: CoordinatorClient<Channel>,
}

pub(crate) fn of(channel: Channel) -> Client {
    Client {
        runs: RunsClient::new(channel.clone())
            .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
            .max_encoding_message_size(proto::MAX_MESSAGE_BYTES),
        plans: CoordinatorClient::new(channel).max_decoding_message_size(proto::MAX_MESSAGE_BYTES),
    }
}

/// Submits a plan; the same id with the same plan is the same run.
pub(crate) async fn submit(client: &mut Client, run: &RunId, plan: &Plan, preflight: Spend) -> anyhow::Result<()> {
    let request = v1::SubmitRequest {
        run: run.as_str().to_owned(),
        plan: plan.to_json().into(),
        submitted_at: clock::now_millis(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        preflight: proto::trial::spend_to_wire(preflight),
    };
    client.runs.submit(request).await.map_err(|status| match status.code() {
        tonic::Code::AlreadyExists | tonic::Code::InvalidArgument => {
            usage(anyhow!("the run was refused: {}", status.message()))
        }
        _ => anyhow!("the run was not taken: {}", status.message()),
    })?;
    Ok(())
}

/// The plan of the run that a summary is of.
pub(crate) async fn plan(client: &mut Client, summary: &Summary) -> anyhow::Result<Plan> {
    let request = v1::GetPlanRequest { digest: summary.run.plan_digest.to_string() };
    let reply = client
        .plans
        .get_plan(request)
        .await
        .map_err(|status| anyhow!("the plan of the run cannot be read: {}", status.message()))?
        .into_inner();
    let text = std::str::from_utf8(&reply.plan).context("failed to read the plan of the run")?;
    Plan::from_json(text).context("failed to read the plan of the run")
}

/// What a coordinator refused. A run that it does not know is the caller's mistake.
pub(crate) fn refused(what: &str, status: &Status) -> anyhow::Error {
    let error = anyhow!("{what}: {}", status.message());
    if status.code() == tonic::Code::NotFound { usage(error) } else { error }
}

pub(crate) fn reason(status: Option<&Status>) -> String {
    let said = status.map(proto::reason).filter(|text| !text.is_empty());
    said.unwrap_or_else(|| "the connection was closed".to_owned())
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
