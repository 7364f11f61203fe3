//! Segments: the turns of a batch, encoded once by the worker and stored unchanged, one piece per attempt.
//!
//! A piece is a field of the message `Segment` with its tag, so a piece is a segment of one attempt, and pieces one
//! after the other are the segment again. What a version before pieces stored is one piece with many attempts.

use bytes::Bytes;
use prost::{
    Message as _,
    encoding::{self, DecodeContext, WireType},
};
use record::Turn;

use crate::{chunks::Writer, names::Error, turn, v1};

/// The field `trials` of `Segment`.
const TRIALS: u32 = 1;
/// The field `turns` of `TrialTurns`.
const TURNS: u32 = 3;

/// The encoded turns of one attempt, which grow turn by turn.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    bytes: Vec<u8>,
    count: u32,
}

impl Turns {
    pub fn push(&mut self, turn: Turn) {
        encoding::message::encode(TURNS, &turn::to_wire(turn), &mut self.bytes);
        self.count += 1;
    }
}

impl FromIterator<Turn> for Turns {
    fn from_iter<T: IntoIterator<Item = Turn>>(turns: T) -> Self {
        let mut all = Self::default();
        turns.into_iter().for_each(|turn| all.push(turn));
        all
    }
}

/// The turns of one attempt in a batch, as a piece of its segment.
#[derive(Debug, Clone)]
pub struct Piece {
    pub trial: u64,
    pub epoch: u32,
    /// How many turns it has.
    count: u32,
    turns: Bytes,
}

impl Piece {
    #[must_use]
    pub fn new(trial: u64, epoch: u32, turns: Turns) -> Self {
        Self { trial, epoch, count: turns.count, turns: turns.bytes.into() }
    }

    /// Its encoded size in bytes.
    #[must_use]
    pub fn size(&self) -> u32 {
        let message = self.message_size();
        let size = encoding::key_len(TRIALS) + encoding::encoded_len_varint(message as u64) + message;
        u32::try_from(size).unwrap_or(u32::MAX)
    }

    /// Removes its turns, and returns how many they were.
    pub fn silence(&mut self) -> u32 {
        self.turns = Bytes::new();
        std::mem::take(&mut self.count)
    }

    pub(crate) fn write(&self, segment: &mut Writer) {
        let own = segment.own();
        encoding::encode_key(TRIALS, WireType::LengthDelimited, own);
        encoding::encode_varint(self.message_size() as u64, own);
        self.head().encode_raw(own);
        segment.carry(&self.turns);
    }

    fn head(&self) -> Head {
        Head { trial: self.trial, epoch: self.epoch }
    }

    fn message_size(&self) -> usize {
        self.head().encoded_len() + self.turns.len()
    }
}

/// The segment of these pieces.
#[must_use]
pub fn of(pieces: &[Piece]) -> Bytes {
    let mut segment = Writer::default();
    pieces.iter().for_each(|piece| piece.write(&mut segment));
    let mut segment = segment.finish();
    segment.split_to(segment.len())
}

/// Makes a segment of the turns of several attempts (trial, epoch, turns), and returns the size of each piece.
#[must_use]
pub fn encode(parts: impl IntoIterator<Item = (u64, u32, Turns)>) -> (Bytes, Vec<u32>) {
    let pieces: Vec<Piece> = parts.into_iter().map(|(trial, epoch, turns)| Piece::new(trial, epoch, turns)).collect();
    (of(&pieces), pieces.iter().map(Piece::size).collect())
}

/// The pieces of a segment, in order, without copying or decoding turns.
pub fn pieces(mut segment: Bytes) -> Result<Vec<Bytes>, Error> {
    let mut pieces = Vec::new();
    while !segment.is_empty() {
        let mut rest = segment.clone();
        let (tag, wire_type) = encoding::decode_key(&mut rest).map_err(undecodable)?;
        encoding::skip_field(wire_type, tag, &mut rest, DecodeContext::default()).map_err(undecodable)?;
        let piece = segment.split_to(segment.len() - rest.len());
        if tag == TRIALS {
            pieces.push(piece);
        }
    }
    Ok(pieces)
}

/// The turns of each attempt in a segment: (trial, epoch, turns).
pub fn attempts(segment: Bytes) -> Result<Vec<(u64, u32, Vec<v1::Turn>)>, Error> {
    let segment = v1::Segment::decode(segment).map_err(undecodable)?;
    Ok(segment.trials.into_iter().map(|part| (part.trial, part.epoch, part.turns)).collect())
}

