//! The coordinators, the workers and a person on a simulated network, and the script that disturbs them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    thread,
    time::Duration,
};

use coordinator::{
    Clock, Config, Coordinator, Gate, Observers, Office, Peer, Standing,
    office::Chores,
    peer::{self, News},
    service::{self, Front},
};
use llm::{
    endpoint::{Endpoint, Layers, Retries},
    limit,
};
use rand::{SeedableRng as _, rngs::StdRng};
use scenario::Plan;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;
use turmoil::Sim;
use worker::{Timing, Worker, pacer::Timer};

use crate::{
    cuts::Cuts,
    events::{Events, Listener},
    faulty_store::FaultyStore,
    machine::{Slot, Sockets},
    network::{self, Between},
    person::{self, STARTED_AT, Seen},
    process::{self, Process},
    provider::{ANSWER_NANOS, Ledger, Provider},
    script::{Fault, Script},
    staff,
};

/// The network and the hosts advance by so much at a time.
const TICK: Duration = Duration::from_millis(10);
/// A run that has not ended by then hangs: faults end after 105 s, two sessions and the longest conversation later it is over.
const LONGEST: Duration = Duration::from_secs(900);

/// A coordinator of several that is not optimised needs more than the usual 2 MiB.
const STACK_BYTES: usize = 16 << 20;

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

/// The machines with their processes.
struct World<'a> {
    sim: Sim<'a>,
    shared: Shared,
    slots: BTreeMap<Host, Slot>,
    processes: BTreeMap<Host, Process>,
}

/// Plays a script in a thread of its own, so that its chance begins anew. An error says how it went wrong; `events` has what
/// happened until then.
pub(crate) fn play(script: &Script, plan: &Plan, events: &Arc<Events>) -> Result<Played, String> {
    static CHANCE: OnceLock<()> = OnceLock::new();
    CHANCE.get_or_init(|| mad_turmoil::rand::set_rng(StdRng::seed_from_u64(0)));
    let (script, plan, events) = (script.clone(), plan.clone(), Arc::clone(events));
    let played = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        *mad_turmoil::rand::get_rng() = StdRng::seed_from_u64(script.seed);
        let listener = Listener(Arc::clone(&events));
        tracing::subscriber::with_default(listener, || simulate(script, plan, events))
    });
    match played.unwrap().join() {
        Ok(played) => played,
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(format!("panicked: {}", message.unwrap_or_default()))
        }
    }
}

fn simulate(script: Script, plan: Plan, events: Arc<Events>) -> Result<Played, String> {
    let cuts: Vec<Arc<Cuts>> = script.workers.iter().map(|_| Arc::default()).collect();
    let store = Arc::new(FaultyStore::new(script.seed, script.coordinators, Arc::clone(&events), cuts.clone()));
    let ledger = Arc::new(Ledger::new(Arc::clone(&events)));
    let drains = script.workers.iter().map(|_| CancellationToken::new()).collect();
    let shared = Shared {
        script: script.clone(),
        store,
        ledger: Arc::clone(&ledger),
        clock_step: Arc::default(),
        drains: Arc::new(Mutex::new(drains)),
        cuts,
    };
    let mut sim = turmoil::Builder::new()
        .rng_seed(script.seed)
        .tick_duration(TICK)
        .simulation_duration(LONGEST)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(script.latency)
        .tcp_capacity(1 << 16)
        .build();
    let hosts = (0..script.coordinators).map(Host::Coordinator).chain((0..script.workers.len()).map(Host::Worker));
    let (mut slots, mut processes) = (BTreeMap::new(), BTreeMap::new());
    for host in hosts {
        let slot = Slot::default();
        processes.insert(host, host.process(&shared, &slot));
        slots.insert(host, slot.clone());
        sim.host(host.name(), move || slot.clone().serve());
    }
    let seen = Arc::default();
    let first_budget = script.budget.then_some(budget(&script));
    sim.client("person", person::follow(script.coordinators, plan, first_budget, Arc::clone(&seen)));
    let mut world = World { sim, shared, slots, processes };
    let mut repairs: Vec<(Duration, Repair)> = Vec::new();
    let mut faults = script.faults.iter().copied().peekable();
    let ended = loop {
        let now = world.sim.elapsed();
        process::begin_step(now);
        while let Some((_, fault)) = faults.next_if(|(at, _)| *at <= now) {
            events.add(&fault.kind());
            if let Some((at, repair)) = world.begin(fault, now) {
                repairs.push((at, repair));
            }
        }
        let (due, later): (Vec<_>, _) = repairs.into_iter().partition(|(at, _)| *at <= now);
        repairs = later;
        for (_, repair) in due {
            world.make(repair);
        }
        match world.step() {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(error) => break Err(format!("it ends: {error}")),
        }
    };
    ended?;
    let seen = seen.lock().unwrap().take().ok_or("it ends: the person saw nothing")?;
    Ok(Played { seen, ledger, events })
}

