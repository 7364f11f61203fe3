//! The layers for an agent that is no endpoint of chat completions: rate limits, a time limit for each try, retries, and
//! the price.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use crate::{
    call::{Call, Request},
    limit::{self, Limited, Limiter},
    price::{Price, Priced},
    retry::{Policy, Retry},
    time_limit::TimeLimit,
};

use super::settings::Retries;

/// Shared by all conversations with one agent.
#[derive(Debug, Clone)]
pub struct Layers {
    limit: Arc<Limiter>,
    timeout: Duration,
    policy: Policy,
    price: Option<Price>,
    in_flight: Arc<AtomicI64>,
}

impl Layers {
    /// `name`: of the agent. `timeout` is for one try, after its rate-limit wait.
    #[must_use]
    pub fn new(name: &str, limits: &limit::Settings, timeout: Duration, retries: Retries) -> Self {
        let policy = Policy::agent().bounded(retries.tries, Duration::from_millis(retries.deadline_ms));
        Self { limit: Limiter::new(name, limits), timeout, policy, price: None, in_flight: Arc::default() }
    }

    /// Applies this price to every reply. Without a price, a reply costs what the connection reports.
    #[must_use]
    pub fn priced(self, price: Option<Price>) -> Self {
        Self { price, ..self }
    }

    /// Its limits; a worker of a fleet uses a share of them.
    #[must_use]
    pub fn limit(&self) -> &Arc<Limiter> {
        &self.limit
    }

    /// The most that the calls in flight may cost, in nano-dollars, estimated from their requests.
    #[must_use]
    pub fn unsettled_nanos(&self) -> i64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Wraps the layers around `inner`. A call is retried only if nothing can have reached the agent, or after a 429.
    pub fn wrap<R: Request>(&self, inner: impl Call<R> + 'static) -> Arc<dyn Call<R>> {
        let timed = TimeLimit::new(inner, self.timeout);
        let limit = Arc::clone(&self.limit);
        match &self.price {
            Some(_) => {
                let priced = Priced::sharing(timed, self.price.clone(), Arc::clone(&self.in_flight));
                Arc::new(Retry::new(Limited::new(priced, limit), self.policy))
            }
            None => Arc::new(Retry::new(Limited::new(timed, limit), self.policy)),
        }
    }
}
