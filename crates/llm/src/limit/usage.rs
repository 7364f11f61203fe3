//! What this process uses of its limits and what it lacks, for the coordinator that divides them.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::amount::{Amount, Counted};

/// All of a rate, in the unit of [`Demand::part`].
pub const WHOLE: u32 = 1_000_000_000;
/// A worker asks for a little more than it used.
const HEADROOM: f64 = 1.25;
/// Calls that wait should have started after so many seconds.
const BACKLOG_SECONDS: f64 = 2.0;
const STEPS: f64 = 10_000.0;
/// A change that is worth a message before the next heartbeat.
const WORTH: u32 = WHOLE / 50;
/// Between two such messages.
const BETWEEN_NEWS: Duration = Duration::from_millis(100);

/// What this process needs of a limit that it shares with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Of requests and tokens a minute, in billionths of the whole limit.
    pub part: u32,
    /// Calls in flight or waiting.
    pub calls: u32,
    /// The limit of calls at the same time; 0: none, or none that is divided by number.
    pub concurrency: u32,
}

/// The limit of a minute for each of [`Counted::ALL`], if there is one.
pub(super) type Rates = [Option<u64>; Counted::ALL.len()];

#[derive(Debug)]
pub(super) struct Usage(Mutex<State>);

#[derive(Debug)]
struct State {
    since: Instant,
    taken: [u64; Counted::ALL.len()],
    waiting: [u64; Counted::ALL.len()],
    calls: u32,
    /// The most calls since then.
    peak: u32,
    /// The used part of the tightest limit, at the last heartbeat.
    used: f64,
    said: Demand,
    told: Option<Instant>,
}

/// A call that waits or is in flight.
#[derive(Debug)]
pub(super) struct Counting {
    usage: Arc<Usage>,
    estimate: Amount,
    waits: bool,
}

impl Usage {
    pub(super) fn new() -> Arc<Self> {
        // Before anything is known, a process asks for all that it can get.
        let said = Demand { part: WHOLE, calls: 0, concurrency: 0 };
        Arc::new(Self(Mutex::new(State {
            since: Instant::now(),
            taken: Default::default(),
            waiting: Default::default(),
            calls: 0,
            peak: 0,
            used: 1.0,
            said,
            told: None,
        })))
    }

    pub(super) fn comes(self: &Arc<Self>, estimate: Amount) -> Counting {
        let mut state = self.lock();
        for (counted, waiting) in Counted::ALL.into_iter().zip(&mut state.waiting) {
            *waiting = waiting.saturating_add(counted.of(&estimate));
        }
        state.calls += 1;
        state.peak = state.peak.max(state.calls);
        Counting { usage: Arc::clone(self), estimate, waits: true }
    }

    /// Whether more is needed than was said, and it was not said just now.
    pub(super) fn has_news(&self, rates: &Rates) -> bool {
        let mut state = self.lock();
        let now = Instant::now();
        let is_soon = state.told.is_some_and(|told| now.duration_since(told) < BETWEEN_NEWS);
        let more = state.part(rates) > state.said.part.saturating_add(WORTH) || state.calls > state.said.calls;
        if more && !is_soon {
            state.told = Some(now);
        }
        more && !is_soon
    }

    /// `beat`: a heartbeat is due, which measures what was used. `concurrency`: the limit that is divided by number, or 0.
    pub(super) fn demand(&self, rates: &Rates, concurrency: u32, beat: bool) -> Demand {
        let mut state = self.lock();
        let now = Instant::now();
        let minutes = now.duration_since(state.since).as_secs_f64() / 60.0;
        if beat && minutes > 0.0 {
            let used = rates.iter().zip(&state.taken).filter_map(|(rate, taken)| Some(*taken as f64 / (*rate)? as f64));
            state.used = (used.fold(0.0, f64::max) / minutes).max(state.used / 2.0).min(1.0);
            state.taken = Default::default();
            state.since = now;
        }
        let part = if rates.iter().any(Option::is_some) { state.part(rates) } else { WHOLE };
        let calls = if concurrency > 0 { state.peak.max(state.calls) } else { 0 };
        if beat {
            state.peak = state.calls;
        }
        state.said = Demand { part, calls, concurrency };
        state.said
    }

    /// The numbers are consistent even if a holder of the lock panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What was used, with a little more, and what it takes to let the waiting calls start soon.
    fn part(&self, rates: &Rates) -> u32 {
        let backlog =
            |(rate, waiting): (&Option<u64>, &u64)| Some(*waiting as f64 / ((*rate)? as f64 / 60.0 * BACKLOG_SECONDS));
        let backlog = rates.iter().zip(&self.waiting).filter_map(backlog).fold(0.0, f64::max);
        let part = (self.used * HEADROOM + backlog).min(1.0);
        // In small steps: of a hundred workers, each has a hundredth.
        (part * STEPS).ceil() as u32 * (WHOLE / STEPS as u32)
    }
}

impl Counting {
    /// The call starts.
    pub(super) fn starts(&mut self) {
        let mut state = self.usage.lock();
        self.waits = false;
        for (place, counted) in Counted::ALL.into_iter().enumerate() {
            let amount = counted.of(&self.estimate);
            state.waiting[place] = state.waiting[place].saturating_sub(amount);
            state.taken[place] = state.taken[place].saturating_add(amount);
        }
    }

    /// The call is over, and used this much.
    pub(super) fn settle(&self, actual: &Amount) {
        let mut state = self.usage.lock();
        for (place, counted) in Counted::ALL.into_iter().enumerate() {
            let (estimate, actual) = (counted.of(&self.estimate), counted.of(actual));
            state.taken[place] = state.taken[place].saturating_sub(estimate).saturating_add(actual);
        }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let mut state = self.usage.lock();
        state.calls = state.calls.saturating_sub(1);
        if self.waits {
            for (counted, waiting) in Counted::ALL.into_iter().zip(&mut state.waiting) {
                *waiting = waiting.saturating_sub(counted.of(&self.estimate));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = [Some(60), None, None, None];

    #[tokio::test(start_paused = true)]
    async fn demand_follows_use_and_backlog() {
        let usage = Usage::new();
        let part = |beat| usage.demand(&RATES, 0, beat).part / (WHOLE / 100);
        assert_eq!(part(false), 100, "nothing is known yet");
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(2)).await;
            part(true);
        }
        assert_eq!(part(false), 0, "nothing is used");
        assert!(!usage.has_news(&RATES));
        let mut first = usage.comes(Amount::default());
        assert!(usage.has_news(&RATES), "a call waits");
        assert_eq!(part(false), 50, "one of two that start in two seconds");
        let second = usage.comes(Amount::default());
        assert_eq!(part(false), 100);
        first.starts();
        drop(second);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(part(true), 62, "one in two seconds, and a quarter more");
        drop(first);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_count_from_their_wait_to_their_end() {
        let usage = Usage::new();
        let calls = |beat| usage.demand(&[None; 4], 8, beat).calls;
        let mut held: Vec<Counting> = (0..3).map(|_| usage.comes(Amount::default())).collect();
        held.iter_mut().for_each(Counting::starts);
        assert_eq!(calls(false), 3);
        held.clear();
        assert_eq!((calls(true), calls(false)), (3, 0), "the most since the last heartbeat");
        assert_eq!(usage.demand(&[None; 4], 0, true), Demand { part: WHOLE, calls: 0, concurrency: 0 });
    }
}
