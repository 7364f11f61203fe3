//! The rate-limit layer: every try waits for its permit.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use tokio::time::Instant;

use crate::{
    Error,
    call::{Call, Named, Reply, Request},
    estimate,
    money::{Reservation, UsedUp},
    named_limits::Windows,
};

use super::{amount::Amount, day::DayUsedUp, health, limiter::Limiter};

/// The role of calls to agents under test.
const AGENT: &str = "agent";

/// A model or an agent behind a limit.
#[derive(Debug)]
pub struct Limited<C> {
    inner: C,
    limit: Arc<Limiter>,
}

/// One try of a call. It reports its rate-limit wait even if it failed, so that retries can add the waits up.
#[derive(Debug)]
pub struct Attempt<T> {
    pub waited: Duration,
    pub outcome: Result<T, Error>,
}

impl<C> Limited<C> {
    #[must_use]
    pub fn new(inner: C, limit: Arc<Limiter>) -> Self {
        Self { inner, limit }
    }

    #[must_use]
    pub fn limit(&self) -> &Arc<Limiter> {
        &self.limit
    }

    pub async fn attempt<R: Request>(&self, request: &R) -> Attempt<R::Reply>
    where
        C: Call<R>,
    {
        let began = Instant::now();
        // Money comes first: a call that waits for it must not hold a permit that another one could use.
        let mut reservation = match self.reserve(request).await {
            Ok(reservation) => reservation,
            Err(error) => return Attempt { waited: began.elapsed(), outcome: Err(error) },
        };
        // Failures of the agent under test are what a test is to find, so nothing holds its calls back.
        let pass = match request.context().role.as_str() {
            AGENT => None,
            _ => Some(self.limit.pass().await),
        };
        let waited_before = began.elapsed();
        let estimate =
            if self.limit.counts_tokens() { Amount::estimate(estimate::reserve(request)) } else { Amount::default() };
        let mut permit = match self.limit.acquire(&request.context().role, estimate).await {
            Ok(permit) => permit,
            Err(used_up) => {
                reservation.into_iter().for_each(|reservation| reservation.settle(Some(0)));
                return Attempt { waited: began.elapsed(), outcome: Err(self.day_is_over(used_up)) };
            }
        };
        let waited = waited_before + permit.waited();
        permit.sent();
        reservation.iter_mut().for_each(Reservation::sent);
        let mut outcome = self.inner.ask(request).await;
        pass.into_iter().for_each(|pass| self.limit.passed(pass, health::ended(&outcome)));
        match &mut outcome {
            Ok(reply) => {
                let receipt = reply.receipt_mut();
                self.limit.answered();
                if let Some(pause) = receipt.used_up_for {
                    self.limit.used_up(pause);
                }
                // For a limit that the call's own answer brings, only its actual use counts, not its estimate.
                permit.settle(receipt.usage.into());
                if let Some(reservation) = reservation {
                    reservation.settle(receipt.cost_nanos.filter(|_| !receipt.usage.estimated));
                }
                self.learn(&receipt.windows);
                receipt.learned = self.limit.learned();
            }
            Err(error) => {
                if let Error::Throttled { after, .. } = error {
                    self.limit.throttled(*after);
                }
                if !error.may_have_been_charged() {
                    permit.settle(Amount::default());
                    reservation.into_iter().for_each(|reservation| reservation.settle(Some(0)));
                }
                // Otherwise the reply was lost, but not the work: keep the estimate, and the money.
            }
        }
        Attempt { waited, outcome }
    }
}

impl<C: Named> Limited<C> {
    /// Takes the most that this try can cost out of the purse of its run; `None`: the run has no budget.
    async fn reserve<R: Request>(&self, request: &R) -> Result<Option<Reservation>, Error>
    where
        C: Call<R>,
    {
        let context = request.context();
        let Some(purses) = self.limit.purses() else { return Ok(None) };
        let endpoint = || self.endpoint().to_owned();
        let Some(nanos) = self.inner.worst_case_nanos(request) else {
            // An agent without a price has no cost. Models have one, which this worker does not know.
            if context.role == AGENT || !purses.has(&context.run) {
                return Ok(None);
            }
            let message = "the run has a `max_cost`, and the endpoint has no `price` in the settings of this worker";
            return Err(Error::Unwritable { endpoint: endpoint(), message: message.to_owned() });
        };
        purses.reserve(&context.run, &context.trial, nanos).await.map_err(|UsedUp| Error::NoMoney {
            endpoint: endpoint(),
            message: "the budget of the run (`max_cost`) is used up".to_owned(),
        })
    }
}

impl<C: Named> Limited<C> {
    fn day_is_over(&self, DayUsedUp { most, left }: DayUsedUp) -> Error {
        let minutes = left.as_secs().div_ceil(60);
        let message = format!(
            "its `requests_per_day` of {most} is reached; the next day begins at 00:00 UTC, in {} h {} min",
            minutes / 60,
            minutes % 60
        );
        Error::Exhausted { endpoint: self.endpoint().to_owned(), message }
    }
}

impl<C> Limited<C> {
    fn learn(&self, reported: &Windows) {
        if *reported != Windows::default() && self.limit.learn(reported) {
            self.limit.log_learned("the provider names its limits of a minute");
        }
    }
}

impl<C: Named> Named for Limited<C> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}

#[async_trait]
impl<R: Request, C: Call<R>> Call<R> for Limited<C> {
    async fn ask(&self, request: &R) -> Result<R::Reply, Error> {
        let Attempt { waited, outcome } = self.attempt(request).await;
        outcome.map(|mut reply| {
            reply.receipt_mut().timing.wait += waited;
            reply
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU64, sync::Mutex};

    use super::*;
    use crate::{
        Usage,
        chat::{Reply, Request},
        limit::Settings,
        receipt::Receipt,
    };

    #[derive(Debug)]
    struct Once(Mutex<Option<Result<Reply, Error>>>);

    impl Named for Once {
        fn endpoint(&self) -> &str {
            "once"
        }
    }

    #[async_trait]
    impl Call<Request> for Once {
        async fn ask(&self, _: &Request) -> Result<Reply, Error> {
            self.0.lock().unwrap().take().unwrap_or_else(|| Ok(Reply::default()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_used_amount_depends_on_how_the_call_ended() {
        let (endpoint, message, partial) = (String::new, String::new, String::new);
        let usage = Usage { input: 20, output: 10, ..Usage::default() };
        // The estimate is 60 tokens, at one a second; the next call's wait shows how much of it was kept.
        let rows = [
            (Ok(Reply { receipt: Box::new(Receipt { usage, ..Receipt::default() }), ..Reply::default() }), 30),
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
        let used_up_for = Some(Duration::from_secs(40));
        let rows = rows.into_iter().chain([(
            Ok(Reply { receipt: Box::new(Receipt { usage, used_up_for, ..Receipt::default() }), ..Reply::default() }),
            40,
        )]);
        let request: Request = Request { max_tokens: Some(60), ..Request::default() };
        for (outcome, seconds) in rows {
            let shown = format!("{outcome:?}");
            let settings = Settings { tokens_per_minute: NonZeroU64::new(60), ..Settings::default() };
            let model = Limited::new(Once(Mutex::new(Some(outcome))), Limiter::new("once", &settings));
            let first = model.ask(&request).await;
            assert!(first.is_ok_and(|reply| reply.receipt.timing.wait.is_zero()) || seconds != 30, "{shown}");
            let second = model.ask(&request).await.expect("answers");
            assert_eq!(second.receipt.timing.wait.as_secs(), seconds, "{shown}");
        }
    }
}
