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

use crate::{names::Error, trial, v1};

/// The field `ended` of `Batch`.
const ENDED: u32 = 5;

/// Room for the place of a trial's turns in one batch.
const PIECE_BYTES: usize = 24;

/// An encoded `Trial`.
#[derive(Debug, Clone)]
pub struct Ended {
    pub number: u64,
    pub epoch: u32,
    bytes: Vec<u8>,
}

impl From<Trial> for Ended {
    fn from(trial: Trial) -> Self {
        trial::to_wire(trial, Vec::new()).into()
    }
}

impl From<v1::Trial> for Ended {
    fn from(trial: v1::Trial) -> Self {
        let mut bytes = Vec::with_capacity(trial.encoded_len() + PIECE_BYTES);
        trial.encode_raw(&mut bytes);
        Self { number: trial.number, epoch: trial.epoch, bytes }
    }
}

impl Ended {
    /// Adds the places of its turns.
    pub fn add_pieces(&mut self, pieces: Vec<v1::Piece>) {
        // One message after another is both of them merged.
        v1::Trial { pieces, ..v1::Trial::default() }.encode_raw(&mut self.bytes);
    }

    /// # Panics
    /// Never: the bytes are those of a trial.
    #[must_use]
    pub fn decoded(&self) -> v1::Trial {
        v1::Trial::decode(self.bytes.as_slice()).expect("it was encoded here")
    }

    fn add_to(&self, batch: &mut Vec<u8>) {
        encoding::encode_key(ENDED, WireType::LengthDelimited, batch);
        encoding::encode_varint(self.bytes.len() as u64, batch);
        batch.extend_from_slice(&self.bytes);
    }

    /// What it adds to a batch, in bytes.
    fn size(&self) -> usize {
        self.bytes.len() + encoding::key_len(ENDED) + encoding::encoded_len_varint(self.bytes.len() as u64)
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

/// The size of the batch with these trials, in bytes.
#[must_use]
pub fn size_with(batch: &v1::Batch, ended: &[Ended]) -> usize {
    batch.encoded_len() + ended.iter().map(Ended::size).sum::<usize>()
}

/// The encoded batch with these trials after its own.
#[must_use]
pub fn batch_with(batch: &v1::Batch, ended: &[Ended]) -> Bytes {
    let mut bytes = Vec::with_capacity(size_with(batch, ended));
    batch.encode_raw(&mut bytes);
    ended.iter().for_each(|trial| trial.add_to(&mut bytes));
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_of_encoded_trials_is_a_batch() {
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
            segment: Bytes::from_static(b"segment"),
            turns: 3,
            ended: (0..2).map(whole).collect(),
            spend: vec![v1::SpendEntry::default()],
            purse: Some(v1::Purse::default()),
        };
        let mut ended: Vec<Ended> =
            (0..2).map(|number| Ended::from(v1::Trial { pieces: Vec::new(), ..whole(number) })).collect();
        ended.iter_mut().for_each(|trial| trial.add_pieces(pieces.clone()));
        assert_eq!((ended[1].number, ended[1].epoch, ended[1].decoded()), (1, 2, whole(1)));
        let without = v1::Batch { ended: Vec::new(), ..plain.clone() };
        let bytes = batch_with(&without, &ended);
        assert_eq!(bytes.len(), size_with(&without, &ended));
        assert_eq!(crate::batch_from_bytes(bytes.clone()), Ok(plain.clone()));
        for mut read in [Batch::from_bytes(bytes).unwrap(), plain.clone().into()] {
            let trials: Result<Vec<v1::Trial>, Error> = read.ended.drain(..).map(trial).collect();
            assert_eq!(trials.as_ref(), Ok(&plain.ended));
            assert_eq!(read, without.clone().into());
        }
        assert!(trial(Bytes::from_static(b"\xff")).is_err() && Batch::from_bytes(Bytes::from_static(b"\xff")).is_err());
    }
}
