//! Asking again, where asking again can help and cannot do harm.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use async_trait::async_trait;
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::{Instant, sleep};

use crate::{Effort, Error, Failed, Model, Reply, Request, limit::Limited};

/// Which errors are worth another try, and how long to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    whom: Whom,
    /// Tries of a call that fails; being throttled is not a failure and is bounded by the deadline alone.
    tries: u32,
    /// From the first try, the time in line for permits apart; no pause ends after it, nor after the request's own
    /// time.
    deadline: Duration,
    /// Of the pauses: the bound of the first, which doubles, and of the last.
    shortest: Duration,
    longest: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whom {
    Model,
    Agent,
}

/// The layer. It stands on a [`Limited`], so that no try can go without a permit.
#[derive(Debug)]
pub struct Retry<M> {
    inner: Limited<M>,
    policy: Policy,
}

impl Policy {
    /// For models, which keep no state: every passing fault.
    #[must_use]
    pub fn model() -> Self {
        Self {
            whom: Whom::Model,
            tries: 5,
            deadline: Duration::from_secs(600),
            shortest: Duration::from_millis(500),
            longest: Duration::from_secs(60),
        }
    }

    /// For agents, which keep state: only what cannot have reached the agent.
    #[must_use]
    pub fn agent() -> Self {
        Self { whom: Whom::Agent, ..Self::model() }
    }

    /// The same with other bounds.
    #[must_use]
    pub fn bounded(self, tries: u32, deadline: Duration) -> Self {
        Self { tries, deadline, ..self }
    }

    fn backoff(&self) -> ExponentialBackoff {
        ExponentialBuilder::default()
            .with_min_delay(self.shortest)
            .with_max_delay(self.longest)
            .without_max_times()
            .build()
    }

    /// Whether the same call may be made again after this error.
    #[must_use]
    pub fn allows(&self, error: &Error) -> bool {
        match error {
            Error::Throttled { .. }
            | Error::Unreachable { sent: false, .. }
            | Error::OutOfResources { sent: false, .. } => true,
            Error::TimedOut { .. }
            | Error::Malformed { .. }
            | Error::Unreachable { sent: true, .. }
            | Error::OutOfResources { sent: true, .. } => self.whom == Whom::Model,
            Error::Refused { .. }
            | Error::Unsupported { .. }
            | Error::Exhausted { .. }
            | Error::Unwritable { .. }
            | Error::NoKey { .. } => false,
        }
    }
}

impl<M: Model> Retry<M> {
    #[must_use]
    pub fn new(inner: Limited<M>, policy: Policy) -> Self {
        Self { inner, policy }
    }
}

#[async_trait]
impl<M: Model> Model for Retry<M> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.call(request).await.map_err(|failed| failed.error)
    }

    async fn call(&self, request: &Request) -> Result<Reply, Failed> {
        let began = Instant::now();
        let deadline = request.timeout.map_or(self.policy.deadline, |own| own.min(self.policy.deadline));
        let mut backoff = None;
        let mut effort = Effort::default();
        let (mut failures, mut charged) = (0, 0);
        loop {
            let spent = began.elapsed().saturating_sub(effort.waited);
            if let Some(error) = self.paused_too_long(spent) {
                // Nothing was sent this time, so all that was charged was charged before.
                let retried = if effort.tries == 0 { Duration::ZERO } else { spent };
                return Err(Failed { error, effort: Effort { lost_tries: charged, retried, ..effort } });
            }
            effort.retried = if effort.tries == 0 { Duration::ZERO } else { spent };
            effort.lost_tries = charged;
            let attempt = {
                let again = of_try(request, effort.tries, spent);
                self.inner.attempt(again.as_deref().unwrap_or(request)).await
            };
            effort.tries += 1;
            effort.waited += attempt.waited;
            let error = match attempt.outcome {
                Ok(mut reply) => {
                    reply.tries = effort.tries;
                    reply.throttled_tries = effort.throttled_tries;
                    reply.timing.wait = effort.waited;
                    reply.timing.retried = effort.retried;
                    // What costs nothing cost nothing then.
                    reply.lost_tries = if reply.cost_nanos == Some(0) { 0 } else { charged };
                    return Ok(reply);
                }
                Err(error) => error,
            };
            charged += u32::from(error.may_have_been_charged());
            let asked = if let Error::Throttled { after, .. } = &error {
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
            // Full jitter (Brooker, AWS, 2015), and never before the server asked to be asked.
            let backoff = backoff.get_or_insert_with(|| self.policy.backoff());
            let spread = backoff.next().unwrap_or(self.policy.longest).mul_f64(chance(request, effort.tries));
            let pause = asked.saturating_add(spread);
            if spent.saturating_add(pause) >= deadline {
                return Err(Failed { error: of_call(error, request, spent), effort });
            }
            sleep(pause).await;
        }
    }
}

