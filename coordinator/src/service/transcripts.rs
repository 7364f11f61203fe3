//! Winning attempts with their words, in the plan's order, without holding more than a few pages of them.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use proto::v1;
use scenario::RunId;
use store::{Store, StoredTrial};

use crate::{Error, aggregate};

/// Trials read from the store at a time.
const PAGE: u32 = 64;
/// Encoded bytes of segments that are kept decoded: neighbouring trials were played at the same time and lie in
/// the same ones.
const KEPT_BYTES: usize = 8 << 20;

#[derive(Debug)]
pub(super) struct Transcripts<S> {
    store: Arc<S>,
    run: RunId,
    next: u64,
    page: VecDeque<StoredTrial>,
    segments: BTreeMap<Place, Attempts>,
    /// Oldest first, with their encoded sizes.
    kept: VecDeque<(Place, usize)>,
    kept_bytes: usize,
}

/// A session and a sequence in it.
type Place = (u64, u64);
/// What a segment holds, by trial and epoch.
type Attempts = BTreeMap<(u64, u32), Vec<v1::Turn>>;

impl<S: Store> Transcripts<S> {
    pub(super) fn new(store: Arc<S>, run: RunId, first: u64) -> Self {
        Self {
            store,
            run,
            next: first,
            page: VecDeque::new(),
            segments: BTreeMap::new(),
            kept: VecDeque::new(),
            kept_bytes: 0,
        }
    }

    /// The next trial that has ended; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<v1::ExportedTrial>, Error> {
        if self.page.is_empty() {
            self.page = self.store.trials(&self.run, self.next, PAGE).await?.into();
        }
        let Some(stored) = self.page.pop_front() else { return Ok(None) };
        self.next = stored.trial.number + 1;
        let mut turns = Vec::new();
        for sequence in stored.first_sequence..=stored.last_sequence {
            if let Some(segment) = self.segment((stored.session, sequence)).await? {
                // An attempt is exported once, so its turns need not stay.
                turns.extend(segment.remove(&(stored.trial.number, stored.trial.epoch)).unwrap_or_default());
            }
        }
        let trial = proto::trial::to_wire(stored.trial, stored.first_sequence, stored.last_sequence);
        Ok(Some(v1::ExportedTrial { trial: Some(trial), turns }))
    }

    /// `None` for a sequence that belongs to another run of the session.
    async fn segment(&mut self, place: Place) -> Result<Option<&mut Attempts>, Error> {
        if !self.segments.contains_key(&place) {
            let (session, sequence) = place;
            let Some(payload) = self.store.segments(&self.run, session, sequence, sequence).await?.pop() else {
                return Ok(None);
            };
            let bytes = payload.len();
            let broken = |error: proto::Error| {
                let text = format!("segment {sequence} of session {session} is broken: {error}");
                Error::Read(aggregate::Error::Store(store::Error::Failed(text)))
            };
            let segment = proto::segment::decode(payload).map_err(broken)?;
            while self.kept_bytes + bytes > KEPT_BYTES
                && let Some((oldest, freed)) = self.kept.pop_front()
            {
                self.segments.remove(&oldest);
                self.kept_bytes -= freed;
            }
            self.segments.insert(place, proto::segment::attempts(segment));
            self.kept.push_back((place, bytes));
            self.kept_bytes += bytes;
        }
        Ok(self.segments.get_mut(&place))
    }
}
