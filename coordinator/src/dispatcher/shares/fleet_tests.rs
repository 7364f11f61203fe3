//! A fleet on a simulated clock: the real shares and the real limiters of workers, with late messages, workers that come, leave and
//! die, and an allocator that is killed.

use std::{
    io::Write as _,
    sync::{Arc, Mutex},
};

use llm::limit::{self, Amount, Limiter, Settings};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};

use super::*;

const LIMIT: &str = "judge";
const A_MINUTE: u32 = 12_000;
const LASTS: Duration = Duration::from_secs(600);
const KILLS: u32 = 20;
const BEAT: Duration = Duration::from_secs(2);
/// Of `Timing`: how long a worker calls without a stream, and how long a session lives without one.
const AWAY: Duration = Duration::from_secs(1);
const CLOSED: Duration = Duration::from_secs(3);
const SLICE: Duration = Duration::from_secs(10);

type Times = Arc<Mutex<Vec<Duration>>>;

#[derive(Debug, Clone)]
enum Event {
    Joins,
    Dies,
    Beat(u64),
    /// The worker has had no stream for a second, unless it reconnected.
    Away(u64),
    Reconnects(u64),
    /// To a worker, by the allocator with this number.
    Share(u64, u32, Share),
    /// From a worker.
    Demand(u64, u32, Demand),
    Taken(u64, u32, Share),
    /// A session without a stream is over, if the allocator of then still lives.
    Over(u64, u32),
    Killed,
    Restarts,
}

struct Worker {
    limit: Arc<Limiter>,
    caller: JoinHandle<()>,
    /// The allocator that it has a stream to; 0: none.
    stream: u32,
}

struct World {
    began: Instant,
    queue: BTreeMap<(Instant, u64), Event>,
    numbers: u64,
    chance: u64,
    workers: BTreeMap<u64, Worker>,
    /// Sessions that an allocator may believe to live.
    sessions: BTreeSet<u64>,
    allocator: Option<Shares>,
    generation: u32,
    times: Times,
}

impl World {
    fn random(&mut self, below: u64) -> u64 {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % below
    }

    fn later(&mut self, after: Duration, event: Event) {
        self.numbers += 1;
        self.queue.insert((Instant::now() + after, self.numbers), event);
    }

    /// A message takes 1 to 50 ms.
    fn send(&mut self, event: Event) {
        let millis = 1 + self.random(50);
        self.later(Duration::from_millis(millis), event);
    }

    fn joins(&mut self) {
        let number = self.numbers + 1;
        let settings = Settings { requests_per_minute: std::num::NonZeroU32::new(A_MINUTE), ..Settings::default() };
        let limit = Limiter::new(LIMIT, &settings);
        limit.set_share(limit::Share::NONE);
        // One in ten calls rarely, so it lends what it does not need.
        let pause = if self.random(10) == 0 { Duration::from_secs(5) } else { Duration::ZERO };
        let caller = tokio::spawn(call(Arc::clone(&limit), pause, self.began, Arc::clone(&self.times)));
        self.workers.insert(number, Worker { limit, caller, stream: 0 });
        self.sessions.insert(number);
        self.send(Event::Reconnects(number));
        let first = Duration::from_millis(self.random(2_000));
        self.later(first, Event::Beat(number));
    }

