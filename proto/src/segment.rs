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

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment as it was stored before turns had messages.
    #[test]
    fn a_segment_of_the_last_version_is_read() {
        let old = "0a41080310011a3b080110011a087363726970746564220248692a0548656c6c6f3a0d0a01311201611a027b7d22017842055245504c594801500262060a016b120174";
        let bytes: Vec<u8> =
            (0..old.len()).step_by(2).map(|at| u8::from_str_radix(&old[at..at + 2], 16).unwrap()).collect();
        let turns = attempts(decode(bytes.into()).unwrap()).remove(&(3, 1)).unwrap();
        let turn = turn::from_wire(turns[0].clone()).unwrap();
        assert_eq!((turn.user.as_str(), turn.agent.as_deref(), turn.tool_calls.len()), ("Hi", Some("Hello"), 1));
        assert!(turn.messages.is_empty());
        assert_eq!(turn.said().as_deref(), Some("Hello"));
    }
}
