//! A worker: plays leased trials until it is drained.

use std::sync::Arc;

use proto::Transport;

use crate::{Config, Drain, Error, Resources, admission::Admission, executor::Executor, outbox::Outbox, session};

#[derive(Debug)]
pub struct Worker {
    config: Config,
    resources: Arc<Resources>,
}

impl Worker {
    #[must_use]
    pub fn new(config: Config, resources: Resources) -> Self {
        Self { config, resources: Arc::new(resources) }
    }

    /// Runs until it is drained and all its trials are committed or released, or until the coordinator is unreachable for
    /// longer than the configured patience.
    pub async fn run(self, coordinator: impl Into<Transport>, drain: impl Into<Drain>) -> Result<(), Error> {
        let admission = Admission::new();
        let metrics = self.resources.metrics.clone();
        let outbox = Outbox::new(admission.clone()).shown_to(metrics.clone()).paid_from(&self.resources.purses);
        let mut executor = Executor::new(self.config.slots, self.resources, outbox.clone(), admission.clone());
        metrics.slots(0, self.config.slots);
        let drain = drain.into();
        session::run(&self.config, coordinator.into(), &mut executor, &outbox, &admission, &drain).await
    }
}
