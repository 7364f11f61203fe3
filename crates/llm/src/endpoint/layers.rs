//! The layers round an agent that is no endpoint of chat completions: limits, a time limit for each try, retries, and
//! what a call costs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use crate::{
    Model,
    limit::{self, Limit, Limited},
    price::{Price, Priced},
    retry::{Policy, Retry},
    time_limit::TimeLimit,
};

use super::Retries;

/// Shared by all conversations with one agent.
#[derive(Debug, Clone)]
pub struct Layers {
    limit: Arc<Limit>,
    timeout: Duration,
    policy: Policy,
    price: Option<Price>,
    in_flight: Arc<AtomicI64>,
}

impl Layers {
    /// `timeout` is for one try, from its permit on.
    #[must_use]
    pub fn new(limits: &limit::Settings, timeout: Duration, retries: Retries) -> Self {
        let policy = Policy::agent().bounded(retries.tries, Duration::from_millis(retries.deadline_ms));
        Self { limit: Limit::new(limits), timeout, policy, price: None, in_flight: Arc::default() }
    }

    /// With this price on every reply; without one a reply costs what the connection says of it.
    #[must_use]
    pub fn priced(self, price: Option<Price>) -> Self {
        Self { price, ..self }
    }

    /// Its limits, which a worker of several uses a share of.
    #[must_use]
    pub fn limit(&self) -> &Arc<Limit> {
        &self.limit
    }

    /// What the calls that are not answered may cost, in nano-dollars, as far as what they are asked tells.
    #[must_use]
    pub fn unsettled_nanos(&self) -> i64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Puts them round `inner`. It is tried again only where nothing can have reached it, or where it throttles.
    pub fn round(&self, inner: impl Model + 'static) -> Arc<dyn Model> {
        let timed = TimeLimit::new(inner, self.timeout);
        let limit = Arc::clone(&self.limit);
        match self.price {
            Some(_) => {
                let priced = Priced::sharing(timed, self.price, Arc::clone(&self.in_flight));
                Arc::new(Retry::new(Limited::new(priced, limit), self.policy))
            }
            None => Arc::new(Retry::new(Limited::new(timed, limit), self.policy)),
        }
    }
}
