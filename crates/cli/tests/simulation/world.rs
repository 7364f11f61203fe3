//! The coordinator, the workers and a person on a simulated network, and the script that disturbs them.

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    thread,
    time::Duration,
};

use coordinator::{Clock, Config, Coordinator, Gate, Observers};
use llm::{
    endpoint::{Endpoint, Layers, Retries},
    limit,
};
use rand::{SeedableRng as _, rngs::StdRng};
use scenario::Plan;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use turmoil::Sim;
use worker::{Timing, Worker, pacer::Timer};

use crate::{
    cuts::Cuts,
    events::{Events, Listener},
    faulty_store::FaultyStore,
    network::{self, COORDINATOR},
    person::{self, STARTED_AT, Seen},
    provider::{Ledger, Provider},
    script::{Fault, Script},
    staff,
};

/// The network and the hosts advance by so much at a time.
const TICK: Duration = Duration::from_millis(10);
/// A run that has not ended by then hangs: faults end after 105 s, two sessions and the longest conversation later it is over.
const LONGEST: Duration = Duration::from_secs(900);

/// How a script ended.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) seen: Seen,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) events: Arc<Events>,
}

/// What every host of a world shares: what a crash does not take away.
#[derive(Debug, Clone)]
struct Shared {
    script: Script,
    store: Arc<FaultyStore>,
    ledger: Arc<Ledger>,
    clock_step: Arc<AtomicI64>,
    drains: Arc<Mutex<Vec<CancellationToken>>>,
    /// Of each worker.
    cuts: Vec<Arc<Cuts>>,
}

/// Plays a script in a thread of its own, so that its chance begins anew. An error says how it went wrong; `events` has what
/// happened until then.
pub(crate) fn play(script: &Script, plan: &Plan, events: &Arc<Events>) -> Result<Played, String> {
    static CHANCE: OnceLock<()> = OnceLock::new();
    CHANCE.get_or_init(|| mad_turmoil::rand::set_rng(StdRng::seed_from_u64(0)));
    let (script, plan, events) = (script.clone(), plan.clone(), Arc::clone(events));
    let played = thread::spawn(move || {
        *mad_turmoil::rand::get_rng() = StdRng::seed_from_u64(script.seed);
        let listener = Listener(Arc::clone(&events));
        tracing::subscriber::with_default(listener, || simulate(script, plan, events))
    });
    match played.join() {
        Ok(played) => played,
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(format!("panicked: {}", message.unwrap_or_default()))
        }
    }
}

fn simulate(script: Script, plan: Plan, events: Arc<Events>) -> Result<Played, String> {
    let store = Arc::new(FaultyStore::new(script.seed, Arc::clone(&events)));
    let ledger = Arc::new(Ledger::new(Arc::clone(&events)));
    let drains = script.workers.iter().map(|_| CancellationToken::new()).collect();
    let shared = Shared {
        script: script.clone(),
        store,
        ledger: Arc::clone(&ledger),
        clock_step: Arc::default(),
        drains: Arc::new(Mutex::new(drains)),
        cuts: script.workers.iter().map(|_| Arc::default()).collect(),
    };
    let mut sim = turmoil::Builder::new()
        .rng_seed(script.seed)
        .tick_duration(TICK)
        .simulation_duration(LONGEST)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(script.latency)
        .tcp_capacity(1 << 16)
        .build();
    let of_coordinator = shared.clone();
    sim.host(COORDINATOR, move || coordinator(of_coordinator.clone()));
    for (place, slots) in script.workers.iter().enumerate() {
        let (shared, slots) = (shared.clone(), *slots);
        sim.host(name(place), move || worker(shared.clone(), place, slots));
    }
    let seen = Arc::default();
    sim.client("person", person::follow(plan, script.budget.then_some(budget(&script)), Arc::clone(&seen)));
    let mut repairs: Vec<(Duration, Repair)> = Vec::new();
    let mut faults = script.faults.iter().copied().peekable();
    let ended = loop {
        let now = sim.elapsed();
        while let Some((_, fault)) = faults.next_if(|(at, _)| *at <= now) {
            events.add(&fault.kind());
            if let Some((at, repair)) = begin(&mut sim, &shared, fault, now) {
                repairs.push((at, repair));
            }
        }
        let (due, later): (Vec<_>, _) = repairs.into_iter().partition(|(at, _)| *at <= now);
        repairs = later;
        for (_, repair) in due {
            repair.make(&mut sim, &shared);
        }
        match sim.step() {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(error) => break Err(format!("it ends: {error}")),
        }
    };
    ended?;
    let seen = seen.lock().unwrap().take().ok_or("it ends: the person saw nothing")?;
    Ok(Played { seen, ledger, events })
}