impl<M: Model> Retry<M> {
    /// The endpoint has told another call to come back later than this one can wait.
    fn paused_too_long(&self, spent: Duration) -> Option<Error> {
        let left = self.inner.limit().paused_for()?;
        (spent.saturating_add(left) > self.policy.deadline).then(|| Error::Throttled {
            endpoint: self.endpoint().to_owned(),
            after: Some(left),
            message: format!("it asked not to be called for another {} s", left.as_secs()),
        })
    }
}

/// The request of a later try: with its number, and with what is left of its time. `None` for the first try, which
/// sends the request as it is. Boxed, as thousands of first tries wait at once.
fn of_try(request: &Request, try_number: u32, spent: Duration) -> Option<Box<Request>> {
    if try_number == 0 {
        return None;
    }
    let mut again = request.clone();
    again.context.try_number = try_number;
    again.timeout = request.timeout.map(|own| own.saturating_sub(spent));
    Some(Box::new(again))
}

/// The error of the last try as that of the call: where its time ran out, all of it did and not what was left.
fn of_call(mut error: Error, request: &Request, spent: Duration) -> Error {
    if let (Error::TimedOut { limit, .. }, Some(own)) = (&mut error, request.timeout)
        && spent >= own
    {
        *limit = own;
    }
    error
}

