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
        let estimate = if self.limit.counts_tokens() { estimate::reserve(request) } else { 0 };
        let permit = self.limit.acquire(estimate).await;
        let waited = permit.waited();
        let outcome = self.inner.ask(request).await;
        match &outcome {
            Ok(reply) => permit.settle(reply.usage.input_tokens.saturating_add(reply.usage.output_tokens)),
            Err(error) => {
                if let Error::Throttled { after: Some(after), .. } = error {
                    self.limit.pause(*after);
                }
                if !error.may_have_been_charged() {
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

    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        let Attempt { waited, outcome } = self.attempt(request).await;
        outcome.map(|mut reply| {
            reply.timing.wait += waited;
            reply
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU64, sync::Mutex};

    use super::*;
    use crate::{Usage, limit::Settings};

    #[derive(Debug)]
    struct Once(Mutex<Option<Result<Reply, Error>>>);

    #[async_trait]
    impl Model for Once {
        fn endpoint(&self) -> &str {
            "once"
        }

        async fn ask(&self, _: &Request) -> Result<Reply, Error> {
            self.0.lock().unwrap().take().unwrap_or_else(|| Ok(Reply::default()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_call_used_depends_on_how_it_ended() {
        let (endpoint, message, partial) = (String::new, String::new, String::new);
        let usage = Usage { input_tokens: 20, output_tokens: 10, estimated: false };
        // The estimate is 60 tokens, at one a second; the wait of the next call tells what was kept of it.
        let rows = [
            (Ok(Reply { usage, ..Reply::default() }), 30),
            (Err(Error::Refused { endpoint: endpoint(), status: 400, message: message() }), 0),
            (Err(Error::Throttled { endpoint: endpoint(), after: None, message: message() }), 0),
            (
                Err(Error::Throttled { endpoint: endpoint(), after: Some(Duration::from_secs(7)), message: message() }),
                7,
            ),
            (Err(Error::Exhausted { endpoint: endpoint(), message: message() }), 0),
            (Err(Error::Unreachable { endpoint: endpoint(), status: None, message: message(), sent: false }), 0),
            (Err(Error::Unreachable { endpoint: endpoint(), status: Some(500), message: message(), sent: true }), 60),
            (Err(Error::TimedOut { endpoint: endpoint(), place: String::new(), limit: Duration::ZERO }), 60),
            (Err(Error::Malformed { endpoint: endpoint(), message: message(), partial: partial() }), 60),
        ];
        let request = Request { max_tokens: Some(60), ..Request::default() };
        for (outcome, seconds) in rows {
            let shown = format!("{outcome:?}");
            let settings = Settings { tokens_per_minute: NonZeroU64::new(60), ..Settings::default() };
            let model = Limited::new(Once(Mutex::new(Some(outcome))), Limit::new(&settings));
            let first = model.ask(&request).await;
            assert!(first.is_ok_and(|reply| reply.timing.wait.is_zero()) || seconds != 30, "{shown}");
            let second = model.ask(&request).await.expect("answers");
            assert_eq!(second.timing.wait.as_secs(), seconds, "{shown}");
        }
    }
}
