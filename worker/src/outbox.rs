//! Results on their way to the coordinator: batched, numbered, kept until they are acknowledged.
//!
//! The bound is on bytes: when it is reached the [`Gate`] closes, so that no new turn starts. Nothing is dropped.
//!
//! Each turn and each end has a bound of its own, and a batch is closed with the one that makes it large enough, so a
//! batch is never larger than a message. [`batches`] makes them; [`refusals`] is what becomes of one that the
//! coordinator never takes.

mod batches;
mod refusals;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicI64, Ordering},
    },
};

use proto::v1;
use record::{Call, Trial, Turn, Usd, bounds, call::Spend};
use scenario::RunId;
use tokio::sync::Notify;

use crate::{gate::Gate, redact};

/// Unacknowledged bytes at which no new turn starts, as estimated from the texts.
const FULL_BYTES: usize = 16 << 20;
/// A batch is closed at this size.
const BATCH_BYTES: usize = 256 << 10;

/// An attempt: which trial of which run, and its fencing token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Attempt {
    pub(crate) run: RunId,
    pub(crate) trial: u64,
    pub(crate) epoch: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    state: Arc<Mutex<State>>,
    something: Arc<Notify>,
    gate: Gate,
    metrics: telemetry::metrics::Worker,
    owed: Owed,
}

/// What calls have cost and no batch that is acknowledged says, in nano-dollars.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owed(Arc<AtomicI64>);

impl Owed {
    /// A call is over; its turn is given to the outbox later.
    pub(crate) fn add(&self, call: &Call) {
        if let Some(Usd(nanos)) = call.cost.filter(|cost| *cost != Usd(0)) {
            self.0.fetch_add(nanos, Ordering::Relaxed);
        }
    }

    fn settle(&self, cost: Usd) {
        self.0.fetch_sub(cost.0, Ordering::Relaxed);
    }

    pub(crate) fn nanos(&self) -> i64 {
        self.0.load(Ordering::Relaxed).max(0)
    }
}

#[derive(Debug, Default)]
struct State {
    pending: BTreeMap<RunId, Pending>,
    /// Batches that are not acknowledged, oldest first.
    closed: VecDeque<Closed>,
    last_sequence: u64,
    /// The last batch that the stream has been given.
    given: u64,
    /// Where the turns are that went into batches, of attempts that have not ended.
    pieces: BTreeMap<Attempt, Vec<v1::Piece>>,
    /// Attempts whose record the coordinator refused, and why; they end as errors.
    refused: BTreeMap<Attempt, String>,
    bytes: usize,
}

/// What is not in a batch yet, for one run.
#[derive(Debug, Default)]
struct Pending {
    turns: BTreeMap<(u64, u32), Vec<Turn>>,
    ended: Vec<Trial>,
    spend: Spend,
    count: u32,
    bytes: usize,
}

#[derive(Debug)]
struct Closed {
    batch: v1::Batch,
    /// Whose turns each piece of the segment has, and how many.
    said: Vec<(Attempt, u32)>,
    ended: Vec<Attempt>,
    cost: Usd,
    bytes: usize,
    /// Attempts of which it says nothing any more, since it was refused.
    silent: BTreeSet<Attempt>,
    /// How often it was refused for what is not known.
    refusals: u32,
}

impl Outbox {
    pub(crate) fn new(gate: Gate) -> Self {
        let metrics = telemetry::metrics::Worker::default();
        Self { state: Arc::default(), something: Arc::default(), gate, metrics, owed: Owed::default() }
    }

    /// Lets others see how much is not acknowledged.
    pub(crate) fn shown_to(self, metrics: telemetry::metrics::Worker) -> Self {
        Self { metrics, ..self }
    }

    pub(crate) fn owed(&self) -> &Owed {
        &self.owed
    }

    /// A turn is over. Its words may still be judged, but everything that it cost is in it.
    pub(crate) fn turn(&self, attempt: &Attempt, mut turn: Turn) {
        redact::turn(&mut turn);
        bounds::turn(&mut turn);
        let mut state = self.lock();
        let bytes = bounds::size_of_turn(&turn);
        state.bytes += bytes;
        self.gate.set_full(state.bytes >= FULL_BYTES);
        let pending = state.pending.entry(attempt.run.clone()).or_default();
        for call in &turn.calls {
            pending.spend.add_call(call);
        }
        pending.turns.entry((attempt.trial, attempt.epoch)).or_default().push(turn);
        pending.count += 1;
        pending.bytes += bytes;
        if pending.bytes >= BATCH_BYTES {
            // While there is no stream much can come together, and a message has a bound.
            state.close(&attempt.run);
        }
        drop(state);
        self.something.notify_one();
    }

