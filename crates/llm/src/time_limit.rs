//! A time limit for one try, from the permit on: what the request has left or the endpoint's, whichever is shorter.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;

use crate::{Error, Model, Reply, Request};

/// Gives up waiting for `inner`. It stands inside the limits, so that the wait for a permit is in nobody's time.
#[derive(Debug)]
pub(crate) struct TimeLimit<M> {
    inner: M,
    limit: Duration,
}

impl<M: Model> TimeLimit<M> {
    pub(crate) fn new(inner: M, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

#[async_trait]
impl<M: Model> Model for TimeLimit<M> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        let limit = request.timeout.map_or(self.limit, |own| own.min(self.limit));
        match timeout(limit, self.inner.ask(request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::TimedOut { endpoint: self.endpoint().to_owned(), place: self.inner.place(), limit }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Message,
        mock::{Behaviour, Mock},
    };

    #[tokio::test(start_paused = true)]
    async fn the_shorter_limit_ends_a_call_that_hangs() {
        let hangs = Behaviour { hang_rate: 1.0, ..Behaviour::default() };
        let model = TimeLimit::new(Mock::new("slow", hangs), Duration::from_secs(60));
        for (own, expected) in [(None, 60), (Some(5), 5), (Some(600), 60)] {
            let timeout = own.map(Duration::from_secs);
            let request = Request { messages: vec![Message::user("hello")], timeout, ..Request::default() };
            match model.ask(&request).await {
                Err(Error::TimedOut { limit, .. }) => assert_eq!(limit, Duration::from_secs(expected)),
                other => panic!("{other:?}"),
            }
        }
    }
}
