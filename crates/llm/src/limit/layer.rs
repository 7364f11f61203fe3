//! The layer that takes a permit for each call to a model.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{Error, Model, Reply, Request, estimate};

use super::Limit;

/// A model behind a limit.
#[derive(Debug)]
pub struct Limited<M> {
    inner: M,
    limit: Arc<Limit>,
}

/// One try of a call. It says how long the try waited even where it failed, so that retries can add it up.
#[derive(Debug)]
pub struct Attempt {
    pub waited: Duration,
    pub outcome: Result<Reply, Error>,
}

impl<M: Model> Limited<M> {
    #[must_use]
    pub fn new(inner: M, limit: Arc<Limit>) -> Self {
        Self { inner, limit }
    }

    #[must_use]
    pub fn limit(&self) -> &Arc<Limit> {
        &self.limit
    }

    pub async fn attempt(&self, request: &Request) -> Attempt {
        let permit = self.limit.acquire(estimate::reserve(request)).await;
        let waited = permit.waited();
        let outcome = self.inner.ask(request).await;
        match &outcome {
            Ok(reply) => permit.settle(reply.usage.input_tokens.saturating_add(reply.usage.output_tokens)),
            Err(error) => {
                if let Error::Throttled { after: Some(after), .. } = error {
                    self.limit.pause(*after);
                }
                if answered_nothing(error) {
                    permit.settle(0);
                }
                // Otherwise the reply was lost, but not the work: the estimate stands.
            }
        }
        Attempt { waited, outcome }
    }
}

#[async_trait]
impl<M: Model> Model for Limited<M> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        let Attempt { waited, outcome } = self.attempt(request).await;
        outcome.map(|mut reply| {
            reply.timing.wait += waited;
            reply
        })
    }
}

/// Whether the endpoint turned the call away before it made a token.
fn answered_nothing(error: &Error) -> bool {
    match error {
        Error::Refused { .. } | Error::Throttled { .. } | Error::Exhausted { .. } => true,
        Error::Unreachable { sent, .. } => !sent,
        Error::TimedOut { .. } | Error::Malformed { .. } => false,
    }
}
