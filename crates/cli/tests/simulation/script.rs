//! What happens in a simulation: a fleet, a plan, and faults with their times, all from one seed.

use std::time::Duration;

use crate::chance::Chance;

/// Faults begin in this time; then everything heals.
const FAULTY: u64 = 60_000;
/// Each makes another seed.
const CUTS: u64 = 1 << 63;
const COORDINATORS: u64 = 1 << 62;
const PAUSES: u64 = 1 << 61;
const GRANTS: u64 = 1 << 60;
const LIMITS: u64 = 1 << 59;
const COMMITS: u64 = 1 << 58;
const MOST_TALKS: u32 = 24;
const MOST_QUESTIONS: u32 = 80;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    /// Of several, one is in charge.
    pub(crate) coordinators: usize,
    /// The slots of each worker.
    pub(crate) workers: Vec<u32>,
    pub(crate) repeats: u32,
    /// Whole conversations, or one question each.
    pub(crate) talks: bool,
    /// Messages take up to so long.
    pub(crate) latency: Duration,
    /// Calls of the agent, fleet-wide.
    pub(crate) requests_per_minute: Option<u32>,
    /// The run has a budget that does not pay for all of it, and gets a larger one when that is used up.
    pub(crate) budget: bool,
    /// In the order of their times.
    pub(crate) faults: Vec<(Duration, Fault)>,
}

/// Workers and coordinators by their place. A worker's network is to every coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Killed, and started again after so long.
    KillWorker(usize, Duration),
    KillCoordinator(usize, Duration),
    /// No message arrives on either way.
    Partition(usize, Duration),
    /// No message of the worker arrives; the coordinator's do.
    Mute(usize, Duration),
    /// No message of the coordinator arrives; the worker's do.
    Deaf(usize, Duration),
    /// Messages wait, and arrive after so long.
    Hold(usize, Duration),
    /// The worker's connections break, and new ones are refused for so long.
    Cut(usize, Duration),
    /// Every message takes longer.
    Slow(usize, Duration),
    /// Each call of the store takes up to two seconds more.
    StoreStalls(Duration),
    /// One call of the store in ten fails, before or after it has written.
    StoreErrors(Duration),
    /// The agent answers with 429.
    Storm(Duration),
    /// The coordinator's wall clock jumps, in milliseconds.
    ClockStep(i64),
    /// Finishes what it plays and leaves; another worker takes its place after so long.
    Drain(usize, Duration),
    /// No message of one coordinator arrives at another.
    Apart(Duration),
    /// The coordinator does not reach the store; what it has asked arrives after so long.
    StoreAway(usize, Duration),
    /// The worker's connections break, and the next ones are to another coordinator.
    Move(usize),
    /// Stopped, and continued after so long.
    PauseWorker(usize, Duration),
    PauseCoordinator(usize, Duration),
    /// The next grant is stored and does not arrive: its worker's connections break, and new ones are refused for so long.
    LoseGrant(Duration),
    /// The next results are on their way to the store for so long, and their coordinator reaches it as late.
    LateCommit(Duration),
}

impl Script {
    pub(crate) fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mut workers = (0..chance.between(2, 4)).map(|_| chance.between(1, 6) as u32).collect::<Vec<_>>();
        let mut talks = chance.one_in(2);
        let mut repeats =
            if talks { chance.between(8, MOST_TALKS.into()) } else { chance.between(20, MOST_QUESTIONS.into()) };
        let latency = if chance.one_in(4) { chance.time(100, 400) } else { chance.time(1, 40) };
        let mut requests_per_minute = chance.one_in(4).then(|| chance.between(60, 240) as u32);
        let budget = chance.one_in(4);
        let mut faults: Vec<(Duration, Fault)> = (0..chance.between(1, 8))
            .map(|_| (chance.time(500, FAULTY), Fault::of(&mut chance, workers.len() as u64)))
            .collect();
        // From a chance of their own, so that the other faults of a seed do not depend on them.
        let mut of_cuts = Chance::new(seed ^ CUTS);
        faults.extend((0..of_cuts.below(4)).map(|_| {
            let worker = of_cuts.below(workers.len() as u64) as usize;
            (of_cuts.time(500, FAULTY), Fault::Cut(worker, lasts(&mut of_cuts)))
        }));
        let mut of_coordinators = Chance::new(seed ^ COORDINATORS);
        let coordinators = if of_coordinators.one_in(3) { 2 } else { 1 };
        if coordinators > 1 {
            faults.extend((0..of_coordinators.between(1, 6)).map(|_| {
                let at = of_coordinators.time(500, FAULTY);
                (at, Fault::of_coordinators(&mut of_coordinators, coordinators as u64, workers.len() as u64))
            }));
        }
        let mut of_commits = Chance::new(seed ^ COMMITS);
        if coordinators > 1 {
            // Another coordinator takes over after 3 s; after 6 s the former one steps down.
            let late = Fault::LateCommit(of_commits.time(3_500, 7_000));
            faults.push((of_commits.time(500, FAULTY / 2), late));
        }
        let mut of_pauses = Chance::new(seed ^ PAUSES);
        if of_pauses.one_in(3) {
            faults.extend((0..of_pauses.between(1, 3)).map(|_| {
                let at = of_pauses.time(500, FAULTY);
                (at, Fault::of_pauses(&mut of_pauses, coordinators as u64, workers.len() as u64))
            }));
        }
        let mut of_grants = Chance::new(seed ^ GRANTS);
        if of_grants.one_in(3) {
            faults.extend((0..of_grants.between(1, 3)).map(|_| {
                // Later, a run that nothing disturbs has no more grants.
                let at = of_grants.time(500, FAULTY / 2);
                (at, Fault::LoseGrant(of_grants.time(50, 10_000)))
            }));
        }
        let mut of_limits = Chance::new(seed ^ LIMITS);
        if requests_per_minute.is_some() && of_limits.one_in(2) {
            // Each worker would use more than its share, for a minute.
            (talks, repeats) = (true, MOST_TALKS.into());
            requests_per_minute = Some(of_limits.between(90, 120) as u32);
            workers.iter_mut().for_each(|slots| *slots = (*slots).max(6));
            faults.extend(Fault::of_limits(&mut of_limits, workers.len() as u64));
        }
        faults.sort_by_key(|(at, _)| *at);
        Self {
            seed,
            coordinators,
            workers,
            repeats: repeats as u32,
            talks,
            latency,
            requests_per_minute,
            budget,
            faults,
        }
    }

    /// A fleet without faults that plays at least what every script plays.
    pub(crate) fn undisturbed(talks: bool) -> Self {
        Self {
            seed: 0,
            coordinators: 1,
            workers: vec![8, 8],
            repeats: if talks { MOST_TALKS } else { MOST_QUESTIONS },
            talks,
            latency: Duration::from_millis(10),
            requests_per_minute: None,
            budget: false,
            faults: Vec::new(),
        }
    }
}

