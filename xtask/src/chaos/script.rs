//! The faults of a run, drawn before it: the same seed and round give the same script.

use std::{fmt, time::Duration};

use super::{chance::Chance, fault::Fault};

/// How often a coordinator in a crash loop comes down.
const CRASH_EVERY: Duration = Duration::from_secs(12);
const STORM_EVERY: Duration = Duration::from_millis(1_500);
/// The longest conversation survives no storm, so it must end in time for that one to be played afterwards.
const STORM_KILLS: u32 = 24;
/// Not before the workers play.
const FIRST: Duration = Duration::from_millis(500);

pub(crate) const ALL: usize = usize::MAX;

/// One strike. Times count from the moment when the coordinator has the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) at: Duration,
    pub(crate) fault: Fault,
    /// The worker that it strikes, if it strikes workers, or [`ALL`].
    pub(crate) worker: usize,
    /// The time until it heals, or until the process is restarted; `None`: never.
    pub(crate) lasts: Option<Duration>,
}

/// The given number of kills, and each other fault once, spread over the duration of an undisturbed run.
pub(crate) fn mixed(chance: &mut Chance, faults: &[Fault], kills: u32, workers: usize, window: Duration) -> Vec<Step> {
    let mut others: Vec<Fault> = faults.iter().copied().filter(|fault| !fault.is_kill() && !fault.is_case()).collect();
    chance.shuffle(&mut others);
    // Half of the kills strike only a worker.
    let weighted = [Fault::KillWorker, Fault::KillCoordinator, Fault::KillBoth, Fault::KillWorker];
    let weighted: Vec<Fault> = weighted.into_iter().filter(|fault| faults.contains(fault)).collect();
    let killing: Vec<Fault> = (0..kills).filter_map(|_| chance.pick(&weighted)).collect();
    let mut steps = spread(chance, &killing, workers, window);
    steps.extend(spread(chance, &others, workers, window));
    steps.sort_by_key(|step| step.at);
    steps
}

/// One worker is killed together with the coordinator and never comes back; then the coordinator comes down again and again.
pub(crate) fn crash_loop(until: Duration) -> Vec<Step> {
    let at_once = Some(Duration::from_millis(200));
    let mut steps = vec![
        Step { at: Duration::from_secs(3), fault: Fault::KillWorker, worker: 0, lasts: None },
        Step { at: Duration::from_secs(3), fault: Fault::KillCoordinator, worker: 0, lasts: at_once },
    ];
    let mut at = Duration::from_secs(3) + CRASH_EVERY;
    while at < until {
        steps.push(Step { at, fault: Fault::KillCoordinator, worker: 0, lasts: at_once });
        at += CRASH_EVERY;
    }
    steps
}

/// A worker, the coordinator, then both are killed, spread over the time.
pub(crate) fn one_of_each_kill(window: Duration) -> Vec<Step> {
    let lasts = Some(Duration::from_millis(500));
    let kills = [Fault::KillWorker, Fault::KillCoordinator, Fault::KillBoth];
    (1..).zip(kills).map(|(number, fault)| Step { at: window / 4 * number, fault, worker: 0, lasts }).collect()
}

/// Workers are killed faster than long conversations end, so that many trials are lost more than once.
pub(crate) fn kill_storm(chance: &mut Chance, workers: usize) -> Vec<Step> {
    let step = |number| Step {
        at: FIRST + STORM_EVERY * number,
        fault: Fault::KillWorker,
        worker: usize::try_from(chance.below(workers as u64)).unwrap_or(0),
        lasts: Some(chance.between(200, 1_000)),
    };
    (0..STORM_KILLS).map(step).collect()
}

/// Each in its share of the window, at a random moment.
fn spread(chance: &mut Chance, faults: &[Fault], workers: usize, window: Duration) -> Vec<Step> {
    let share_ms = u64::try_from(window.as_millis()).unwrap_or(u64::MAX) / (faults.len() as u64).max(1);
    let mut begin = FIRST;
    let mut steps = Vec::new();
    for fault in faults {
        let at = begin + chance.between(0, share_ms);
        begin += Duration::from_millis(share_ms);
        let (least_ms, most_ms) = lasts(chance, *fault);
        let worker = match fault {
            Fault::KillBoth if chance.one_in(3) => ALL,
            _ => usize::try_from(chance.below(workers as u64)).unwrap_or(0),
        };
        steps.push(Step { at, fault: *fault, worker, lasts: Some(chance.between(least_ms, most_ms)) });
    }
    steps
}