/// In 0..1, from the call's own identity: two runs of one plan pause alike, and two calls do not.
fn chance(request: &Request, tries: u32) -> f64 {
    let mut hasher = DefaultHasher::new();
    (request.seed, &request.context.idempotency_key, tries).hash(&mut hasher);
    // The upper 53 bits are what a double holds exactly.
    (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        sync::{Arc, Mutex},
    };

    use super::*;
    use crate::{
        Context,
        limit::{self, Limit},
        time_limit::TimeLimit,
    };

    /// Answers with the errors of a script, then with replies.
    #[derive(Debug)]
    struct Scripted {
        script: Mutex<VecDeque<Error>>,
        asked_at: Arc<Mutex<Vec<Instant>>>,
        cost_nanos: Option<i64>,
    }

    /// Never gives a reply, only errors.
    #[derive(Debug)]
    struct Hanging(Scripted);

    #[async_trait]
    impl Model for Hanging {
        fn endpoint(&self) -> &str {
            self.0.endpoint()
        }

        async fn ask(&self, request: &Request) -> Result<Reply, Error> {
            match self.0.ask(request).await {
                Ok(_) => std::future::pending().await,
                error => error,
            }
        }
    }

    #[async_trait]
    impl Model for Scripted {
        fn endpoint(&self) -> &str {
            "scripted"
        }

        async fn ask(&self, request: &Request) -> Result<Reply, Error> {
            self.asked_at.lock().unwrap().push(Instant::now());
            match self.script.lock().unwrap().pop_front() {
                Some(error) => Err(error),
                None => Ok(Reply {
                    model: format!("try {}", request.context.try_number),
                    cost_nanos: self.cost_nanos,
                    ..Reply::default()
                }),
            }
        }
    }

    fn throttled(after: Option<u64>) -> Error {
        Error::Throttled { endpoint: "x".into(), after: after.map(Duration::from_secs), message: String::new() }
    }

    fn unreachable(sent: bool) -> Error {
        Error::Unreachable { endpoint: "x".into(), status: None, message: String::new(), sent }
    }

    fn out_of_resources(sent: bool) -> Error {
        Error::OutOfResources { endpoint: "x".into(), message: String::new(), sent }
    }

    fn timed_out() -> Error {
        Error::TimedOut { endpoint: "x".into(), place: String::new(), limit: Duration::from_secs(1) }
    }

    fn malformed() -> Error {
        Error::Malformed { endpoint: "x".into(), message: String::new(), partial: String::new() }
    }

    fn refused() -> Error {
        Error::Refused { endpoint: "x".into(), status: 400, message: String::new() }
    }

    fn exhausted() -> Error {
        Error::Exhausted { endpoint: "x".into(), message: String::new() }
    }

    fn scripted(script: Vec<Error>) -> (Scripted, Arc<Mutex<Vec<Instant>>>) {
        let asked_at = Arc::new(Mutex::new(Vec::new()));
        let script = Mutex::new(script.into());
        (Scripted { script, asked_at: Arc::clone(&asked_at), cost_nanos: None }, asked_at)
    }

    fn retry(script: Vec<Error>, policy: Policy, limit: Arc<Limit>) -> (Retry<Scripted>, Arc<Mutex<Vec<Instant>>>) {
        let (model, asked_at) = scripted(script);
        (Retry::new(Limited::new(model, limit), policy), asked_at)
    }

    fn unlimited() -> Arc<Limit> {
        Limit::new(&limit::Settings::default())
    }

    fn request(key: &str) -> Request {
        Request { context: Context { idempotency_key: key.into(), ..Context::default() }, ..Request::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_tried_again_depends_on_whom_is_asked() {
        // (error, tries of a model, tries of an agent)
        let rows = [
            (throttled(None), 2, 2),
            (throttled(Some(3)), 2, 2),
            (unreachable(false), 2, 2),
            (unreachable(true), 2, 1),
            (out_of_resources(false), 2, 2),
            (out_of_resources(true), 2, 1),
            (timed_out(), 2, 1),
            (malformed(), 2, 1),
            (refused(), 1, 1),
            (exhausted(), 1, 1),
        ];
        for (error, of_model, of_agent) in rows {
            for (policy, expected) in [(Policy::model(), of_model), (Policy::agent(), of_agent)] {
                let (model, asked_at) = retry(vec![error.clone()], policy, unlimited());
                let reply = model.ask(&request("a")).await;
                assert_eq!(asked_at.lock().unwrap().len(), expected, "{error:?} {policy:?}");
                match reply {
                    Ok(reply) => assert_eq!(reply.tries as usize, expected),
                    Err(last) => assert_eq!(format!("{last:?}"), format!("{error:?}")),
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn five_failures_are_enough() {
        let (model, asked_at) = retry(vec![malformed(); 9], Policy::model(), unlimited());
        let began = Instant::now();
        model.ask(&request("a")).await.expect_err("still failing");
        assert_eq!(asked_at.lock().unwrap().len(), 5);
        // Full jitter over 0.5 + 1 + 2 + 4 seconds.
        assert!(began.elapsed() <= Duration::from_millis(7_500), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_asked_before_the_server_says() {
        let script = vec![throttled(Some(20)), throttled(Some(0)), throttled(None), throttled(Some(90))];
        let (model, asked_at) = retry(script, Policy::model(), unlimited());
        let began = Instant::now();
        let reply = model.ask(&request("a")).await.expect("answers in the end");
        assert_eq!((reply.tries, &*reply.model), (5, "try 4"));
        assert_eq!(reply.timing.retried, began.elapsed(), "all of it went before the last try");
        let asked_at = asked_at.lock().unwrap();
        let gaps: Vec<_> = asked_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (least, spread) = ([20.0, 0.0, 0.0, 90.0], [0.5, 1.0, 2.0, 4.0]);
        for (n, gap) in gaps.iter().enumerate() {
            let gap = gap.as_secs_f64();
            assert!(gap >= least[n] && gap <= least[n] + spread[n] + 0.01, "{n}: {gap}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_storm_is_waited_out_until_the_deadline() {
        let policy = Policy::model().bounded(5, Duration::from_secs(60));
        let (model, asked_at) = retry(vec![throttled(Some(10)); 99], policy, unlimited());
        let began = Instant::now();
        let error = model.ask(&request("a")).await.expect_err("throttled");
        assert!(matches!(error, Error::Throttled { .. }), "{error:?}");
        assert!(began.elapsed() <= Duration::from_secs(60));
        assert!(asked_at.lock().unwrap().len() >= 3);
    }

    #[tokio::test(start_paused = true)]
    async fn the_requests_own_time_holds_for_all_its_tries() {
        let own = Duration::from_secs(30);
        let request = Request { timeout: Some(own), ..request("a") };
        // (what the first tries end with, whether the last one is answered, the limit that an error tells of)
        let rows = [
            (vec![throttled(Some(10)); 9], None),
            (vec![throttled(Some(29)), throttled(Some(29))], None),
            (vec![throttled(Some(600))], None),
            (vec![malformed()], Some(own)),
            (vec![throttled(Some(12)), unreachable(false)], Some(own)),
        ];
        for (script, limit) in rows {
            let shown = format!("{script:?}");
            let (scripted, _) = scripted(script);
            // After its script it never answers.
            let model = TimeLimit::new(Hanging(scripted), Duration::from_secs(600));
            let model = Retry::new(Limited::new(model, unlimited()), Policy::model());
            let began = Instant::now();
            let error = model.ask(&request).await.expect_err("no answer");
            assert!(began.elapsed() <= own + Duration::from_millis(2), "{shown}: {:?}", began.elapsed());
            match (error, limit) {
                (Error::TimedOut { limit, .. }, Some(expected)) => assert_eq!(limit, expected, "{shown}"),
                (Error::Throttled { .. }, None) => {}
                other => panic!("{shown}: {other:?}"),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tries_that_may_have_been_charged_are_counted() {
        // (errors before the reply, its cost, tries that are lost)
        let all = || vec![timed_out(), malformed(), unreachable(true), unreachable(false), throttled(None)];
        let rows = [
            (Vec::new(), None, 0),
            (all(), None, 3),
            (all(), Some(7), 3),
            (all(), Some(0), 0),
            (vec![throttled(None), unreachable(false)], Some(7), 0),
        ];
        for (script, cost_nanos, lost_tries) in rows {
            let (mut scripted, _) = scripted(script);
            scripted.cost_nanos = cost_nanos;
            let model = Retry::new(Limited::new(scripted, unlimited()), Policy::model());
            let reply = model.ask(&request("a")).await.expect("answers");
            assert_eq!(reply.lost_tries, lost_tries, "{reply:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_fails_says_what_it_took() {
        // (errors, tries, 429s, tries before the last one that may have been charged)
        let rows = [
            (vec![malformed(); 9], 5, 0, 4),
            (vec![throttled(Some(1)), throttled(None), timed_out(), refused()], 4, 2, 1),
            (vec![refused()], 1, 0, 0),
            (vec![throttled(Some(3_600))], 1, 1, 0),
        ];
        for (script, tries, throttled_tries, lost_tries) in rows {
            let shown = format!("{script:?}");
            let settings =
                limit::Settings { requests_per_minute: std::num::NonZeroU32::new(60), ..limit::Settings::default() };
            let (model, _) = retry(script, Policy::model(), Limit::new(&settings));
            let began = Instant::now();
            let effort = model.call(&request("a")).await.expect_err("no answer").effort;
            assert_eq!(
                (effort.tries, effort.throttled_tries, effort.lost_tries),
                (tries, throttled_tries, lost_tries),
                "{shown}"
            );
            assert_eq!(effort.waited + effort.retried, began.elapsed(), "{shown}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_says_how_often_the_call_was_throttled() {
        let (model, _) = retry(vec![throttled(Some(2)), malformed(), throttled(None)], Policy::model(), unlimited());
        let reply = model.ask(&request("a")).await.expect("answers");
        assert_eq!((reply.tries, reply.throttled_tries, reply.lost_tries), (4, 2, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_deadline_is_not_begun() {
        let limit = unlimited();
        let (model, asked_at) = retry(vec![throttled(Some(3_600))], Policy::model(), Arc::clone(&limit));
        let began = Instant::now();
        model.ask(&request("a")).await.expect_err("too long");
        // The next call knows of it and does not even ask.
        let error = model.ask(&request("b")).await.expect_err("still paused");
        assert!(matches!(error, Error::Throttled { after: Some(_), .. }), "{error:?}");
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(asked_at.lock().unwrap().len(), 1);
        tokio::time::sleep(Duration::from_secs(3_601)).await;
        model.ask(&request("c")).await.expect("the pause is over");
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_permits_is_added_up_and_pausing_is_not() {
        let settings =
            limit::Settings { requests_per_minute: std::num::NonZeroU32::new(1), ..limit::Settings::default() };
        let (model, _) = retry(vec![malformed(), malformed()], Policy::model(), Limit::new(&settings));
        // A queue longer than the deadline takes no try away.
        let model = Retry { policy: model.policy.bounded(5, Duration::from_secs(30)), ..model };
        let began = Instant::now();
        let reply = model.ask(&request("a")).await.expect("answers");
        assert_eq!(reply.tries, 3);
        let elapsed = began.elapsed();
        assert!((119..=121).contains(&elapsed.as_secs()), "{elapsed:?}");
        assert!(reply.timing.wait < elapsed && reply.timing.wait > elapsed - Duration::from_secs(2), "{reply:?}");
        assert_eq!(reply.timing.wait + reply.timing.retried, elapsed);
    }

    #[test]
    fn jitter_is_the_calls_own() {
        assert_eq!(chance(&request("a"), 1), chance(&request("a"), 1));
        let draws: Vec<f64> = (0..1_000).map(|n| chance(&request(&n.to_string()), 1)).collect();
        let mean = draws.iter().sum::<f64>() / 1_000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
    }
}
