//! Results on their way to the coordinator: batched, numbered, and kept until they are acknowledged.
//!
//! Delivery is at least once: a new stream sends every unacknowledged batch again, under its old number, and the store
//! counts each number once. So a batch never changes after it is closed, unless the coordinator refuses it.
//!
//! Memory has a bound in bytes. Above it [`Admission`] admits no call, so no new turn starts. Nothing is dropped: a turn
//! that was played has cost money, and may be the only evidence of a failure.
//!
//! Each turn and each end of a trial has its own bound, and a batch closes with the item that makes it large enough.
//! So a batch is never larger than a message. [`batches`] makes batches; [`refusals`] handles those that the coordinator
//! refuses.
//!
//! Lock order: the state is one mutex, held for a few statements and never across an await. Under it only [`Admission`] and
//! [`Purses`] are called, which have their own locks and call nothing back.

mod batches;
mod refusals;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicI64, Ordering},
    },
};

use llm::money::Purses;
use proto::{Chunks, ended::Ended, segment, v1};
use record::{Call, Trial, Turn, Usd, bounds, call::Spend};
use scenario::RunId;
use tokio::sync::Notify;

use crate::{admission::Admission, record_redaction};

/// From this many unacknowledged bytes on, no new turn starts. Estimated from the texts.
const FULL_BYTES: usize = 16 << 20;
/// A batch is closed at this size. After a lost connection, all of it is sent again.
const BATCH_BYTES: usize = 256 << 10;
/// The same on a quick link. Larger batches make fewer commits, and cut fewer conversations into pieces.
const QUICK_BATCH_BYTES: usize = 1 << 20;
/// While so many batches are not acknowledged, results wait for a larger one: a slow disk takes its time for each commit,
/// however small.
const MOST_WAITING: usize = 2;

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
    admission: Admission,
    metrics: telemetry::metrics::Worker,
    owed: Owed,
}

/// The cost of calls that no acknowledged batch includes, in nano-dollars.
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
    /// The last batch that went to the stream.
    given: u64,
    /// In which batches the turns of unfinished attempts are.
    pieces: BTreeMap<Attempt, Vec<v1::Piece>>,
    /// Attempts whose record the coordinator refused, and its reason. They end as errors.
    refused: BTreeMap<Attempt, String>,
    bytes: usize,
    /// The link is known to carry a large batch in four seconds.
    is_quick: bool,
    purses: Arc<Purses>,
}

/// Results of one run that are in no batch yet.
#[derive(Debug, Default)]
struct Pending {
    /// Encoded as they come: the task that sends batches also starts arrivals, and has no time to encode many.
    turns: BTreeMap<(u64, u32), segment::Turns>,
    /// Without the places of their turns, which are known when the batch is closed.
    ended: Vec<Ended>,
    spend: Spend,
    count: u32,
    bytes: usize,
}

#[derive(Debug)]
struct Closed {
    /// Without its segment and its ended trials.
    batch: v1::Batch,
    turns: Vec<segment::Piece>,
    ended: Vec<Ended>,
    cost: Usd,
    bytes: usize,
    /// Attempts whose content was removed after a refusal.
    silent: BTreeSet<Attempt>,
    /// How often it was refused without a trial at fault.
    refusals: u32,
}

impl Outbox {
    pub(crate) fn new(admission: Admission) -> Self {
        let metrics = telemetry::metrics::Worker::default();
        Self { state: Arc::default(), something: Arc::default(), admission, metrics, owed: Owed::default() }
    }

    /// Each batch says what became of the money of its run.
    pub(crate) fn paid_from(self, purses: &Arc<Purses>) -> Self {
        self.lock().purses = Arc::clone(purses);
        self
    }

    /// Shows in the metrics how much is not acknowledged.
    pub(crate) fn shown_to(self, metrics: telemetry::metrics::Worker) -> Self {
        Self { metrics, ..self }
    }

    pub(crate) fn owed(&self) -> &Owed {
        &self.owed
    }

    /// Takes a finished turn with its cost. Conversations may still be judged later.
    pub(crate) fn turn(&self, attempt: &Attempt, mut turn: Turn) {
        fail::fail_point!("turn-unrecorded");
        record_redaction::turn(&mut turn);
        bounds::turn(&mut turn);
        let mut state = self.lock();
        let bytes = bounds::size_of_turn(&turn);
        state.bytes += bytes;
        self.admission.set_full(state.bytes >= FULL_BYTES);
        let batch_bytes = state.batch_bytes();
        let pending = state.pending.entry(attempt.run.clone()).or_default();
        for call in &turn.calls {
            pending.spend.add_call(call);
        }
        pending.turns.entry((attempt.trial, attempt.epoch)).or_default().push(turn);
        pending.count += 1;
        pending.bytes += bytes;
        if pending.bytes >= batch_bytes {
            // Without a stream much can come together, and a message has a bound.
            state.close(&attempt.run);
        }
        self.metrics.outbox(state.bytes);
        drop(state);
        self.something.notify_one();
    }

    /// Takes calls that precede the first turn.
    pub(crate) fn spent(&self, run: &RunId, mut calls: Vec<Call>) {
        if calls.is_empty() {
            return;
        }
        calls.iter_mut().for_each(record_redaction::call);
        let mut state = self.lock();
        let pending = state.pending.entry(run.clone()).or_default();
        calls.iter().for_each(|call| pending.spend.add_call(call));
        drop(state);
        self.something.notify_one();
    }