fn name(worker: usize) -> String {
    format!("worker-{worker}")
}

/// What ends a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    Start(Host),
    Link(usize),
    Release(usize),
    Speed(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Host {
    Coordinator,
    Worker(usize),
}

/// Some faults end by themselves.
fn begin(sim: &mut Sim<'_>, shared: &Shared, fault: Fault, now: Duration) -> Option<(Duration, Repair)> {
    match fault {
        Fault::KillWorker(worker, lasts) => {
            sim.crash(name(worker));
            Some((now + lasts, Repair::Start(Host::Worker(worker))))
        }
        Fault::KillCoordinator(lasts) => {
            sim.crash(COORDINATOR);
            Some((now + lasts, Repair::Start(Host::Coordinator)))
        }
        Fault::Partition(worker, lasts) => {
            sim.partition(name(worker), COORDINATOR);
            Some((now + lasts, Repair::Link(worker)))
        }
        Fault::Mute(worker, lasts) => {
            sim.partition_oneway(name(worker), COORDINATOR);
            Some((now + lasts, Repair::Link(worker)))
        }
        Fault::Deaf(worker, lasts) => {
            sim.partition_oneway(COORDINATOR, name(worker));
            Some((now + lasts, Repair::Link(worker)))
        }
        Fault::Hold(worker, lasts) => {
            sim.hold(name(worker), COORDINATOR);
            Some((now + lasts, Repair::Release(worker)))
        }
        Fault::Cut(worker, lasts) => {
            shared.cuts[worker].cut_until(now + lasts);
            None
        }
        Fault::Slow(worker, lasts) => {
            sim.set_link_latency(name(worker), COORDINATOR, Duration::from_millis(900));
            Some((now + lasts, Repair::Speed(worker)))
        }
        Fault::StoreStalls(lasts) => {
            shared.store.stall_until(now + lasts);
            None
        }
        Fault::StoreErrors(lasts) => {
            shared.store.fail_until(now + lasts);
            None
        }
        Fault::Storm(lasts) => {
            shared.ledger.storm_until(now + lasts);
            None
        }
        Fault::ClockStep(millis) => {
            shared.clock_step.fetch_add(millis, Ordering::Relaxed);
            None
        }
        Fault::Drain(worker, lasts) => {
            shared.drains.lock().unwrap()[worker].cancel();
            Some((now + lasts, Repair::Start(Host::Worker(worker))))
        }
    }
}

impl Repair {
    fn make(self, sim: &mut Sim<'_>, shared: &Shared) {
        match self {
            Self::Start(Host::Coordinator) => sim.bounce(COORDINATOR),
            Self::Start(Host::Worker(worker)) => {
                shared.drains.lock().unwrap()[worker] = CancellationToken::new();
                sim.bounce(name(worker));
            }
            Self::Link(worker) => sim.repair(name(worker), COORDINATOR),
            Self::Release(worker) => sim.release(name(worker), COORDINATOR),
            Self::Speed(worker) => sim.set_link_latency(name(worker), COORDINATOR, shared.script.latency),
        }
    }
}

async fn coordinator(shared: Shared) -> turmoil::Result {
    let Shared { store, clock_step, .. } = shared;
    let clock = Clock::new(move || {
        let elapsed = turmoil::sim_elapsed().unwrap_or_default();
        STARTED_AT + i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX) + clock_step.load(Ordering::Relaxed)
    });
    // A supervisor starts it again if the store fails while it opens.
    let (coordinator, handle) = loop {
        let opened =
            Coordinator::open(Arc::clone(&store), Config::default(), clock.clone(), Observers::default()).await;
        match opened {
            Ok(opened) => break opened,
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    };
    let router = coordinator::service::router(handle, Gate::Open).await?;
    let served = router.serve_with_incoming(network::accepted().await?);
    let (served, ()) = tokio::join!(served, coordinator.run(CancellationToken::new()));
    Ok(served?)
}

async fn worker(shared: Shared, place: usize, slots: u32) -> turmoil::Result {
    let drain = shared.drains.lock().unwrap()[place].clone();
    loop {
        let endpoint = Arc::new(Endpoint::open("mock", &models())?);
        let limits = limit::Settings {
            requests_per_minute: shared.script.requests_per_minute.and_then(|limit| limit.try_into().ok()),
            ..limit::Settings::default()
        };
        let layers = Layers::new("agent", &limits, Duration::from_secs(60), Retries::default()).priced(price());
        let asked: Arc<dyn llm::Chat> =
            Arc::new(layers.wrap(Provider { worker: place, ledger: Arc::clone(&shared.ledger) }));
        let limits = vec![Arc::clone(endpoint.limit()), Arc::clone(layers.limit())];
        let resources = staff::resources(&endpoint, asked, limits);
        let config = worker::Config { name: name(place), slots, timing: Timing::default(), timer: Timer::Runtime };
        match Worker::new(config, resources).run(network::channel(Arc::clone(&shared.cuts[place])), drain.clone()).await
        {
            Ok(()) => return Ok(()),
            // A supervisor starts it again.
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

/// User and judge: a second for each answer, and sometimes an error that is retried.
fn models() -> llm::endpoint::Settings {
    let behaviour = json!({
        "pass": [{ "probability": 0.9 }],
        "latency": { "kind": "lognormal", "ms": 500, "sigma": 0.5, "max_ms": 5_000 },
        "judge": { "sensitivity": 0.9, "specificity": 0.95, "malformed_rate": 0.05 },
        "error_rate": 0.01,
    });
    let settings: llm::endpoint::Settings =
        serde_json::from_value(json!({ "kind": "mock", "mock": behaviour })).unwrap();
    llm::endpoint::Settings { price: price(), max_output_tokens: Some(400), ..settings }
}

fn price<P: serde::de::DeserializeOwned>() -> Option<P> {
    serde_json::from_value(json!({ "input_per_million": 1, "output_per_million": 10 })).unwrap()
}

/// What the script's run plays.
pub(crate) fn plan(script: &Script) -> Plan {
    let judged = json!([{ "type": "llm_judge", "prompt": "Was the agent of help?", "expected": "yes" }]);
    let user = json!({ "persona": "a customer in a hurry", "objective": "get a refund for order 1234" });
    let steps: Value = if script.talks {
        json!([{
            "name": "talk",
            "input": "Hello, where is my money?",
            "conversation": {
                "max_turns": 8,
                "timeout_per_turn_ms": 600_000,
                "total_timeout_ms": 36_000_000,
                "user_simulator": user,
                "turn_evaluations": judged,
                "final_evaluations": judged,
            },
        }])
    } else {
        json!([{ "name": "question", "input": "How do I reset my password?", "evaluations": judged }])
    };
    staff::plan(&steps, script.repeats)
}

/// In nano-dollars: some of the run, but not all.
fn budget(script: &Script) -> i64 {
    let each = if script.talks { 48_000_000 } else { 6_000_000 };
    each * i64::from(script.repeats) / 2
}
