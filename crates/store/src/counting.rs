//! What a commit writes of its trials, and what it answers: the same for every engine.

use std::collections::{BTreeMap, BTreeSet};

use record::trial::{Past, Replay};

use crate::{
    Commit, Committed, EndedTrial, Error, Part,
    values::{bound, integer},
};

/// A piece of an earlier segment: the segment's sequence and the piece's place in it.
pub(crate) type Earlier = (i64, u32);

/// The pieces of trials whose turns are not kept: places in this segment, and pieces of earlier ones.
pub(crate) fn not_kept(commit: &Commit) -> Result<(BTreeSet<u32>, Vec<Earlier>), Error> {
    let (mut here, mut earlier) = (BTreeSet::new(), Vec::new());
    for piece in commit.ended.iter().filter(|ended| !ended.kept).flat_map(|ended| &ended.pieces) {
        match piece.part {
            Part::At { place, .. } if piece.sequence == commit.sequence => {
                here.insert(place);
            }
            Part::At { place, .. } => earlier.push((integer(piece.sequence)?, place)),
            Part::Whole => {}
        }
    }
    Ok((here, earlier))
}

/// A trial that was written.
pub(crate) struct End {
    /// It will be replayed.
    pub(crate) again: bool,
    pub(crate) past: Past,
}

/// Whether one of the written trials used up a provider's quota. If several name one attempt, the first is the written one.
pub(crate) fn exhausted(commit: &Commit, counted: &BTreeMap<(i64, i64), End>) -> bool {
    let mut named = BTreeSet::new();
    commit.ended.iter().any(|EndedTrial { trial, .. }| {
        let attempt = (bound(trial.number), i64::from(trial.epoch));
        named.insert(attempt) && trial.is_exhausted() && counted.contains_key(&attempt)
    })
}

/// Which trials counted, in the order of the batch; a trial that occurs twice counted the first time.
pub(crate) fn outcome(commit: &Commit, mut counted: BTreeMap<(i64, i64), End>) -> Committed {
    let mut committed = Committed::default();
    for EndedTrial { trial, .. } in &commit.ended {
        match counted.remove(&(bound(trial.number), i64::from(trial.epoch))) {
            Some(End { again: false, past }) => {
                committed.counted.push(trial.number);
                if past != Past::default() {
                    committed.pasts.insert(trial.number, past);
                }
            }
            Some(End { again: true, .. }) => committed.again.push(trial.number),
            None => committed.fenced.push(trial.number),
        }
    }
    committed
}

/// As the statements read it.
pub(crate) fn code(replay: Replay) -> u8 {
    match replay {
        Replay::Never => 0,
        Replay::Limited => 1,
        Replay::OnResume => 2,
    }
}