/// What ends a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    Start(Host),
    Link(usize),
    Release(usize),
    Speed(usize),
    Together,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Host {
    Coordinator(usize),
    Worker(usize),
}

impl Host {
    fn name(self) -> String {
        match self {
            Self::Coordinator(place) => network::coordinator(place),
            Self::Worker(place) => format!("worker-{place}"),
        }
    }

    /// Starts its process, which gets a machine that begins anew.
    fn process(self, shared: &Shared, slot: &Slot) -> Process {
        let (sockets, asks) = Sockets::new();
        slot.set(asks);
        match self {
            Self::Coordinator(place) => Process::start(coordinator(shared.clone(), place, sockets)),
            Self::Worker(place) => Process::start(worker(shared.clone(), place, sockets)),
        }
    }
}

impl World<'_> {
    /// Whether the person has seen the end.
    fn step(&mut self) -> turmoil::Result<bool> {
        let seen = self.sim.step()?;
        let processes = std::mem::take(&mut self.processes);
        for (host, mut process) in processes {
            match process.live(TICK) {
                // Its connections close with it.
                Some(ended) => ended?,
                None => drop(self.processes.insert(host, process)),
            }
        }
        Ok(seen)
    }

    fn kill(&mut self, host: Host) {
        self.sim.crash(host.name());
        self.processes.remove(&host);
    }

    fn start(&mut self, host: Host) {
        // One that has ended by itself has left its machine.
        self.kill(host);
        self.processes.insert(host, host.process(&self.shared, &self.slots[&host]));
        self.sim.bounce(host.name());
    }

    fn pause(&mut self, host: Host, end: Duration) {
        // One that is not there needs no pause.
        if let Some(process) = self.processes.get_mut(&host) {
            process.pause_until(end);
        }
    }

    /// The worker, with each coordinator.
    fn links(&self, worker: usize) -> Vec<(String, String)> {
        let coordinators = (0..self.shared.script.coordinators).map(network::coordinator);
        coordinators.map(|coordinator| (Host::Worker(worker).name(), coordinator)).collect()
    }

    /// Some faults end by themselves.
    fn begin(&mut self, fault: Fault, now: Duration) -> Option<(Duration, Repair)> {
        match fault {
            Fault::KillWorker(worker, lasts) => {
                self.kill(Host::Worker(worker));
                Some((now + lasts, Repair::Start(Host::Worker(worker))))
            }
            Fault::KillCoordinator(coordinator, lasts) => {
                self.kill(Host::Coordinator(coordinator));
                Some((now + lasts, Repair::Start(Host::Coordinator(coordinator))))
            }
            Fault::Partition(worker, lasts) => {
                self.links(worker).into_iter().for_each(|(worker, other)| self.sim.partition(worker, other));
                Some((now + lasts, Repair::Link(worker)))
            }
            Fault::Mute(worker, lasts) => {
                self.links(worker).into_iter().for_each(|(worker, other)| self.sim.partition_oneway(worker, other));
                Some((now + lasts, Repair::Link(worker)))
            }
            Fault::Deaf(worker, lasts) => {
                self.links(worker).into_iter().for_each(|(worker, other)| self.sim.partition_oneway(other, worker));
                Some((now + lasts, Repair::Link(worker)))
            }
            Fault::Hold(worker, lasts) => {
                self.links(worker).into_iter().for_each(|(worker, other)| self.sim.hold(worker, other));
                Some((now + lasts, Repair::Release(worker)))
            }
            Fault::Cut(worker, lasts) => {
                self.shared.cuts[worker].cut_until(now + lasts);
                None
            }
            Fault::Slow(worker, lasts) => {
                self.set_latency(worker, Duration::from_millis(900));
                Some((now + lasts, Repair::Speed(worker)))
            }
            Fault::StoreStalls(lasts) => {
                self.shared.store.stall_until(now + lasts);
                None
            }
            Fault::StoreErrors(lasts) => {
                self.shared.store.fail_until(now + lasts);
                None
            }
            Fault::Storm(lasts) => {
                self.shared.ledger.storm_until(now + lasts);
                None
            }
            Fault::ClockStep(millis) => {
                self.shared.clock_step.fetch_add(millis, Ordering::Relaxed);
                None
            }
            Fault::Drain(worker, lasts) => {
                self.shared.drains.lock().unwrap()[worker].cancel();
                Some((now + lasts, Repair::Start(Host::Worker(worker))))
            }
            Fault::Apart(lasts) => {
                self.sim.partition(network::coordinator(0), network::coordinator(1));
                Some((now + lasts, Repair::Together))
            }
            Fault::StoreAway(coordinator, lasts) => {
                self.shared.store.be_away_until(coordinator, now + lasts);
                None
            }
            Fault::Move(worker) => {
                self.shared.cuts[worker].cut_until(now);
                None
            }
            Fault::PauseWorker(worker, lasts) => {
                self.pause(Host::Worker(worker), now + lasts);
                None
            }
            Fault::PauseCoordinator(coordinator, lasts) => {
                self.pause(Host::Coordinator(coordinator), now + lasts);
                None
            }
            Fault::LoseGrant(lasts) => {
                self.shared.store.lose_next_grant(lasts);
                None
            }
            Fault::LateCommit(lasts) => {
                self.shared.store.delay_next_commit(lasts);
                None
            }
        }
    }

    fn make(&mut self, repair: Repair) {
        match repair {
            Repair::Start(host) => {
                if let Host::Worker(worker) = host {
                    self.shared.drains.lock().unwrap()[worker] = CancellationToken::new();
                }
                self.start(host);
            }
            Repair::Link(worker) => {
                self.links(worker).into_iter().for_each(|(worker, other)| self.sim.repair(worker, other));
            }
            Repair::Release(worker) => {
                self.links(worker).into_iter().for_each(|(worker, other)| self.sim.release(worker, other));
            }
            Repair::Speed(worker) => self.set_latency(worker, self.shared.script.latency),
            Repair::Together => self.sim.repair(network::coordinator(0), network::coordinator(1)),
        }
    }

    fn set_latency(&self, worker: usize, latency: Duration) {
        for (worker, other) in self.links(worker) {
            self.sim.set_link_latency(worker, other, latency);
        }
    }
}

