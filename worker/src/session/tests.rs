//! The worker's side of the protocol, against a coordinator whose messages come from the test.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use proto::v1::{self, coordinator_message::Body as Order, worker_message::Body as Word};
use record::Verdict;
use scenario::Plan;
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use self::coordinator::{Coordinator, Line, Presence};
use super::{Config, Error, Timing};
use crate::pacer::Timer;
use crate::{
    Worker,
    fakes::{Cast, Does, FakeAgent, plan, resources, scenario},
};

mod absence;
mod coordinator;
mod drains;
mod slow_links;
mod streams;

const SECOND: Duration = Duration::from_secs(1);

/// A running worker and its surroundings.
struct Scene {
    coordinator: Coordinator,
    plan: Arc<Plan>,
    worker: JoinHandle<Result<(), Error>>,
    drain: CancellationToken,
    /// When the agent was asked something.
    asked_at: Arc<Mutex<Vec<Instant>>>,
}

impl Scene {
    /// Trials of three messages each, for which the agent takes so long.
    fn new(slots: u32, agent_takes: Duration) -> Self {
        let asked_at: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let times = Arc::clone(&asked_at);
        let agent = FakeAgent::new(move |_, _| {
            times.lock().unwrap().push(Instant::now());
            Does::SaysAfter(Duration::ZERO, agent_takes, "sunny".into())
        });
        let scene = Self::with(slots, &Cast::with(agent));
        Self { asked_at, ..scene }
    }

    fn with(slots: u32, cast: &Cast) -> Self {
        Self::over(slots, cast, 0)
    }

    /// Over a link of this many bytes a second; 0: as fast as can be.
    fn over(slots: u32, cast: &Cast, bytes_a_second: u64) -> Self {
        let check = json!([{ "type": "string_contains", "value": "sunny" }]);
        let steps = json!([{ "input": "one" }, { "input": "two" }, { "input": "three", "evaluations": check }]);
        let plan = plan(&scenario(steps, json!({})), 1_000);
        let coordinator = Coordinator::new(&plan);
        coordinator.bytes_a_second.store(bytes_a_second, std::sync::atomic::Ordering::Relaxed);
        let config = Config { name: "w1".to_owned(), slots, timing: Timing::default(), timer: Timer::Runtime };
        let own = cast.resources();
        let resources = resources(Arc::clone(&cast.agent) as _, own.models.clone(), crate::environment::Execution::Off);
        let drain = CancellationToken::new();
        let worker = tokio::spawn(Worker::new(config, resources).run(coordinator.channel(), drain.clone()));
        Self { coordinator, plan, worker, drain, asked_at: Arc::default() }
    }

    /// Opens a stream up to the welcome.
    async fn welcomed(&mut self) -> Line {
        let line = self.coordinator.line().await;
        line.welcome(0).await;
        line
    }

    fn lease(&self, first: u64, end: u64) -> v1::Lease {
        let plan_digest = self.plan.digest().as_str().to_owned();
        v1::Lease { run: "r".to_owned(), plan_digest, first, end, epoch: 1, ..v1::Lease::default() }
    }

    fn asked(&self) -> usize {
        self.asked_at.lock().unwrap().len()
    }

    fn last_asked(&self) -> Instant {
        *self.asked_at.lock().unwrap().last().expect("the agent was asked")
    }

    async fn ended(self) -> Result<(), Error> {
        tokio::time::timeout(600 * SECOND, self.worker).await.expect("the worker ends").unwrap()
    }
}

fn held(first: u64, end: u64) -> v1::Held {
    v1::Held { run: "r".to_owned(), first, end, epoch: 1 }
}

fn numbers(trials: &[v1::Trial]) -> Vec<u64> {
    trials.iter().map(|trial| trial.number).collect()
}