/// Around the times of the protocol: 1 s without a stream, 3 s closed, 20 s fence, 30 s session.
fn lasts(chance: &mut Chance) -> Duration {
    match chance.below(4) {
        0 => chance.time(50, 900),
        1 => chance.time(900, 4_000),
        2 => chance.time(4_000, 22_000),
        _ => chance.time(22_000, 45_000),
    }
}

impl Fault {
    fn of(chance: &mut Chance, workers: u64) -> Self {
        let worker = chance.below(workers) as usize;
        let lasts = lasts(chance);
        match chance.below(14) {
            0 | 1 => Self::KillWorker(worker, lasts),
            2 | 3 => Self::KillCoordinator(0, lasts),
            4 => Self::Partition(worker, lasts),
            5 => Self::Mute(worker, lasts),
            6 => Self::Deaf(worker, lasts),
            7 => Self::Hold(worker, lasts),
            8 => Self::Slow(worker, lasts),
            9 => Self::StoreStalls(lasts),
            10 => Self::StoreErrors(lasts),
            11 => Self::Storm(lasts),
            12 => Self::ClockStep(if chance.one_in(2) { -3_600_000 } else { 3_600_000 }),
            _ => Self::Drain(worker, lasts),
        }
    }

    /// A fault that needs several coordinators.
    fn of_coordinators(chance: &mut Chance, coordinators: u64, workers: u64) -> Self {
        let (coordinator, worker) = (chance.below(coordinators) as usize, chance.below(workers) as usize);
        let lasts = lasts(chance);
        match chance.below(6) {
            0 => Self::KillCoordinator(coordinator, lasts),
            1 => Self::Apart(lasts),
            2 => Self::Move(worker),
            3 => Self::StoreAway(coordinator, lasts),
            // Around the times of a hold: 3 s until another one may take it, 6 s until its holder steps down.
            _ => Self::StoreAway(coordinator, chance.time(2_500, 8_000)),
        }
    }

    fn of_pauses(chance: &mut Chance, coordinators: u64, workers: u64) -> Self {
        let (coordinator, worker) = (chance.below(coordinators) as usize, chance.below(workers) as usize);
        let lasts = lasts(chance);
        if chance.one_in(2) { Self::PauseWorker(worker, lasts) } else { Self::PauseCoordinator(coordinator, lasts) }
    }

    /// A worker does not hear that the coordinator was started again, which knows nothing of its share of the limit.
    fn of_limits(chance: &mut Chance, workers: u64) -> [(Duration, Self); 2] {
        let (at, worker) = (chance.time(1_000, 10_000), chance.below(workers) as usize);
        // Longer than the 10 s after which a share lapses; after 20 s the worker gives up its session.
        let partition = Self::Partition(worker, chance.time(15_000, 25_000));
        let kill = Self::KillCoordinator(0, chance.time(500, 2_000));
        [(at, partition), (at + chance.time(10, 1_000), kill)]
    }

    /// The name without its figures.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::KillWorker(..) => "kill a worker",
            Self::KillCoordinator(..) => "kill the coordinator",
            Self::Partition(..) => "partition",
            Self::Mute(..) => "mute",
            Self::Deaf(..) => "deaf",
            Self::Hold(..) => "hold",
            Self::Cut(..) => "cut",
            Self::Slow(..) => "slow",
            Self::StoreStalls(_) => "store stalls",
            Self::StoreErrors(_) => "store errors",
            Self::Storm(_) => "storm",
            Self::ClockStep(_) => "clock step",
            Self::Drain(..) => "drain",
            Self::Apart(_) => "coordinators apart",
            Self::StoreAway(..) => "store away",
            Self::Move(_) => "move",
            Self::PauseWorker(..) => "pause a worker",
            Self::PauseCoordinator(..) => "pause a coordinator",
            Self::LoseGrant(_) => "lose a grant",
            Self::LateCommit(_) => "late commit",
        }
    }
}
