//! The layers round an agent that is no endpoint of chat completions: limits, a time limit for each try, retries.

use std::{sync::Arc, time::Duration};

use crate::{
    Model,
    limit::{self, Limit, Limited},
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
}

impl Layers {
    /// `timeout` is for one try, from its permit on.
    #[must_use]
    pub fn new(limits: &limit::Settings, timeout: Duration, retries: Retries) -> Self {
        let policy = Policy::agent().bounded(retries.tries, Duration::from_millis(retries.deadline_ms));
        Self { limit: Limit::new(limits), timeout, policy }
    }

    /// Puts them round `inner`. It is tried again only where nothing can have reached it, or where it throttles.
    pub fn round(&self, inner: impl Model + 'static) -> Arc<dyn Model> {
        let limited = Limited::new(TimeLimit::new(inner, self.timeout), Arc::clone(&self.limit));
        Arc::new(Retry::new(limited, self.policy))
    }
}
