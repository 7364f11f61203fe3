//! Servers that throttle or fail for a while, and many callers.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use llm::{
    Call, Context, Error, Named,
    chat::{Reply, Request},
    limit::{Concurrency, Limited, Limiter, Settings},
    retry::{Policy, Retry},
};
use tokio::time::{Instant, sleep};

/// It answers after 100 ms. Between the two times it answers only with `trouble`.
#[derive(Debug)]
struct Server {
    began: Instant,
    trouble: (Duration, Duration),
    throttles: bool,
    asked: Arc<AtomicU32>,
    answered: Arc<AtomicU32>,
}

impl Named for Server {
    fn endpoint(&self) -> &str {
        "server"
    }
}

#[async_trait]
impl Call<Request> for Server {
    async fn ask(&self, _: &Request) -> Result<Reply, Error> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let age = self.began.elapsed();
        let (endpoint, message) = ("server".to_owned(), "trouble".to_owned());
        if age < self.trouble.0 || age >= self.trouble.1 {
            sleep(Duration::from_millis(100)).await;
            self.answered.fetch_add(1, Ordering::Relaxed);
            return Ok(Reply::default());
        }
        sleep(Duration::from_millis(10)).await;
        Err(match self.throttles {
            true => Error::Throttled { endpoint, after: Some(Duration::from_secs(2)), message },
            false => Error::Unreachable { endpoint, status: Some(503), message, sent: true },
        })
    }
}

/// Calls that were asked for and those that failed, and what the server saw: all requests, and answers in each second.
struct Seen {
    calls: u32,
    failed: Vec<Error>,
    asked: u32,
    answers: Vec<u32>,
    limit: Arc<Limiter>,
}

/// 60 callers call again and again for a minute; there is trouble from the 10th to the 25th second.
async fn storm(throttles: bool, role: &str) -> Seen {
    let (asked, answered) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let began = Instant::now();
    let trouble = (Duration::from_secs(10), Duration::from_secs(25));
    let server = Server { began, trouble, throttles, asked: Arc::clone(&asked), answered: Arc::clone(&answered) };
    let settings = Settings { concurrency: Some(Concurrency::Auto), ..Settings::default() };
    let limit = Limiter::new("server", &settings);
    let policy = if role == "agent" { Policy::agent() } else { Policy::model() };
    let model = Arc::new(Retry::new(Limited::new(server, Arc::clone(&limit)), policy));
    let mut callers = Vec::new();
    for caller in 0..60 {
        let (model, role) = (Arc::clone(&model), role.to_owned());
        callers.push(tokio::spawn(async move {
            let (mut calls, mut failed) = (0, Vec::new());
            while began.elapsed() < Duration::from_secs(60) {
                let idempotency_key = format!("{caller}/{calls}");
                let context = Context { role: role.clone(), idempotency_key, ..Context::default() };
                calls += 1;
                if let Err(error) = model.ask(&Request { context, ..Request::default() }).await {
                    failed.push(error);
                }
            }
            (calls, failed)
        }));
    }
    let mut answers = Vec::new();
    for _ in 0..60 {
        let before = answered.load(Ordering::Relaxed);
        sleep(Duration::from_secs(1)).await;
        answers.push(answered.load(Ordering::Relaxed) - before);
    }
    let (mut calls, mut failed) = (0, Vec::new());
    for caller in callers {
        let (own_calls, own_failed) = caller.await.expect("no panic");
        calls += own_calls;
        failed.extend(own_failed);
    }
    Seen { calls, failed, asked: asked.load(Ordering::Relaxed), answers, limit }
}

/// Until a second has nine tenths of the answers of before.
fn recovered_after(seen: &Seen) -> usize {
    let usual = seen.answers[5..10].iter().sum::<u32>() / 5;
    seen.answers[25..].iter().position(|answers| answers * 10 >= usual * 9).expect("it recovers")
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_429s_fails_nothing_and_is_asked_little() {
    let seen = storm(true, "judge").await;
    assert!(seen.failed.is_empty(), "{:?}", seen.failed.first());
    let most = f64::from(seen.calls) * 1.2 + 100.0;
    assert!(f64::from(seen.asked) <= most, "{} requests for {} calls", seen.asked, seen.calls);
    // Each pause of two seconds lets one round of calls through.
    let repeated = seen.asked - seen.calls;
    assert!(repeated < 800, "{repeated} repeated");
    let level = seen.limit.adaptive_level().expect("it is adaptive");
    assert!((48..=100).contains(&level), "{level}: cut once, and it grows again");
    let after = recovered_after(&seen);
    assert!(after <= 5, "{after} s: {:?}", seen.answers);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_left_alone_and_few_calls_fail() {
    let seen = storm(false, "judge").await;
    // Without a breaker, 60 callers would burn five tries each within seconds, again and again.
    assert!(seen.failed.len() <= 60, "{} failed", seen.failed.len());
    let repeated = seen.asked - seen.calls;
    assert!(repeated <= 150, "{repeated} repeated");
    assert_eq!(seen.limit.adaptive_level(), Some(80), "failures say nothing about concurrency");
    assert!(!seen.limit.is_breaker_open());
    let after = recovered_after(&seen);
    assert!(after <= 16, "{after} s: {:?}", seen.answers);
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_agent_under_test_are_not_held_back() {
    let seen = storm(false, "agent").await;
    assert!(seen.failed.len() > 1_000, "{} failed", seen.failed.len());
    assert!(!seen.limit.is_breaker_open());
    assert_eq!(seen.asked, seen.calls, "nothing was repeated");
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_another_worker_saw_holds_and_its_end_is_spread() {
    let settings = Settings { concurrency: NonZeroU32::new(100).map(Concurrency::Calls), ..Settings::default() };
    let limit = Limiter::new("server", &settings);
    limit.throttled_elsewhere(Duration::from_secs(90));
    let began = Instant::now();
    let wait = |limit: Arc<Limiter>| async move {
        let _permit = limit.acquire("judge", Default::default()).await.expect("no limit of the day");
        began.elapsed()
    };
    let (first, second, third) =
        tokio::join!(wait(Arc::clone(&limit)), wait(Arc::clone(&limit)), wait(Arc::clone(&limit)));
    for at in [first, second, third] {
        assert!((90.0..=95.0 + 15.0).contains(&at.as_secs_f64()), "{at:?}");
    }
    assert_eq!(limit.episode().count, 0, "it is not this worker's");
}