async fn coordinator(shared: Shared, place: usize, sockets: Sockets) -> anyhow::Result<()> {
    let Shared { store, clock_step, script, .. } = shared;
    let clock = Clock::new(move || {
        let elapsed = process::now();
        STARTED_AT + i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX) + clock_step.load(Ordering::Relaxed)
    });
    match script.coordinators {
        1 => alone(store, clock, sockets).await,
        _ => one_of_several(&store, place, clock, sockets).await,
    }
}

async fn alone(store: Arc<FaultyStore>, clock: Clock, sockets: Sockets) -> anyhow::Result<()> {
    // A supervisor starts it again if the store fails while it opens.
    let (coordinator, handle) = loop {
        let opened =
            Coordinator::open(Arc::clone(&store), Config::default(), clock.clone(), Observers::default()).await;
        match opened {
            Ok(opened) => break opened,
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    };
    let router = service::server().add_routes(service::routes(handle, &Gate::Open));
    let never = watch::Sender::new(false);
    let served = router.serve_with_incoming(network::accepted(&sockets, never.subscribe()));
    let (served, ()) = tokio::join!(served, coordinator.run(CancellationToken::new()));
    Ok(served?)
}

async fn one_of_several(store: &FaultyStore, place: usize, clock: Clock, sockets: Sockets) -> anyhow::Result<()> {
    let (front, switch) = Front::new(Gate::Open, clock.clone()).await?;
    let standing = Standing::new(switch);
    let accepted = network::accepted(&sockets, standing.isolated());
    let serving = service::server().serve_with_incoming(front, accepted);
    let in_office = async {
        loop {
            let office = Office {
                standing: standing.clone(),
                gate: Gate::Open,
                clock: clock.clone(),
                observers: Observers::default(),
                chores: Chores::new(|_, _| Box::pin(async {})),
                drain: CancellationToken::new(),
            };
            let (contender, name) = (store.reached_by(place), network::coordinator(place));
            let peer =
                Peer { contender, office, world: Others(sockets.clone()), name, address: network::address(place) };
            // A supervisor starts it again if the store fails while it opens.
            if peer.serve().await.is_err() {
                sleep(Duration::from_secs(1)).await;
            }
        }
    };
    tokio::select! {
        served = serving => Ok(served?),
        () = in_office => Ok(()),
    }
}

#[derive(Debug)]
struct Others(Sockets);

impl peer::World for Others {
    type Way = Between;

    fn way_to(&self, address: &str) -> Result<Between, String> {
        Ok(Between::new(self.0.clone(), address))
    }

    fn tell(&self, _: News<'_>) {}
}

async fn worker(shared: Shared, place: usize, sockets: Sockets) -> anyhow::Result<()> {
    let (drain, slots) = (shared.drains.lock().unwrap()[place].clone(), shared.script.workers[place]);
    loop {
        let endpoint = Arc::new(Endpoint::open("mock", &models())?);
        let limits = limit::Settings {
            requests_per_minute: shared.script.requests_per_minute.and_then(|limit| limit.try_into().ok()),
            ..limit::Settings::default()
        };
        let layers = Layers::new("agent", &limits, Duration::from_secs(60), Retries::default()).priced(answer_price());
        let asked: Arc<dyn llm::Chat> =
            Arc::new(layers.wrap(Provider { worker: place, ledger: Arc::clone(&shared.ledger) }));
        let limits = vec![Arc::clone(endpoint.limit()), Arc::clone(layers.limit())];
        let resources = staff::resources(&endpoint, asked, limits);
        let channel = network::channel(sockets.clone(), shared.script.coordinators, Arc::clone(&shared.cuts[place]));
        let config = worker::Config {
            name: Host::Worker(place).name(),
            slots,
            timing: Timing::default(),
            timer: Timer::Runtime,
        };
        match Worker::new(config, resources).run(channel, drain.clone()).await {
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

fn price<P: DeserializeOwned>() -> Option<P> {
    serde_json::from_value(json!({ "input_per_million": 1, "output_per_million": 10 })).unwrap()
}

fn answer_price<P: DeserializeOwned>() -> Option<P> {
    let per_call = ANSWER_NANOS as f64 / 1e9;
    serde_json::from_value(json!({ "per_call": per_call, "input_per_million": 0, "output_per_million": 0 })).unwrap()
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
pub(crate) fn budget(script: &Script) -> i64 {
    let each = if script.talks { 48_000_000 } else { 6_000_000 };
    each * i64::from(script.repeats) / 2
}
