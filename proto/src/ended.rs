//! Ended trials on their way to the coordinator, encoded.
//!
//! A worker encodes a trial as soon as it ends, and the coordinator decodes one trial after the other: while a trial is in
//! the processor's cache. What waits is one allocation a trial.

use bytes::Bytes;
use prost::{
    Message as _,
    encoding::{self, WireType},
};
use record::Trial;

use crate::{
    chunks::{Chunks, Writer},
    names::Error,
    segment::Piece,
    trial, v1,
};

/// The field `segment` of `Batch`.
const SEGMENT: u32 = 3;
/// The field `ended` of `Batch`.
const ENDED: u32 = 5;
/// The field `pieces` of `Trial`.
const PIECES: u32 = 22;

/// An encoded `Trial`.
#[derive(Debug, Clone)]
pub struct Ended {
    pub number: u64,
    pub epoch: u32,
    /// Without the places of its turns that were added later.
    bytes: Bytes,
    pieces: Vec<v1::Piece>,
}

impl From<Trial> for Ended {
    fn from(trial: Trial) -> Self {
        trial::to_wire(trial, Vec::new()).into()
    }
}

impl From<v1::Trial> for Ended {
    fn from(trial: v1::Trial) -> Self {
        let bytes = trial.encode_to_vec().into();
        Self { number: trial.number, epoch: trial.epoch, bytes, pieces: Vec::new() }
    }
}

impl Ended {
    /// Adds the places of its turns.
    pub fn add_pieces(&mut self, mut pieces: Vec<v1::Piece>) {
        self.pieces.append(&mut pieces);
    }

    /// # Panics
    /// Never: the bytes are those of a trial.
    #[must_use]
    pub fn decoded(&self) -> v1::Trial {
        let mut trial = v1::Trial::decode(self.bytes.clone()).expect("it was encoded here");
        trial.pieces.extend_from_slice(&self.pieces);
        trial
    }

    fn write(&self, batch: &mut Writer) {
        let size = self.bytes.len() + encoding::message::encoded_len_repeated(PIECES, &self.pieces);
        encoding::encode_key(ENDED, WireType::LengthDelimited, batch.own());
        encoding::encode_varint(size as u64, batch.own());
        batch.carry(&self.bytes);
        // One message after another is both of them merged.
        encoding::message::encode_repeated(PIECES, &self.pieces, batch.own());
    }
}

/// A `v1::Batch` whose ended trials are encoded.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Batch {
    #[prost(uint64, tag = "1")]
    pub sequence: u64,
    #[prost(string, tag = "2")]
    pub run: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub segment: Bytes,
    #[prost(uint32, tag = "4")]
    pub turns: u32,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    pub ended: Vec<Bytes>,
    #[prost(message, repeated, tag = "6")]
    pub spend: Vec<v1::SpendEntry>,
    #[prost(message, optional, tag = "7")]
    pub purse: Option<v1::Purse>,
}

impl From<v1::Batch> for Batch {
    fn from(batch: v1::Batch) -> Self {
        let v1::Batch { sequence, run, segment, turns, ended, spend, purse } = batch;
        let ended = ended.iter().map(|trial| trial.encode_to_vec().into()).collect();
        Self { sequence, run, segment, turns, ended, spend, purse }
    }
}

impl Batch {
    /// # Errors
    /// The bytes are not a batch. The error describes why.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, Error> {
        Self::decode(bytes).map_err(|error| Error::Undecodable(error.to_string()))
    }
}

/// Decodes one of the trials of a [`Batch`].
///
/// # Errors
/// The bytes are not a trial.
pub fn trial(bytes: Bytes) -> Result<v1::Trial, Error> {
    v1::Trial::decode(bytes).map_err(|error| Error::Undecodable(error.to_string()))
}

/// The encoded batch with these turns, instead of a segment of its own, and with these trials after its own.
#[must_use]
pub fn batch_with(batch: &v1::Batch, turns: &[Piece], ended: &[Ended]) -> Chunks {
    let mut chunks = Writer::default();
    batch.encode_raw(chunks.own());
    let segment: u64 = turns.iter().map(|piece| u64::from(piece.size())).sum();
    encoding::encode_key(SEGMENT, WireType::LengthDelimited, chunks.own());
    encoding::encode_varint(segment, chunks.own());
    turns.iter().for_each(|piece| piece.write(&mut chunks));
    ended.iter().for_each(|trial| trial.write(&mut chunks));
    chunks.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment;

    #[test]
    fn a_batch_of_encoded_turns_and_trials_is_a_batch() {
        let turn = v1::Turn { number: 1, user: "u".repeat(200), ..v1::Turn::default() };
        let turn = crate::turn::from_wire(v1::Turn { speaker: "scripted".to_owned(), ..turn }).unwrap();
        let turns = [(0, 2, 2), (1, 2, 0)]
            .map(|(trial, epoch, count)| Piece::new(trial, epoch, std::iter::repeat_n(turn.clone(), count).collect()));
        let pieces =
            vec![v1::Piece { sequence: 3, place: 1, bytes: 300 }, v1::Piece { sequence: 4, place: 0, bytes: 7 }];
        let whole = |number| v1::Trial {
            number,
            epoch: 2,
            trial_id: "t".repeat(200),
            user: Some(v1::UserConduct::default()),
            pieces: pieces.clone(),
            ..v1::Trial::default()
        };
        let plain = v1::Batch {
            sequence: 7,
            run: "r".to_owned(),
            segment: segment::of(&turns),
            turns: 2,
            ended: (0..2).map(whole).collect(),
            spend: vec![v1::SpendEntry::default()],
            purse: Some(v1::Purse::default()),
        };
        let mut ended: Vec<Ended> =
            (0..2).map(|number| Ended::from(v1::Trial { pieces: Vec::new(), ..whole(number) })).collect();
        ended.iter_mut().for_each(|trial| trial.add_pieces(pieces.clone()));
        assert_eq!((ended[1].number, ended[1].epoch, ended[1].decoded()), (1, 2, whole(1)));
        let without = v1::Batch { ended: Vec::new(), ..plain.clone() };
        let mut chunks = batch_with(&v1::Batch { segment: Bytes::new(), ..without.clone() }, &turns, &ended);
        let bytes = chunks.split_to(chunks.len());
        assert_eq!(crate::batch_from_bytes(bytes.clone()), Ok(plain.clone()));
        for mut read in [Batch::from_bytes(bytes).unwrap(), plain.clone().into()] {
            let trials: Result<Vec<v1::Trial>, Error> = read.ended.drain(..).map(trial).collect();
            assert_eq!(trials.as_ref(), Ok(&plain.ended));
            assert_eq!(read, without.clone().into());
        }
        assert!(trial(Bytes::from_static(b"\xff")).is_err() && Batch::from_bytes(Bytes::from_static(b"\xff")).is_err());
    }
}
