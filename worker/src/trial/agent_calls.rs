//! The calls of one exchange with an agent, answered or not, as they are recorded.

use std::{
    iter::{once, repeat},
    time::Duration,
};

use agent::{Agent, Spent};
use record::{Call, FailureKind, Role, Usd, by_model};

use crate::recorder::{Took, failed_call, finish_of, limits_of, micros, tokens_of};

/// Every answered request of an exchange, empty answers included. `held`: how long admission withheld the first one.
pub(crate) fn answered_calls(agent: &str, reply: &agent::Reply, started_micros: u64, held: Duration) -> Vec<Call> {
    let requests = reply.requests().zip(once(held).chain(repeat(Duration::ZERO)));
    requests
        .map(|(request, held_back)| {
            let after = if request.started.is_zero() { 0 } else { micros(held + request.started) };
            answered_call(agent, request, started_micros + after, held_back + request.timing.wait)
        })
        .collect()
}

fn answered_call(agent: &str, reply: &agent::Reply, started_micros: u64, waited: Duration) -> Call {
    let usage = reply.usage.unwrap_or_default();
    Call {
        role: Role::Agent,
        endpoint: agent.to_owned(),
        model: if reply.model.is_empty() { agent.to_owned() } else { by_model::name(&reply.model).into_owned() },
        started_micros,
        wait_micros: micros(waited),
        connect_micros: reply.timing.connect.map(micros),
        ttft_micros: reply.timing.first_token.map(micros),
        inter_token_micros: reply.timing.inter_token.map(micros),
        total_micros: micros(reply.timing.total),
        retried_micros: micros(reply.timing.retried),
        tokens: tokens_of(usage),
        texts: None,
        estimated: usage.estimated,
        cost: reply.cost_nanos.map(Usd),
        plain_priced: reply.plain_priced,
        reported_cost: reply.reported_cost_nanos.map(Usd),
        finish: reply.finish.map(finish_of),
        tries: reply.tries.max(1),
        throttled_tries: reply.throttled_tries,
        lost_tries: reply.lost_tries,
        error: None,
        error_kind: None,
        of_trial: false,
        limits: limits_of(&reply.learned),
    }
}

/// The model of a call without an answer: as the settings name it, else the agent's own name.
pub(super) fn model_of(agent: &dyn Agent) -> String {
    let name = if agent.model().is_empty() { agent.name() } else { agent.model() };
    name.to_owned()
}

/// An exchange that failed.
pub(crate) struct Broken<'a> {
    agent: &'a dyn Agent,
    error: &'a agent::Error,
    /// How long the agent and its tools worked.
    pub(crate) took: Duration,
    /// How long the failed request took.
    last_took: Duration,
    last_waited: Duration,
}

impl<'a> Broken<'a> {
    /// `elapsed`: since the agent was called. `timeout`: of this call.
    pub(crate) fn new(agent: &'a dyn Agent, error: &'a agent::Error, elapsed: Duration, timeout: Duration) -> Self {
        if let Spent::Known(reply) = &error.spent {
            let (last_took, last_waited) = (reply.timing.total, reply.timing.wait);
            return Self { agent, error, took: reply.took(), last_took, last_waited };
        }
        let earlier = error.earlier.as_deref();
        let part = |of: fn(&agent::Reply) -> Duration| earlier.map_or(Duration::ZERO, of);
        let effort = error.effort;
        let mut last_waited = effort.waited;
        let mut last_took = elapsed.saturating_sub(part(agent::Reply::ended) + last_waited);
        if error.kind == FailureKind::AgentTimeout {
            // The agent used its whole timeout. The rest was rate-limit wait.
            let had = timeout.saturating_sub(part(agent::Reply::took));
            last_waited += last_took.saturating_sub(had);
            last_took = last_took.min(had);
        }
        last_took = last_took.saturating_sub(effort.retried);
        Self { agent, error, took: part(agent::Reply::took) + last_took, last_took, last_waited }
    }

    /// What the agent said and did before the failure.
    pub(crate) fn reply(&self) -> Option<&'a agent::Reply> {
        match &self.error.spent {
            Spent::Known(reply) => Some(reply),
            Spent::Nothing | Spent::Unknown => self.error.earlier.as_deref(),
        }
    }

    /// Every request of the exchange; the last one failed.
    pub(crate) fn calls(&self, started_micros: u64, held: Duration) -> Vec<Call> {
        let (name, error) = (self.agent.name(), self.error);
        let answered = self.reply().map(|reply| answered_calls(name, reply, started_micros, held));
        let mut calls = answered.unwrap_or_default();
        let (after, held_back) = match error.earlier.as_deref() {
            Some(earlier) => (micros(held + earlier.ended()), Duration::ZERO),
            None => (0, held),
        };
        let effort = llm::Effort { waited: self.last_waited, ..error.effort };
        let elapsed = self.last_waited + effort.retried + self.last_took;
        let took = Took { held: held_back, elapsed, effort };
        let failed = failed_call(Role::Agent, name, started_micros + after, took, error, error.kind.into());
        match &error.spent {
            Spent::Known(_) => {
                if let Some(last) = calls.last_mut() {
                    (last.error, last.error_kind) = (failed.error, failed.error_kind);
                }
            }
            Spent::Nothing | Spent::Unknown => calls.push(Call {
                model: model_of(self.agent),
                cost: matches!(error.spent, Spent::Nothing).then_some(Usd(0)),
                ..failed
            }),
        }
        calls
    }
}
