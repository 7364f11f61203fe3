//! What a question took that belongs to no trial: the same calls as those of a trial, added up.

use std::time::Duration;

use agent::Agent;
use record::{Role, call::Spend};

use crate::{
    recorder::call_of,
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
    let calls = match said {
        Ok(reply) => answered_calls(agent.name(), reply, 0, Duration::ZERO),
        Err(error) => Broken::new(agent, error, elapsed, patience).calls(0, Duration::ZERO),
    };
    let mut spend = Spend::default();
    calls.iter().for_each(|call| spend.add_call(call));
    spend
}

/// Of one question to a model.
#[must_use]
pub fn on_model(
    role: Role,
    model: &dyn llm::Model,
    answer: &Result<llm::Reply, llm::Failed>,
    elapsed: Duration,
) -> Spend {
    let mut spend = Spend::default();
    spend.add_call(&call_of(role, model, answer, 0, (Duration::ZERO, elapsed)));
    spend
}