    /// Calls were made that are in no turn: there was none yet.
    pub(crate) fn spent(&self, run: &RunId, mut calls: Vec<Call>) {
        if calls.is_empty() {
            return;
        }
        calls.iter_mut().for_each(redact::call);
        let mut state = self.lock();
        let pending = state.pending.entry(run.clone()).or_default();
        calls.iter().for_each(|call| pending.spend.add_call(call));
        drop(state);
        self.something.notify_one();
    }

    /// A trial is over; its turns were given before.
    pub(crate) fn ended(&self, run: &RunId, mut trial: Trial) {
        redact::trial(&mut trial);
        bounds::end(&mut trial);
        let mut state = self.lock();
        let bytes = bounds::size_of_end(&trial);
        state.bytes += bytes;
        self.gate.set_full(state.bytes >= FULL_BYTES);
        let pending = state.pending.entry(run.clone()).or_default();
        pending.ended.push(trial);
        pending.bytes += bytes;
        if pending.bytes >= BATCH_BYTES {
            state.close(run);
        }
        self.metrics.unacknowledged(state.ended());
        drop(state);
        self.something.notify_one();
    }

    /// Attempts that will not end here: somebody else plays them, or nobody. What they cost is still sent.
    pub(crate) fn forget(&self, gone: impl Fn(&Attempt) -> bool) {
        let mut state = self.lock();
        for (run, pending) in &mut state.pending {
            pending.ended.retain(|trial| !gone(&attempt_of(run, trial)));
        }
        // What they said goes into batches first, since that would name them anew.
        state.close_all();
        state.pieces.retain(|attempt, _| !gone(attempt));
        state.refused.retain(|attempt, _| !gone(attempt));
    }

    /// Forgets everything: the session is over, so nothing of it counts any more.
    pub(crate) fn clear(&self) {
        let gone = std::mem::take(&mut *self.lock());
        gone.closed.iter().for_each(|closed| self.owed.settle(closed.cost));
        gone.pending.values().for_each(|pending| self.owed.settle(pending.spend.cost()));
        self.metrics.unacknowledged(0);
        self.gate.set_full(false);
    }

    /// Waits until something is to be sent.
    pub(crate) async fn wait(&self) {
        // What was notified once may still be there when a stream broke before it was sent.
        while !self.has_something() {
            self.something.notified().await;
        }
    }

    /// The next batch for this stream, if there is anything to send.
    pub(crate) fn next(&self) -> Option<v1::Batch> {
        let mut state = self.lock();
        if !state.has_closed() {
            state.close_all();
        }
        let first = state.closed.front()?.batch.sequence;
        let next = usize::try_from((state.given + 1).checked_sub(first)?).ok()?;
        let batch = state.closed.get(next)?.batch.clone();
        state.given = batch.sequence;
        Some(batch)
    }

    /// A new stream has been given nothing: what is not acknowledged is sent again.
    pub(crate) fn rewind(&self) {
        let mut state = self.lock();
        state.given = state.closed.front().map_or(state.last_sequence, |closed| closed.batch.sequence - 1);
    }

    /// Everything up to `sequence` is committed.
    pub(crate) fn acknowledged(&self, sequence: u64) {
        let mut state = self.lock();
        while state.closed.front().is_some_and(|closed| closed.batch.sequence <= sequence) {
            if let Some(closed) = state.closed.pop_front() {
                state.bytes = state.bytes.saturating_sub(closed.bytes);
                self.owed.settle(closed.cost);
            }
        }
        state.given = state.given.max(sequence.min(state.last_sequence));
        self.gate.set_full(state.bytes >= FULL_BYTES);
        self.metrics.unacknowledged(state.ended());
    }

    /// Attempts that ended and whose end is not committed: they are still held.
    pub(crate) fn unacknowledged_attempts(&self) -> Vec<Attempt> {
        let state = self.lock();
        let pending =
            state.pending.iter().flat_map(|(run, pending)| pending.ended.iter().map(|trial| attempt_of(run, trial)));
        let closed = state.closed.iter().flat_map(|closed| closed.ended.iter().cloned());
        pending.chain(closed).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.pending.is_empty() && state.closed.is_empty()
    }

    /// Whether enough is pending that waiting for more would not pay.
    pub(crate) fn is_heavy(&self) -> bool {
        self.lock().has_closed()
    }

    fn has_something(&self) -> bool {
        let state = self.lock();
        state.has_closed() || !state.pending.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned lock means that a thread panicked between two statements of this file; the counts
        // could be wrong then, so going on would be worse than stopping.
        self.state.lock().expect("no panic happens while the outbox is locked")
    }
}

fn attempt_of(run: &RunId, trial: &Trial) -> Attempt {
    Attempt { run: run.clone(), trial: trial.number, epoch: trial.epoch }
}

#[cfg(test)]
mod tests;