/// From how long to how long, in milliseconds.
fn lasts(chance: &mut Chance, fault: Fault) -> (u64, u64) {
    match fault {
        Fault::PauseWorker if chance.one_in(3) => (32_000, 36_000),
        Fault::PauseWorker => (1_000, 6_000),
        Fault::PauseCoordinator => (1_000, 4_000),
        Fault::KillWorker | Fault::KillBoth | Fault::StopWorker | Fault::StopCoordinator => (200, 2_000),
        Fault::Delay | Fault::Slow => (4_000, 10_000),
        Fault::Cut => (500, 6_000),
        Fault::HalfOpen => (3_000, 15_000),
        // A coordinator that comes back at once, and one that does not.
        _ => (100, 1_500),
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, fault, worker, lasts } = self;
        write!(f, "{:.1} s {}", at.as_secs_f64(), fault.name())?;
        if *worker == ALL {
            write!(f, " all")?;
        } else if fault.strikes_worker() {
            write!(f, " w{}", worker + 1)?;
        }
        match lasts {
            Some(lasts) => write!(f, " for {:.1} s", lasts.as_secs_f64()),
            None => write!(f, " for ever"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::fault::chosen;

    #[test]
    fn a_seed_and_a_round_give_one_script() {
        let window = Duration::from_secs(20);
        let draw = |seed, round| mixed(&mut Chance::new(seed, round), &chosen(&[]), 10, 3, window);
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(7, 1), "each round is another");
        assert_ne!(draw(7, 0), draw(8, 0), "each seed is another");
    }

    #[test]
    fn it_has_the_kills_and_each_other_fault_within_the_window() {
        let window = Duration::from_secs(20);
        for seed in 0..50 {
            let steps = mixed(&mut Chance::new(seed, 3), &chosen(&[Fault::All]), 10, 3, window);
            assert_eq!(steps.iter().filter(|step| step.fault.is_kill()).count(), 10);
            let mut others: Vec<Fault> = steps.iter().map(|step| step.fault).filter(|fault| !fault.is_kill()).collect();
            others.sort_unstable();
            let expected: Vec<Fault> =
                chosen(&[Fault::All]).into_iter().filter(|fault| !fault.is_kill() && !fault.is_case()).collect();
            assert_eq!(others, expected);
            assert!(steps.iter().all(|step| step.at >= FIRST && step.at <= window + FIRST), "{steps:?}");
            assert!(steps.is_sorted_by_key(|step| step.at));
        }
    }

    #[test]
    fn only_requested_faults_strike() {
        let steps = mixed(&mut Chance::new(1, 0), &[Fault::KillCoordinator, Fault::Cut], 4, 3, Duration::from_secs(20));
        assert_eq!(steps.iter().filter(|step| step.fault == Fault::KillCoordinator).count(), 4);
        assert_eq!(steps.iter().filter(|step| step.fault == Fault::Cut).count(), 1);
        assert_eq!(steps.len(), 5);
        assert!(mixed(&mut Chance::new(1, 0), &[Fault::Cut], 4, 3, Duration::from_secs(20)).len() == 1);
    }

    #[test]
    fn a_step_says_whom_it_strikes() {
        let step = |fault, worker, lasts_ms: u64| Step {
            at: Duration::from_millis(1_250),
            fault,
            worker,
            lasts: Some(Duration::from_millis(lasts_ms)),
        };
        assert_eq!(step(Fault::Cut, 1, 600).to_string(), "1.2 s cut w2 for 0.6 s");
        assert_eq!(step(Fault::StopCoordinator, 1, 600).to_string(), "1.2 s stop-coordinator for 0.6 s");
        assert_eq!(step(Fault::KillBoth, ALL, 600).to_string(), "1.2 s kill-both all for 0.6 s");
        let for_ever = Step { lasts: None, ..step(Fault::KillWorker, 0, 0) };
        assert_eq!(for_ever.to_string(), "1.2 s kill-worker w1 for ever");
    }

    #[test]
    fn a_crash_loop_continues() {
        let steps = crash_loop(Duration::from_secs(60));
        assert_eq!(steps[0].lasts, None, "the worker never comes back");
        let crashes: Vec<u64> = steps.iter().skip(1).map(|step| step.at.as_secs()).collect();
        assert_eq!(crashes, [3, 15, 27, 39, 51]);
    }
}
