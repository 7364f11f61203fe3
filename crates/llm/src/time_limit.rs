//! A time limit for one try, after its rate-limit wait: the time that the request has left or the endpoint's limit,
//! whichever is shorter.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;

use crate::{
    Error,
    call::{Call, Named, Request},
};

/// Ends a try that takes too long. It is inside the limits, so rate-limit waits do not count.
#[derive(Debug)]
pub(crate) struct TimeLimit<C> {
    inner: C,
    limit: Duration,
}

impl<C> TimeLimit<C> {
    pub(crate) fn new(inner: C, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl<C: Named> Named for TimeLimit<C> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}

#[async_trait]
impl<R: Request, C: Call<R>> Call<R> for TimeLimit<C> {
    async fn ask(&self, request: &R) -> Result<R::Reply, Error> {
        let limit = request.timeout().map_or(self.limit, |own| own.min(self.limit));
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
        chat::Request,
        mock::{Behaviour, Mock},
    };

    #[tokio::test(start_paused = true)]
    async fn the_shorter_limit_ends_a_call_that_hangs() {
        let hangs = Behaviour { hang_rate: 1.0, ..Behaviour::default() };
        let model = TimeLimit::new(Mock::new("slow", hangs), Duration::from_secs(60));
        for (own, expected) in [(None, 60), (Some(5), 5), (Some(600), 60)] {
            let timeout = own.map(Duration::from_secs);
            let request: Request = Request { messages: vec![Message::user("hello")], timeout, ..Request::default() };
            match model.ask(&request).await {
                Err(Error::TimedOut { limit, .. }) => assert_eq!(limit, Duration::from_secs(expected)),
                other => panic!("{other:?}"),
            }
        }
    }
}
