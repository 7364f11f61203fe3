//! The retry layer: retries a call after a 429 or a passing fault, if a retry can do no harm.
//!
//! `budget` keeps repeated calls a small part of all calls of an endpoint. [`Policy`] decides which errors to retry and for how long, `backoff` how long each pause is.

mod backoff;
mod budget;
mod policy;

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use crate::{
    Error,
    call::{Call, Failed, Named, Reply, Request},
    limit::{Attempt, Limited},
    receipt::Effort,
};

use self::backoff::Backoff;
pub(crate) use self::budget::RetryBudget;
pub use self::policy::Policy;

/// Between two looks at whether the retry budget allows another try after a 429.
const BETWEEN_ASKS: Duration = Duration::from_millis(500);

/// It wraps a [`Limited`], so that no try goes out without a permit.
#[derive(Debug)]
pub struct Retry<C> {
    inner: Limited<C>,
    policy: Policy,
}

impl<C: Named> Retry<C> {
    #[must_use]
    pub fn new(inner: Limited<C>, policy: Policy) -> Self {
        Self { inner, policy }
    }

    /// The error if another call's 429 pauses the endpoint for longer than this call can wait.
    fn paused_too_long(&self, spent: Duration) -> Option<Error> {
        let left = self.inner.limit().paused_for()?;
        (spent.saturating_add(left) > self.policy.deadline).then(|| Error::Throttled {
            endpoint: self.endpoint().to_owned(),
            after: Some(left),
            message: format!("it asked not to be called for another {} s", left.as_secs()),
        })
    }
}

impl<C: Named> Named for Retry<C> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}

#[async_trait]
impl<R: Request, C: Call<R>> Call<R> for Retry<C> {
    async fn ask(&self, request: &R) -> Result<R::Reply, Error> {
        self.call(request).await.map_err(|failed| failed.error)
    }

    async fn call(&self, request: &R) -> Result<R::Reply, Failed> {
        let began = Instant::now();
        let deadline = request.timeout().map_or(self.policy.deadline, |own| own.min(self.policy.deadline));
        let mut backoff = Backoff::default();
        let mut effort = Effort::default();
        let retries = self.inner.limit().retries();
        retries.call();
        let (mut failures, mut charged) = (0, 0);
        loop {
            let spent = began.elapsed().saturating_sub(effort.waited);
            if let Some(error) = self.paused_too_long(spent) {
                // Nothing was sent this time, so all charges are from before.
                let retried = if effort.tries == 0 { Duration::ZERO } else { spent };
                return Err(Failed { error, effort: Effort { lost_tries: charged, retried, ..effort } });
            }
            effort.retried = if effort.tries == 0 { Duration::ZERO } else { spent };
            effort.lost_tries = charged;
            let Attempt { waited, outcome } = {
                let again = later_try(request, effort.tries, spent);
                self.inner.attempt(again.as_deref().unwrap_or(request)).await
            };
            effort.tries += 1;
            effort.waited += waited;
            let error = match outcome {
                Ok(mut reply) => {
                    complete(&mut reply, effort);
                    return Ok(reply);
                }
                Err(error) => error,
            };
            charged += u32::from(error.may_have_been_charged());
            let retry_after = if let Error::Throttled { after, .. } = &error {
                effort.throttled_tries += 1;
                after.unwrap_or_default()
            } else {
                failures += 1;
                Duration::ZERO
            };
            let spent = began.elapsed().saturating_sub(effort.waited);
            if !self.policy.allows(&error) || failures >= self.policy.tries {
                return Err(Failed { error: of_call(error, request, spent), effort });
            }
            let pause = backoff.pause(&self.policy, request, effort.tries, retry_after);
            if spent.saturating_add(pause) >= deadline {
                return Err(Failed { error: of_call(error, request, spent), effort });
            }
            if matches!(error, Error::Throttled { .. }) {
                sleep(pause).await;
                // A 429 is no failure: its call waits until it may be repeated.
                while !retries.retry() && began.elapsed().saturating_sub(effort.waited) < deadline {
                    sleep(BETWEEN_ASKS).await;
                }
            } else if self.policy.is_agent() || retries.retry() {
                sleep(pause).await;
            } else {
                return Err(Failed { error: budget::spent(of_call(error, request, spent)), effort });
            }
        }
    }
}

/// Writes the effort of all tries into the reply of the last one.
fn complete(reply: &mut impl Reply, effort: Effort) {
    let receipt = reply.receipt_mut();
    receipt.tries = effort.tries;
    receipt.throttled_tries = effort.throttled_tries;
    receipt.timing.wait = effort.waited;
    receipt.timing.retried = effort.retried;
    // If this try is free, the earlier ones were free too.
    receipt.lost_tries = if receipt.cost_nanos == Some(0) { 0 } else { effort.lost_tries };
}

/// The request of a later try, with its number and the rest of its time. `None` for the first try, which sends the
/// request as it is. Boxed, because thousands of first tries wait at once.
fn later_try<R: Request>(request: &R, try_number: u32, spent: Duration) -> Option<Box<R>> {
    (try_number > 0).then(|| {
        let left = request.timeout().map(|own| own.saturating_sub(spent));
        Box::new(request.again(try_number, left))
    })
}

/// The error of the last try as that of the call: if its time ran out, it reports the call's limit and not the rest of
/// it.
fn of_call(mut error: Error, request: &impl Request, spent: Duration) -> Error {
    if let (Error::TimedOut { limit, .. }, Some(own)) = (&mut error, request.timeout())
        && spent >= own
    {
        *limit = own;
    }
    error
}

#[cfg(test)]
mod tests;