    fn dies(&mut self) {
        let place = usize::try_from(self.random(self.workers.len() as u64)).unwrap();
        let number = *self.workers.keys().nth(place).unwrap();
        let worker = self.workers.remove(&number).unwrap();
        worker.caller.abort();
        if let Some(shares) = &mut self.allocator {
            shares.closed(number);
        }
        let generation = self.generation;
        self.later(CLOSED, Event::Over(number, generation));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Joins => self.joins(),
            Event::Dies => self.dies(),
            Event::Beat(number) => {
                let Some(worker) = self.workers.get(&number) else { return };
                let (stream, limit::Demand { part, calls, concurrency }) = (worker.stream, worker.limit.demand(true));
                if stream > 0 {
                    self.send(Event::Demand(number, stream, Demand { part, calls, concurrency }));
                }
                self.later(BEAT, Event::Beat(number));
            }
            Event::Away(number) => {
                if let Some(worker) = self.workers.get(&number).filter(|worker| worker.stream == 0) {
                    worker.limit.set_share(limit::Share::NONE);
                }
            }
            Event::Reconnects(number) => {
                let (alive, generation) = (self.allocator.is_some(), self.generation);
                let Some(worker) = self.workers.get_mut(&number) else { return };
                // A worker gives up its share when it tries.
                worker.limit.set_share(limit::Share::NONE);
                if !alive {
                    return self.later(Duration::from_millis(200), Event::Reconnects(number));
                }
                worker.stream = generation;
                let limit::Demand { part, calls, concurrency } = worker.limit.demand(false);
                self.allocator.as_mut().unwrap().opened(number, 8);
                self.send(Event::Demand(number, generation, Demand { part, calls, concurrency }));
            }
            Event::Share(number, generation, Share { part, calls }) => {
                let Some(worker) = self.workers.get(&number).filter(|worker| worker.stream == generation) else {
                    return;
                };
                worker.limit.set_share(limit::Share::new(part, WHOLE));
                self.send(Event::Taken(number, generation, Share { part, calls }));
            }
            Event::Demand(number, generation, demand) if generation == self.generation => {
                if let Some(shares) = &mut self.allocator {
                    shares.hear(number, LIMIT, demand);
                }
            }
            Event::Taken(number, generation, share) if generation == self.generation => {
                if let Some(shares) = &mut self.allocator {
                    shares.taken(number, LIMIT, share);
                }
            }
            Event::Over(number, generation) => match &mut self.allocator {
                // The next allocator ends it some time after its own start.
                _ if generation != self.generation => {
                    let now = self.generation;
                    self.later(SLICE, Event::Over(number, now));
                }
                Some(shares) => {
                    shares.over(number);
                    self.sessions.remove(&number);
                }
                None => self.later(SLICE, Event::Over(number, generation + 1)),
            },
            Event::Demand(..) | Event::Taken(..) => {}
            Event::Killed => {
                self.allocator = None;
                let connected: Vec<u64> = self.workers.keys().copied().collect();
                for number in connected {
                    self.workers.get_mut(&number).unwrap().stream = 0;
                    self.later(AWAY, Event::Away(number));
                    let soon = Duration::from_millis(600 + self.random(200));
                    self.later(soon, Event::Reconnects(number));
                }
                self.later(Duration::from_millis(500), Event::Restarts);
            }
            Event::Restarts => {
                self.generation += 1;
                let mut shares = Shares::new(true);
                shares.wait_for(self.sessions.iter().copied(), self.began.elapsed() + SLICE);
                self.allocator = Some(shares);
            }
        }
        let now = self.began.elapsed();
        let generation = self.generation;
        let sent = self.allocator.as_mut().map(|shares| shares.balance(|_| true, now)).unwrap_or_default();
        for (number, _, share) in sent {
            self.send(Event::Share(number, generation, share));
        }
    }
}

async fn call(limit: Arc<Limiter>, pause: Duration, began: Instant, times: Times) {
    loop {
        let permit = limit.acquire("judge", Amount::default()).await.unwrap();
        times.lock().unwrap().push(began.elapsed());
        permit.settle(Amount::default());
        sleep(pause).await;
    }
}

/// The most calls in any window.
fn most_within(times: &[Duration], window: Duration) -> usize {
    let mut last = 0;
    let count = |(first, at): (usize, &Duration)| {
        while last < times.len() && times[last] < *at + window {
            last += 1;
        }
        last - first
    };
    times.iter().enumerate().map(count).max().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn a_hundred_workers_keep_to_one_limit_and_use_it() {
    let mut world = World {
        began: Instant::now(),
        queue: BTreeMap::new(),
        numbers: 0,
        chance: 7,
        workers: BTreeMap::new(),
        sessions: BTreeSet::new(),
        allocator: Some(Shares::new(true)),
        generation: 1,
        times: Times::default(),
    };
    for worker in 0..100 {
        world.later(Duration::from_millis(worker * 20), Event::Joins);
    }
    // A worker comes and another one dies every 12 s, and the allocator is killed 20 times.
    for round in 1..50 {
        world.later(Duration::from_secs(12 * round), Event::Joins);
        world.later(Duration::from_millis(12_000 * round + 4_700), Event::Dies);
    }
    for kill in 0..KILLS {
        world.later(LASTS / KILLS * kill + Duration::from_millis(20_300), Event::Killed);
    }
    while let Some(((at, _), event)) = world.queue.pop_first() {
        if at > world.began + LASTS {
            break;
        }
        sleep_until(at).await;
        world.handle(event);
    }
    world.workers.values().for_each(|worker| worker.caller.abort());
    let mut times = world.times.lock().unwrap().clone();
    times.retain(|at| *at < LASTS);
    let limit = f64::from(A_MINUTE);
    let minute = most_within(&times, Duration::from_secs(60)) as f64 / limit;
    let second = most_within(&times, Duration::from_secs(1)) as f64 / (limit / 60.0);
    // The first seconds, until all workers are there, are left out.
    let from = Duration::from_secs(5);
    let used = times.iter().filter(|at| **at >= from).count() as f64 / (limit * (LASTS - from).as_secs_f64() / 60.0);
    let said = format!("{minute:.3} in a minute, {second:.3} in a second, {used:.3} used");
    assert!(minute <= 1.02 && second <= 1.05 && used >= 0.92, "{said}");
    let _ = writeln!(std::io::stderr(), "{said}");
}
