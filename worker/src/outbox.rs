//! Results on their way to the coordinator: batched, numbered, kept until they are acknowledged.
//!
//! The bound is on bytes: when it is reached the [`Gate`] closes, so that no new turn starts. Nothing is dropped.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicI64, Ordering},
    },
};

use proto::v1;
use record::{Call, Trial, Turn, Usd, call::Spend};
use scenario::RunId;
use tokio::sync::Notify;

use crate::{gate::Gate, redact};

/// Unacknowledged bytes at which no new turn starts, as estimated from the texts.
const FULL_BYTES: usize = 64 << 20;
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
    ended: Vec<Attempt>,
    cost: Usd,
    bytes: usize,
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
        let mut state = self.lock();
        let bytes = size_of_turn(&turn);
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
        let mut state = self.lock();
        let bytes = size_of_end(&trial);
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

impl State {
    /// Whether a batch waits for the stream.
    fn has_closed(&self) -> bool {
        self.last_sequence > self.given
    }

    /// Trials whose end is not acknowledged.
    fn ended(&self) -> usize {
        let pending = self.pending.values().map(|pending| pending.ended.len());
        pending.chain(self.closed.iter().map(|closed| closed.ended.len())).sum()
    }

    fn close_all(&mut self) {
        while let Some(run) = self.pending.keys().next().cloned() {
            self.close(&run);
        }
    }

    fn close(&mut self, run: &RunId) {
        let Some(pending) = self.pending.remove(run) else { return };
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        let keys: Vec<(u64, u32)> = pending.turns.keys().copied().collect();
        let parts = pending.turns.into_iter().map(|((trial, epoch), turns)| (trial, epoch, turns));
        let (segment, lengths) = proto::segment::encode(parts);
        for (place, ((trial, epoch), bytes)) in (0..).zip(keys.into_iter().zip(lengths)) {
            let attempt = Attempt { run: run.clone(), trial, epoch };
            self.pieces.entry(attempt).or_default().push(v1::Piece { sequence, place, bytes });
        }
        let mut attempts = Vec::with_capacity(pending.ended.len());
        let mut ended = Vec::with_capacity(pending.ended.len());
        for trial in pending.ended {
            let attempt = attempt_of(run, &trial);
            let pieces = self.pieces.remove(&attempt).unwrap_or_default();
            ended.push(proto::trial::to_wire(trial, pieces));
            attempts.push(attempt);
        }
        let cost = pending.spend.cost();
        let batch = v1::Batch {
            sequence,
            run: run.as_str().to_owned(),
            segment,
            turns: pending.count,
            ended,
            spend: proto::trial::spend_to_wire(pending.spend),
        };
        self.closed.push_back(Closed { batch, ended: attempts, cost, bytes: pending.bytes });
    }
}

fn attempt_of(run: &RunId, trial: &Trial) -> Attempt {
    Attempt { run: run.clone(), trial: trial.number, epoch: trial.epoch }
}

fn size_of_end(trial: &Trial) -> usize {
    let judgments = trial.judgments.iter();
    let words = judgments.map(|one| 100 + one.reason.len() + one.evidence.as_ref().map_or(0, String::len));
    300 + words.sum::<usize>()
}

fn size_of_turn(turn: &Turn) -> usize {
    let notes: usize = turn.notes.iter().map(|note| note.text.len()).sum();
    let tools: usize = turn.tool_calls.iter().map(|call| call.arguments.len() + call.name.len()).sum();
    let messages: usize = turn.messages.iter().map(|said| 10 + said.text.len()).sum();
    200 + turn.user.len() + turn.agent.as_ref().map_or(0, String::len) + messages + notes + tools
}

#[cfg(test)]
mod tests {
    use record::{Verdict, turn::Speaker};
    use scenario::{CaseId, Strategy, TrialId};

    use super::*;

    fn turn(number: u32) -> Turn {
        Turn {
            number,
            step: 1,
            speaker: Speaker::Scripted,
            user: "hello".into(),
            agent: Some("hi".into()),
            messages: Vec::new(),
            exit_code: None,
            tool_calls: vec![],
            actions: vec![],
            started_micros: 0,
            duration_micros: 0,
            calls: vec![],
            notes: vec![],
        }
    }

    fn trial(number: u64) -> Trial {
        Trial {
            number,
            trial_id: TrialId::new("t"),
            case_id: CaseId::new("c"),
            case: 0,
            repeat: 0,
            epoch: 1,
            seed: 0,
            verdict: Verdict::Pass,
            failure: None,
            strategy: Strategy::AllPass,
            termination_reason: None,
            turns: 2,
            conversations: 0,
            duration_ms: 0,
            latencies: vec![],
            unanswered: 0,
            spend: Spend::default(),
            pace: Default::default(),
            judgments: vec![],
            keep_transcript: true,
            exhausted: false,
        }
    }

    fn attempt(trial: u64) -> Attempt {
        Attempt { run: RunId::new("r"), trial, epoch: 1 }
    }

    fn sequences(outbox: &Outbox) -> Vec<u64> {
        std::iter::from_fn(|| outbox.next()).map(|batch| batch.sequence).collect()
    }

