//! A worker: plays leased trials until it is told to drain.

use std::sync::Arc;

use tonic::transport::Channel;

use crate::{Config, Drain, Error, Resources, executor::Executor, gate::Gate, outbox::Outbox, session};

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

    /// Runs until a drain began and everything that was being played is committed or given back, or until the
    /// coordinator cannot be reached for longer than the configured patience.
    pub async fn run(self, channel: Channel, drain: impl Into<Drain>) -> Result<(), Error> {
        let gate = Gate::new();
        let metrics = self.resources.metrics.clone();
        let outbox = Outbox::new(gate.clone()).shown_to(metrics.clone());
        let mut executor = Executor::new(self.config.slots, self.resources, outbox.clone(), gate.clone());
        metrics.slots(0, self.config.slots);
        let drain = drain.into();
        session::run(&self.config, channel, &mut executor, &outbox, &gate, &drain).await
    }
}
