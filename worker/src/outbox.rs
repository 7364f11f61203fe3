//! Results on their way to the coordinator: batched, numbered, kept until they are acknowledged.
//!
//! The bound is on bytes: when it is reached the [`Gate`] closes, so that no new turn starts. Nothing is dropped.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use proto::v1;
use record::{Trial, Turn, call::Spend};
use scenario::RunId;
use tokio::sync::Notify;

use crate::gate::Gate;

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
}

#[derive(Debug, Default)]
struct State {
    pending: BTreeMap<RunId, Pending>,
    /// Batches that are not acknowledged, oldest first.
    sent: VecDeque<Sent>,
    last_sequence: u64,
    /// The batch that holds the first turn of an attempt that has not ended.
    first_sequences: BTreeMap<Attempt, u64>,
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
struct Sent {
    batch: v1::Batch,
    ended: Vec<Attempt>,
    bytes: usize,
}

impl Outbox {
    pub(crate) fn new(gate: Gate) -> Self {
        Self { state: Arc::default(), something: Arc::default(), gate }
    }

    /// A turn is over. Its words may still be judged, but everything that it cost is in it.
    pub(crate) fn turn(&self, attempt: &Attempt, turn: Turn) {
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
        drop(state);
        self.something.notify_one();
    }

    /// A trial is over; its turns were given before.
    pub(crate) fn ended(&self, run: &RunId, trial: Trial) {
        let mut state = self.lock();
        let pending = state.pending.entry(run.clone()).or_default();
        pending.ended.push(trial);
        drop(state);
        self.something.notify_one();
    }

    /// Forgets everything: the session is over, so nothing of it counts any more.
    pub(crate) fn clear(&self) {
        *self.lock() = State::default();
        self.gate.set_full(false);
    }

    /// Waits until something is to be sent.
    pub(crate) async fn wait(&self) {
        self.something.notified().await;
    }

    /// Closes what is pending into batches and returns them, to be sent in this order.
    pub(crate) fn take(&self) -> Vec<v1::Batch> {
        let mut state = self.lock();
        let pending = std::mem::take(&mut state.pending);
        let mut batches = Vec::new();
        for (run, pending) in pending {
            batches.push(state.close(run, pending));
        }
        batches
    }

    /// Everything up to `sequence` is committed.
    pub(crate) fn acknowledged(&self, sequence: u64) {
        let mut state = self.lock();
        while state.sent.front().is_some_and(|sent| sent.batch.sequence <= sequence) {
            if let Some(sent) = state.sent.pop_front() {
                state.bytes = state.bytes.saturating_sub(sent.bytes);
            }
        }
        self.gate.set_full(state.bytes >= FULL_BYTES);
    }

    /// What a new stream must send again, oldest first.
    pub(crate) fn unacknowledged(&self) -> Vec<v1::Batch> {
        self.lock().sent.iter().map(|sent| sent.batch.clone()).collect()
    }

    pub(crate) fn first_unacknowledged(&self) -> u64 {
        self.lock().sent.front().map_or(0, |sent| sent.batch.sequence)
    }

    /// Attempts that ended and whose end is not committed: they are still held.
    pub(crate) fn unacknowledged_attempts(&self) -> Vec<Attempt> {
        let state = self.lock();
        let pending = state.pending.iter().flat_map(|(run, pending)| {
            pending.ended.iter().map(|trial| Attempt { run: run.clone(), trial: trial.number, epoch: trial.epoch })
        });
        let sent = state.sent.iter().flat_map(|sent| sent.ended.iter().cloned());
        pending.chain(sent).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.pending.is_empty() && state.sent.is_empty()
    }

    /// Whether enough is pending that waiting for more would not pay.
    pub(crate) fn is_heavy(&self) -> bool {
        self.lock().pending.values().any(|pending| pending.bytes >= BATCH_BYTES)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned lock means that a thread panicked between two statements of this file; the counts
        // could be wrong then, so going on would be worse than stopping.
        self.state.lock().expect("no panic happens while the outbox is locked")
    }
}

impl State {
    fn close(&mut self, run: RunId, pending: Pending) -> v1::Batch {
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        for (trial, epoch) in pending.turns.keys() {
            let attempt = Attempt { run: run.clone(), trial: *trial, epoch: *epoch };
            self.first_sequences.entry(attempt).or_insert(sequence);
        }
        let mut attempts = Vec::with_capacity(pending.ended.len());
        let mut ended = Vec::with_capacity(pending.ended.len());
        for trial in pending.ended {
            let attempt = Attempt { run: run.clone(), trial: trial.number, epoch: trial.epoch };
            let first = self.first_sequences.remove(&attempt).unwrap_or(sequence);
            ended.push(proto::trial::to_wire(trial, first, sequence));
            attempts.push(attempt);
        }
        let parts = pending.turns.into_iter().map(|((trial, epoch), turns)| (trial, epoch, turns));
        let batch = v1::Batch {
            sequence,
            run: run.as_str().to_owned(),
            segment: proto::segment::encode(parts),
            turns: pending.count,
            ended,
            spend: proto::trial::spend_to_wire(pending.spend),
        };
        self.sent.push_back(Sent { batch: batch.clone(), ended: attempts, bytes: pending.bytes });
        batch
    }
}

fn size_of_turn(turn: &Turn) -> usize {
    let notes: usize = turn.notes.iter().map(|note| note.text.len()).sum();
    let tools: usize = turn.tool_calls.iter().map(|call| call.arguments.len() + call.name.len()).sum();
    200 + turn.user.len() + turn.agent.as_ref().map_or(0, String::len) + notes + tools
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
            spend: Spend::default(),
            judgments: vec![],
            keep_transcript: true,
        }
    }

    #[test]
    fn an_ended_trial_names_the_batches_that_hold_its_turns() {
        let outbox = Outbox::new(Gate::new());
        let run = RunId::new("r");
        let attempt = Attempt { run: run.clone(), trial: 7, epoch: 1 };
        outbox.turn(&attempt, turn(1));
        assert_eq!(outbox.take()[0].sequence, 1);
        outbox.turn(&attempt, turn(2));
        outbox.ended(&run, trial(7));
        assert_eq!(outbox.unacknowledged_attempts(), vec![attempt.clone()]);
        let batches = outbox.take();
        assert_eq!((batches[0].ended[0].first_sequence, batches[0].ended[0].last_sequence), (1, 2));
        assert_eq!(outbox.unacknowledged_attempts(), vec![attempt]);
        outbox.acknowledged(1);
        assert_eq!(outbox.first_unacknowledged(), 2);
        assert_eq!(outbox.unacknowledged().len(), 1);
        outbox.acknowledged(2);
        assert!(outbox.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_buffer_closes_the_gate_until_it_is_acknowledged() {
        let gate = Gate::new();
        let outbox = Outbox::new(gate.clone());
        let attempt = Attempt { run: RunId::new("r"), trial: 0, epoch: 1 };
        let huge = Turn { user: "x".repeat(FULL_BYTES), ..turn(1) };
        outbox.turn(&attempt, huge);
        outbox.take();
        let closed = tokio::time::timeout(std::time::Duration::from_secs(1), gate.pass()).await;
        assert!(closed.is_err(), "no turn may start while the buffer is full");
        outbox.acknowledged(1);
        gate.pass().await;
    }
}