    #[test]
    fn an_ended_trial_says_where_its_turns_are() {
        let outbox = Outbox::new(Gate::new());
        outbox.turn(&attempt(7), turn(1));
        assert_eq!(sequences(&outbox), [1]);
        outbox.turn(&attempt(7), turn(2));
        outbox.turn(&attempt(5), turn(1));
        outbox.ended(&RunId::new("r"), trial(7));
        assert_eq!(outbox.unacknowledged_attempts(), [attempt(7)]);
        let batch = outbox.next().unwrap();
        let places: Vec<_> = batch.ended[0].pieces.iter().map(|piece| (piece.sequence, piece.place)).collect();
        assert_eq!(places, [(1, 0), (2, 1)]);
        let words = proto::segment::pieces(batch.segment).unwrap().remove(1);
        assert_eq!(batch.ended[0].pieces[1].bytes as usize, words.len());
        assert_eq!(proto::segment::turns_of(words, 7, 1).unwrap()[0].number, 2);
        assert_eq!(outbox.unacknowledged_attempts(), [attempt(7)]);
        outbox.acknowledged(1);
        assert_eq!(outbox.unacknowledged_attempts(), [attempt(7)]);
        outbox.acknowledged(2);
        assert!(outbox.is_empty() && outbox.next().is_none());
    }

    #[test]
    fn a_new_stream_is_given_what_is_not_acknowledged() {
        let outbox = Outbox::new(Gate::new());
        for number in 1..=3 {
            outbox.turn(&attempt(7), turn(number));
            assert_eq!(sequences(&outbox), [u64::from(number)]);
        }
        outbox.acknowledged(1);
        outbox.rewind();
        outbox.turn(&attempt(7), turn(4));
        assert_eq!(sequences(&outbox), [2, 3, 4]);
        // What was committed before the stream broke is known when the next one has begun.
        outbox.rewind();
        outbox.acknowledged(3);
        assert_eq!(sequences(&outbox), [4]);
        outbox.acknowledged(4);
        outbox.rewind();
        assert!(outbox.next().is_none() && !outbox.has_something());
        outbox.turn(&attempt(7), turn(5));
        assert_eq!(sequences(&outbox), [5]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_broken_stream_left_is_waited_for_no_more() {
        let outbox = Outbox::new(Gate::new());
        outbox.turn(&attempt(7), turn(1));
        outbox.wait().await;
        // The stream broke here: the word was said, but nothing was sent.
        outbox.wait().await;
        outbox.next().unwrap();
        outbox.rewind();
        outbox.wait().await;
    }

    #[test]
    fn what_calls_cost_is_owed_until_it_is_acknowledged() {
        let outbox = Outbox::new(Gate::new());
        let costs = |nanos| record::Call { cost: Some(Usd(nanos)), ..crate::fakes::call() };
        for (number, nanos) in [(1, 100), (2, 20), (3, 3)] {
            outbox.owed().add(&costs(nanos));
            outbox.turn(&attempt(7), Turn { calls: vec![costs(nanos)], ..turn(number) });
            assert_eq!(sequences(&outbox), [u64::from(number)]);
        }
        outbox.owed().add(&costs(4_000));
        assert_eq!(outbox.owed().nanos(), 4_123);
        outbox.acknowledged(2);
        assert_eq!(outbox.owed().nanos(), 4_003);
        // The session is over; what is played on is owed to the next one.
        outbox.clear();
        assert_eq!(outbox.owed().nanos(), 4_000);
        outbox.spent(&RunId::new("r"), vec![costs(4_000)]);
        sequences(&outbox);
        outbox.acknowledged(1);
        assert_eq!(outbox.owed().nanos(), 0);
    }

    #[test]
    fn a_batch_has_a_bound() {
        let outbox = Outbox::new(Gate::new());
        let long = Turn { user: "x".repeat(BATCH_BYTES / 3), ..turn(1) };
        for number in 0..30 {
            outbox.turn(&attempt(number), long.clone());
            outbox.ended(&RunId::new("r"), trial(number));
        }
        let batches: Vec<v1::Batch> = std::iter::from_fn(|| outbox.next()).collect();
        assert!((10..=11).contains(&batches.len()), "{}", batches.len());
        assert!(batches.iter().all(|batch| batch.segment.len() < 2 * BATCH_BYTES));
        assert_eq!(batches.iter().map(|batch| batch.ended.len()).sum::<usize>(), 30);
        assert!(batches.iter().flat_map(|batch| &batch.ended).all(|end| end.pieces.len() == 1));
    }

    #[test]
    fn an_attempt_that_is_gone_does_not_end_but_costs() {
        let outbox = Outbox::new(Gate::new());
        outbox.turn(&attempt(7), turn(1));
        sequences(&outbox);
        outbox.turn(&attempt(7), turn(2));
        outbox.ended(&RunId::new("r"), trial(7));
        outbox.ended(&RunId::new("r"), trial(8));
        outbox.forget(|attempt| attempt.trial == 7);
        let batch = outbox.next().unwrap();
        assert_eq!((batch.turns, batch.ended.len(), batch.ended[0].number), (1, 1, 8));
        assert!(outbox.lock().pieces.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_buffer_closes_the_gate_until_it_is_acknowledged() {
        let gate = Gate::new();
        let outbox = Outbox::new(gate.clone());
        let huge = Turn { user: "x".repeat(FULL_BYTES), ..turn(1) };
        outbox.turn(&attempt(0), huge);
        outbox.next();
        let closed = tokio::time::timeout(std::time::Duration::from_secs(1), gate.pass()).await;
        assert!(closed.is_err(), "no turn may start while the buffer is full");
        outbox.acknowledged(1);
        gate.pass().await;
    }
}