    /// Takes the end of a trial, after its turns.
    pub(crate) fn ended(&self, run: &RunId, mut trial: Trial) {
        fail::fail_point!("trial-unrecorded");
        record_redaction::trial(&mut trial);
        bounds::end(&mut trial);
        let bytes = bounds::size_of_end(&trial);
        let ended = Ended::from(trial);
        let mut state = self.lock();
        state.bytes += bytes;
        self.admission.set_full(state.bytes >= FULL_BYTES);
        let batch_bytes = state.batch_bytes();
        let pending = state.pending.entry(run.clone()).or_default();
        pending.ended.push(ended);
        pending.bytes += bytes;
        if pending.bytes >= batch_bytes {
            state.close(run);
        }
        self.metrics.unacknowledged(state.ended());
        self.metrics.outbox(state.bytes);
        drop(state);
        fail::fail_point!("trial-recorded");
        self.something.notify_one();
    }

    /// Forgets attempts that will not end here. What they have cost is still sent.
    pub(crate) fn forget(&self, gone: impl Fn(&Attempt) -> bool) {
        let mut state = self.lock();
        for (run, pending) in &mut state.pending {
            pending.ended.retain(|trial| !gone(&attempt_of(run, trial)));
        }
        // Their turns go into batches first: closing a batch later would list their pieces again.
        state.close_all();
        state.pieces.retain(|attempt, _| !gone(attempt));
        state.refused.retain(|attempt, _| !gone(attempt));
    }

    /// Forgets everything: the session is over, so none of it can be counted.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        let purses = Arc::clone(&state.purses);
        let gone = std::mem::replace(&mut *state, State { purses, ..State::default() });
        drop(state);
        gone.closed.iter().for_each(|closed| self.owed.settle(closed.cost));
        gone.pending.values().for_each(|pending| self.owed.settle(pending.spend.cost()));
        self.metrics.unacknowledged(0);
        self.metrics.outbox(0);
        self.admission.set_full(false);
    }

    /// Waits until there is something to send.
    pub(crate) async fn wait(&self) {
        // Checked first: results of a broken stream may remain, and their notification was consumed.
        while !self.has_something() {
            self.something.notified().await;
        }
    }

    /// The next batch for this stream, encoded.
    pub(crate) fn next_encoded(&self) -> Option<Chunks> {
        self.lock().give().map(Closed::encoded)
    }

    /// The next batch, for a worker without a stream.
    pub(crate) fn next(&self) -> Option<v1::Batch> {
        self.lock().give().map(Closed::to_batch)
    }

    /// How large the next batches may be.
    pub(crate) fn set_quick(&self, is_quick: bool) {
        self.lock().is_quick = is_quick;
    }

    /// Starts a new stream: everything that is not acknowledged is sent again.
    pub(crate) fn rewind(&self) {
        let mut state = self.lock();
        state.given = state.closed.front().map_or(state.last_sequence, |closed| closed.batch.sequence - 1);
        state.is_quick = false;
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
        self.admission.set_full(state.bytes >= FULL_BYTES);
        self.metrics.unacknowledged(state.ended());
        self.metrics.outbox(state.bytes);
        drop(state);
        // Results may have waited for it.
        self.something.notify_one();
    }

    /// Attempts that have ended and are not committed. The worker still holds them.
    pub(crate) fn unacknowledged_attempts(&self) -> Vec<Attempt> {
        let state = self.lock();
        let pending =
            state.pending.iter().flat_map(|(run, pending)| pending.ended.iter().map(|trial| attempt_of(run, trial)));
        pending.chain(state.closed.iter().flat_map(Closed::ended)).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.pending.is_empty() && state.closed.is_empty()
    }

    /// Whether a full batch waits, so that waiting for more gains nothing.
    pub(crate) fn is_heavy(&self) -> bool {
        self.lock().has_closed()
    }

    fn has_something(&self) -> bool {
        let state = self.lock();
        state.has_closed() || state.may_close() && !state.pending.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned lock means that a thread panicked between two statements of this file. The counts could be wrong,
        // so stopping is safer.
        self.state.lock().expect("no panic happens while the outbox is locked")
    }
}

impl Closed {
    fn encoded(&self) -> Chunks {
        proto::ended::batch_with(&self.batch, &self.turns, &self.ended)
    }

    fn to_batch(&self) -> v1::Batch {
        let ended = self.ended.iter().map(Ended::decoded).collect();
        v1::Batch { segment: segment::of(&self.turns), ended, ..self.batch.clone() }
    }

    /// The attempts that have turns in it, in order.
    fn said(&self) -> impl Iterator<Item = Attempt> {
        let run = RunId::new(self.batch.run.as_str());
        self.turns.iter().map(move |piece| Attempt { run: run.clone(), trial: piece.trial, epoch: piece.epoch })
    }

    /// The attempts that end in it.
    fn ended(&self) -> impl Iterator<Item = Attempt> {
        let run = RunId::new(self.batch.run.as_str());
        self.ended.iter().map(move |trial| attempt_of(&run, trial))
    }
}

fn attempt_of(run: &RunId, trial: &Ended) -> Attempt {
    Attempt { run: run.clone(), trial: trial.number, epoch: trial.epoch }
}

#[cfg(test)]
mod tests;
