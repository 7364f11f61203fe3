//! Segments: the turns of one batch, encoded once by the worker and stored as they came.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message as _;
use record::Turn;

use crate::{names::Error, turn, v1};

/// Encodes the turns of several attempts: (trial, epoch, turns).
#[must_use]
pub fn encode(parts: impl IntoIterator<Item = (u64, u32, Vec<Turn>)>) -> Bytes {
    let trials = parts
        .into_iter()
        .map(|(trial, epoch, turns)| v1::TrialTurns {
            trial,
            epoch,
            turns: turns.into_iter().map(turn::to_wire).collect(),
        })
        .collect();
    v1::Segment { trials }.encode_to_vec().into()
}

pub fn decode(payload: Bytes) -> Result<v1::Segment, Error> {
    v1::Segment::decode(payload).map_err(|error| Error::Undecodable(error.to_string()))
}

/// The turns of each attempt, by trial and epoch, in the order in which they happened.
#[must_use]
pub fn attempts(segment: v1::Segment) -> BTreeMap<(u64, u32), Vec<v1::Turn>> {
    let mut attempts: BTreeMap<_, Vec<v1::Turn>> = BTreeMap::new();
    for part in segment.trials {
        attempts.entry((part.trial, part.epoch)).or_default().extend(part.turns);
    }
    attempts
}
