//! Winning attempts with their turns, in the plan's order, without holding more than a few of them.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use proto::ExportedTrial;
use record::Trial;
use scenario::RunId;
use store::{Part, Piece, Store, StoredTrial};

use crate::{Error, aggregate};

/// Trials read from the store at a time.
const PAGE: u32 = 64;
/// Encoded turns to read at a time, rounded up to a whole trial.
const READ_BYTES: usize = 1 << 20;
/// The assumed size of a segment of version 0.1.0, whose pieces are unknown.
const SEGMENT_BYTES: usize = 256 << 10;

/// The trials of a run, read from its store.
#[derive(Debug)]
pub struct Transcripts<S> {
    store: Arc<S>,
    run: RunId,
    next: u64,
    page: VecDeque<StoredTrial>,
    read: VecDeque<ExportedTrial>,
}

impl<S: Store> Transcripts<S> {
    /// Trials from number `first` on.
    pub fn new(store: Arc<S>, run: RunId, first: u64) -> Self {
        Self { store, run, next: first, page: VecDeque::new(), read: VecDeque::new() }
    }

    /// The next trial that has ended; `None` after the last.
    ///
    /// # Errors
    /// The store cannot be read. Words of a trial that cannot be read are no error: the trial says so.
    pub async fn next(&mut self) -> Result<Option<ExportedTrial>, Error> {
        if self.read.is_empty() {
            self.read().await?;
        }
        Ok(self.read.pop_front())
    }

    /// Reads on. Each piece is read exactly once.
    async fn read(&mut self) -> Result<(), Error> {
        if self.page.is_empty() {
            self.page = aggregate::trials(&*self.store, &self.run, self.next, PAGE).await?.into();
        }
        let some = self.few();
        let Some(last) = some.last() else { return Ok(()) };
        self.next = last.trial.number + 1;
        let asked: Vec<(u64, Piece)> =
            some.iter().flat_map(|stored| stored.pieces.iter().map(|piece| (stored.session, *piece))).collect();
        let mut pieces = self.store.pieces(&self.run, &asked).await?.into_iter();
        for StoredTrial { trial, session, pieces: places, .. } in some {
            // All of them are taken, so that the next trial begins with its own.
            let pieces: Vec<_> = places.into_iter().zip(&mut pieces).collect();
            // Unreadable turns of one trial do not stop the export of others.
            let (turns, unreadable) = match turns(&trial, session, pieces) {
                Ok(turns) => (turns, String::new()),
                Err(reason) => (Vec::new(), reason),
            };
            let trial = proto::trial::to_wire(trial, Vec::new());
            self.read.push_back(ExportedTrial { trial: Some(trial), turns, unreadable });
        }
        Ok(())
    }

    /// The next trials of the page, enough for [`READ_BYTES`] of turns.
    fn few(&mut self) -> Vec<StoredTrial> {
        let mut bytes = 0;
        let mut few = Vec::new();
        while let Some(stored) = self.page.pop_front() {
            bytes += stored.pieces.iter().map(size).sum::<usize>();
            few.push(stored);
            if bytes > READ_BYTES {
                break;
            }
        }
        few
    }
}

fn size(piece: &Piece) -> usize {
    match piece.part {
        Part::At { bytes, .. } => bytes as usize,
        Part::Whole => SEGMENT_BYTES,
    }
}

/// The encoded turns of a trial, or why they cannot be read.
fn turns(trial: &Trial, session: u64, pieces: Vec<(Piece, Bytes)>) -> Result<Vec<Bytes>, String> {
    let mut turns = Vec::new();
    for (Piece { sequence, .. }, words) in pieces {
        if words.is_empty() {
            return Err(format!("segment {sequence} of session {session} is missing"));
        }
        let broken = |error: proto::Error| format!("segment {sequence} of session {session} is broken: {error}");
        turns.extend(proto::segment::turns_of(words, trial.number, trial.epoch).map_err(broken)?);
    }
    Ok(turns)
}