/// A damaged piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Its attempt (trial, epoch), if that part is readable.
    pub attempt: Option<(u64, u32)>,
    pub error: Error,
}

/// Decodes a whole piece, as a report does, and returns its attempt (trial, epoch).
pub fn check(piece: Bytes) -> Result<(u64, u32), Broken> {
    let whose = whose(piece.clone());
    let read = || {
        let mut attempts = attempts(piece)?;
        let (Some((trial, epoch, turns)), true) = (attempts.pop(), attempts.is_empty()) else {
            return Err(Error::Undecodable("a piece that is not one attempt".to_owned()));
        };
        turns.into_iter().try_for_each(|turn| turn::from_wire(turn).map(drop))?;
        Ok((trial, epoch))
    };
    read().map_err(|error| Broken { attempt: whose, error })
}

/// The attempt of a piece, without decoding its turns.
fn whose(mut piece: Bytes) -> Option<(u64, u32)> {
    encoding::decode_key(&mut piece).ok()?;
    encoding::decode_varint(&mut piece).ok()?;
    // Fields are in order, so damaged fields come after these.
    let mut head = (0, 0);
    for _ in 0..2 {
        let Ok(key) = encoding::decode_key(&mut piece) else { break };
        match key {
            (1, WireType::Varint) => head.0 = encoding::decode_varint(&mut piece).ok()?,
            (2, WireType::Varint) => head.1 = u32::try_from(encoding::decode_varint(&mut piece).ok()?).ok()?,
            // Protobuf omits a number that is 0.
            _ => break,
        }
    }
    Some(head)
}

/// The turns of one attempt in a segment, in order, each as [`turn::from_bytes`] reads it.
pub fn turns_of(segment: Bytes, trial: u64, epoch: u32) -> Result<Vec<Bytes>, Error> {
    let mut turns = Vec::new();
    for mut piece in pieces(segment)? {
        let (_, wire_type) = encoding::decode_key(&mut piece).map_err(undecodable)?;
        encoding::check_wire_type(WireType::LengthDelimited, wire_type).map_err(undecodable)?;
        encoding::decode_varint(&mut piece).map_err(undecodable)?;
        let encoded = Encoded::decode(piece).map_err(undecodable)?;
        if (encoded.trial, encoded.epoch) == (trial, epoch) {
            turns.extend(encoded.turns);
        }
    }
    Ok(turns)
}

/// The fields of a `TrialTurns` without its turns.
#[derive(Clone, PartialEq, prost::Message)]
struct Head {
    #[prost(uint64, tag = "1")]
    trial: u64,
    #[prost(uint32, tag = "2")]
    epoch: u32,
}

/// A `TrialTurns` whose turns stay encoded.
#[derive(Clone, PartialEq, prost::Message)]
struct Encoded {
    #[prost(uint64, tag = "1")]
    trial: u64,
    #[prost(uint32, tag = "2")]
    epoch: u32,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    turns: Vec<Bytes>,
}

fn undecodable(error: prost::DecodeError) -> Error {
    Error::Undecodable(error.to_string())
}

#[cfg(test)]
mod tests {
    use record::turn::Origin;

    use super::*;

    fn turn(number: u32, user: &str) -> Turn {
        Turn {
            number,
            step: 1,
            speaker: Origin::Scripted,
            user: user.into(),
            agent: Some("hi".into()),
            exit_code: None,
            tool_calls: vec![],
            actions: vec![],
            started_micros: 0,
            duration_micros: 0,
            response_micros: None,
            calls: vec![],
            notes: vec![],
            simulated: None,
            messages: vec![],
        }
    }

    fn encoded((trial, epoch, turns): (u64, u32, Vec<Turn>)) -> (u64, u32, Turns) {
        (trial, epoch, turns.into_iter().collect())
    }

    #[test]
    fn each_attempt_is_a_piece_and_the_pieces_are_the_segment() {
        let long = "x".repeat(300);
        let parts = [
            (0, 1, vec![turn(1, "a"), turn(2, &long)]),
            (7, 2, vec![turn(1, "b")]),
            (7, 3, vec![]),
            (u64::MAX, 1, vec![turn(9, "c")]),
        ];
        let (segment, lengths) = encode(parts.clone().map(encoded));
        let pieces = pieces(segment.clone()).unwrap();
        let found: Vec<u32> = pieces.iter().map(|piece| piece.len() as u32).collect();
        assert_eq!(found, lengths);
        assert_eq!(pieces.concat(), segment);
        for ((trial, epoch, turns), piece) in parts.into_iter().zip(pieces) {
            let turns: Vec<_> = turns.into_iter().map(turn::to_wire).collect();
            let encoded: Vec<Bytes> = turns.iter().map(|turn| turn.encode_to_vec().into()).collect();
            assert_eq!(turns_of(piece.clone(), trial, epoch).unwrap(), encoded);
            assert_eq!(turns_of(segment.clone(), trial, epoch).unwrap(), encoded, "of all of it");
            assert_eq!(attempts(piece.clone()).unwrap(), [(trial, epoch, turns)]);
            assert_eq!(turns_of(piece, trial, epoch + 9).unwrap(), Vec::<Bytes>::new());
        }
    }

