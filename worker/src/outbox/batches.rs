//! Makes numbered batches of pending results, with the places of each attempt's turns.

use std::collections::BTreeSet;

use proto::{segment::Piece, v1};
use scenario::RunId;

use super::{Attempt, BATCH_BYTES, Closed, MOST_WAITING, QUICK_BATCH_BYTES, State, attempt_of, refusals};
use crate::purse;

impl State {
    /// Whether a batch waits for the stream.
    pub(super) fn has_closed(&self) -> bool {
        self.last_sequence > self.given
    }

    /// The size at which a batch is full.
    pub(super) fn batch_bytes(&self) -> usize {
        if self.is_quick { QUICK_BATCH_BYTES } else { BATCH_BYTES }
    }

    /// Whether a batch may be closed before it is full.
    pub(super) fn may_close(&self) -> bool {
        self.closed.len() < MOST_WAITING
    }

    /// Trials whose end is not acknowledged.
    pub(super) fn ended(&self) -> usize {
        let pending = self.pending.values().map(|pending| pending.ended.len());
        pending.chain(self.closed.iter().map(|closed| closed.ended.len())).sum()
    }

    /// The next batch for the stream, which counts as given from now on.
    pub(super) fn give(&mut self) -> Option<&Closed> {
        if !self.has_closed() && self.may_close() {
            self.close_all();
        }
        let first = self.closed.front()?.batch.sequence;
        let next = usize::try_from((self.given + 1).checked_sub(first)?).ok()?;
        let closed = self.closed.get(next)?;
        self.given = closed.batch.sequence;
        Some(closed)
    }

    pub(super) fn close_all(&mut self) {
        while let Some(run) = self.pending.keys().next().cloned() {
            self.close(&run);
        }
    }

    pub(super) fn close(&mut self, run: &RunId) {
        let Some(pending) = self.pending.remove(run) else { return };
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        let turns = pending.turns.into_iter().map(|((trial, epoch), turns)| Piece::new(trial, epoch, turns));
        let turns: Vec<Piece> = turns.collect();
        for (place, piece) in (0..).zip(&turns) {
            let attempt = Attempt { run: run.clone(), trial: piece.trial, epoch: piece.epoch };
            self.pieces.entry(attempt).or_default().push(v1::Piece { sequence, place, bytes: piece.size() });
        }
        let mut ended = pending.ended;
        for trial in &mut ended {
            let attempt = attempt_of(run, trial);
            trial.add_pieces(self.pieces.remove(&attempt).unwrap_or_default());
            if let Some(reason) = self.refused.remove(&attempt) {
                *trial = refusals::unrecorded(trial, &reason);
            }
        }
        let cost = pending.spend.cost();
        let batch = v1::Batch {
            sequence,
            run: run.as_str().to_owned(),
            turns: pending.count,
            spend: proto::trial::spend_to_wire(pending.spend),
            purse: self.purses.of(run.as_str()).map(|said| purse::to_wire((run.as_str().to_owned(), said))),
            ..v1::Batch::default()
        };
        let bytes = pending.bytes;
        let closed = Closed { batch, turns, ended, cost, bytes, silent: BTreeSet::new(), refusals: 0 };
        debug_assert!(closed.encoded().len() < proto::MAX_MESSAGE_BYTES, "turns and ends have bounds");
        self.closed.push_back(closed);
    }
}
