//! What a question took that belongs to no trial: the same calls as those of a trial, added up.

use std::time::Duration;

use agent::Agent;
use llm::{Named, Receipt};
use record::{Call, Role, call::Spend};

use crate::{
    recorder::call_of,
    redact,
    stage::{Broken, answered_calls},
};

/// Of one message to an agent, which had no more time than `patience`.
#[must_use]
pub fn on_agent(
    agent: &dyn Agent,
    said: &Result<agent::Reply, agent::Error>,
    elapsed: Duration,
    patience: Duration,
) -> Spend {
    let mut calls = match said {
        Ok(reply) => answered_calls(agent.name(), reply, 0, Duration::ZERO),
        Err(error) => Broken::new(agent, error, elapsed, patience).calls(0, Duration::ZERO),
    };
    sum(&mut calls)
}

/// Of one question to a model.
#[must_use]
pub fn on_model(
    role: Role,
    model: &(impl Named + ?Sized),
    outcome: Result<&Receipt, &llm::Failed>,
    elapsed: Duration,
) -> Spend {
    sum(&mut [call_of(role, model, outcome, 0, (Duration::ZERO, elapsed))])
}

/// A server may say a key where it names its model.
fn sum(calls: &mut [Call]) -> Spend {
    let mut spend = Spend::default();
    for call in calls {
        redact::call(call);
        spend.add_call(call);
    }
    spend
}