    /// As version 0.1.0 encoded it: turn 1 "a" / "hi" of trial 3, epoch 1, and turn 1 "b" / "hi" of trial 4, epoch 2.
    const LAST_VERSION: &[u8] = b"\x0a\x1b\x08\x03\x10\x01\x1a\x15\x08\x01\x10\x01\x1a\x08scripted\x22\x01a\x2a\x02hi\
        \x0a\x1b\x08\x04\x10\x02\x1a\x15\x08\x01\x10\x01\x1a\x08scripted\x22\x01b\x2a\x02hi";

    #[test]
    fn the_last_versions_bytes_are_read() {
        for (trial, epoch, user) in [(3, 1, "a"), (4, 2, "b")] {
            let turns = turns_of(Bytes::from_static(LAST_VERSION), trial, epoch).unwrap();
            assert_eq!(turns.into_iter().map(turn::from_bytes).collect::<Vec<_>>(), [Ok(turn(1, user))]);
        }
        let (now, _) = encode([(3, 1, vec![turn(1, "a")]), (4, 2, vec![turn(1, "b")])].map(encoded));
        assert_eq!(now, LAST_VERSION, "and still written");
    }

    #[test]
    fn invalid_segments_are_reported() {
        for bytes in [&b"\x0a"[..], b"\x0a\x09short", b"\xff\xff", b"\x0a\x01\xff"] {
            assert!(turns_of(Bytes::from_static(bytes), 1, 1).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_piece_is_checked_as_a_report_will_read_it() {
        let piece = |trial, epoch, turns: Vec<v1::Turn>| {
            Bytes::from(v1::Segment { trials: vec![v1::TrialTurns { trial, epoch, turns }] }.encode_to_vec())
        };
        let good = turn::to_wire(turn(1, "a"));
        for (trial, epoch) in [(0, 1), (7, 3), (u64::MAX, u32::MAX)] {
            assert_eq!(check(piece(trial, epoch, vec![good.clone()])), Ok((trial, epoch)));
            assert_eq!(check(piece(trial, epoch, vec![])), Ok((trial, epoch)));
            let unknown = v1::Turn { speaker: "parrot".into(), ..good.clone() };
            let error = Error::UnknownWord { what: "speaker", word: "parrot".into() };
            let broken = Broken { attempt: Some((trial, epoch)), error };
            assert_eq!(check(piece(trial, epoch, vec![good.clone(), unknown])), Err(broken));
            // A turn whose bytes are no turn.
            let mut broken = piece(trial, epoch, vec![good.clone()]).to_vec();
            *broken.last_mut().unwrap() = 0xff;
            let broken = check(broken.into()).unwrap_err();
            assert!(matches!(broken.error, Error::Undecodable(_)) && broken.attempt == Some((trial, epoch)));
        }
        assert_eq!(check(Bytes::from_static(b"\x0a\xff")).unwrap_err().attempt, None);
        let two = [piece(1, 1, vec![]), piece(2, 1, vec![])].concat();
        assert!(check(two.into()).is_err() && check(Bytes::new()).is_err());
    }

    /// A segment as it was stored before turns had messages.
    #[test]
    fn a_segment_of_the_last_version_is_read() {
        let old = "0a41080310011a3b080110011a087363726970746564220248692a0548656c6c6f3a0d0a01311201611a027b7d22017842055245504c594801500262060a016b120174";
        let bytes: Vec<u8> =
            (0..old.len()).step_by(2).map(|at| u8::from_str_radix(&old[at..at + 2], 16).unwrap()).collect();
        let turns = turns_of(bytes.into(), 3, 1).unwrap();
        let turn = turn::from_bytes(turns[0].clone()).unwrap();
        assert_eq!((turn.user.as_str(), turn.agent.as_deref(), turn.tool_calls.len()), ("Hi", Some("Hello"), 1));
        assert!(turn.messages.is_empty());
        assert_eq!(turn.said().as_deref(), Some("Hello"));
    }
}
