//! The retry layer over scripted errors, on a paused clock.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{Policy, Retry};
use crate::{
    Context, Error,
    call::{Call, Named},
    chat::{Reply, Request},
    limit::{self, Limited, Limiter},
    receipt::Receipt,
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

impl Named for Hanging {
    fn endpoint(&self) -> &str {
        self.0.endpoint()
    }
}

#[async_trait]
impl Call<Request> for Hanging {
    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        match self.0.ask(request).await {
            Ok(_) => std::future::pending().await,
            error => error,
        }
    }
}

impl Named for Scripted {
    fn endpoint(&self) -> &str {
        "scripted"
    }
}

#[async_trait]
impl Call<Request> for Scripted {
    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.asked_at.lock().unwrap().push(Instant::now());
        match self.script.lock().unwrap().pop_front() {
            Some(error) => Err(error),
            None => {
                let model = format!("try {}", request.context.try_number);
                let receipt = Box::new(Receipt { model, cost_nanos: self.cost_nanos, ..Receipt::default() });
                Ok(Reply { receipt, ..Reply::default() })
            }
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

fn retry(script: Vec<Error>, policy: Policy, limit: Arc<Limiter>) -> (Retry<Scripted>, Arc<Mutex<Vec<Instant>>>) {
    let (model, asked_at) = scripted(script);
    (Retry::new(Limited::new(model, limit), policy), asked_at)
}

fn unlimited() -> Arc<Limiter> {
    Limiter::new("x", &limit::Settings::default())
}

fn request(key: &str) -> Request {
    Request { context: Context { idempotency_key: key.into(), ..Context::default() }, ..Request::default() }
}

#[tokio::test(start_paused = true)]
async fn retries_depend_on_the_target() {
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
                Ok(reply) => assert_eq!(reply.receipt.tries as usize, expected),
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
async fn no_call_is_made_before_the_server_allows_it() {
    let script = vec![throttled(Some(20)), throttled(Some(0)), throttled(None), throttled(Some(90))];
    let (model, asked_at) = retry(script, Policy::model(), unlimited());
    let began = Instant::now();
    let reply = model.ask(&request("a")).await.expect("answers in the end");
    assert_eq!((reply.receipt.tries, &*reply.receipt.model), (5, "try 4"));
    assert_eq!(reply.receipt.timing.retried, began.elapsed(), "all of it went before the last try");
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
    // (the errors of the first tries, whether the last one is answered, the limit in the error)
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
        assert_eq!(reply.receipt.lost_tries, lost_tries, "{reply:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_reports_its_effort() {
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
        let (model, _) = retry(script, Policy::model(), Limiter::new("x", &settings));
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
    assert_eq!((reply.receipt.tries, reply.receipt.throttled_tries, reply.receipt.lost_tries), (4, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_deadline_is_not_begun() {
    let limit = unlimited();
    let (model, asked_at) = retry(vec![throttled(Some(3_600))], Policy::model(), Arc::clone(&limit));
    let began = Instant::now();
    model.ask(&request("a")).await.expect_err("too long");
    // The next call is paused too and is not sent.
    let error = model.ask(&request("b")).await.expect_err("still paused");
    assert!(matches!(error, Error::Throttled { after: Some(_), .. }), "{error:?}");
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(asked_at.lock().unwrap().len(), 1);
    tokio::time::sleep(Duration::from_secs(3_601)).await;
    model.ask(&request("c")).await.expect("the pause is over");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_permits_is_added_up_and_pausing_is_not() {
    let settings = limit::Settings { requests_per_minute: std::num::NonZeroU32::new(1), ..limit::Settings::default() };
    let (model, _) = retry(vec![malformed(), malformed()], Policy::model(), Limiter::new("x", &settings));
    // A queue longer than the deadline takes no try away.
    let model = Retry { policy: model.policy.bounded(5, Duration::from_secs(30)), ..model };
    let began = Instant::now();
    let reply = model.ask(&request("a")).await.expect("answers");
    assert_eq!(reply.receipt.tries, 3);
    let elapsed = began.elapsed();
    assert!((119..=121).contains(&elapsed.as_secs()), "{elapsed:?}");
    assert!(
        reply.receipt.timing.wait < elapsed && reply.receipt.timing.wait > elapsed - Duration::from_secs(2),
        "{reply:?}"
    );
    assert_eq!(reply.receipt.timing.wait + reply.receipt.timing.retried, elapsed);
}
