//! The cost of calls outside of trials, for `gabfest ping` and the preflight.

use std::time::Duration;

use agent::Agent;
use llm::{Named, Receipt};
use record::{Call, Role, call::Spend};

use crate::{
    record_redaction,
    recorder::call_of,
    trial::{Broken, answered_calls},
};

/// The cost of one message to an agent. `patience`: the time that it had.
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

/// The cost of one question to a model.
#[must_use]
pub fn on_model(
    role: Role,
    model: &(impl Named + ?Sized),
    outcome: Result<&Receipt, &llm::Failed>,
    elapsed: Duration,
) -> Spend {
    let outcome = outcome.map(|receipt| (receipt, None));
    sum(&mut [call_of(role, model, outcome, 0, (Duration::ZERO, elapsed))])
}

/// Redacted first: a server may put a key into the name of its model.
fn sum(calls: &mut [Call]) -> Spend {
    let mut spend = Spend::default();
    for call in calls {
        record_redaction::call(call);
        spend.add_call(call);
    }
    spend
}
