//! Checks that the turns of a batch can be read back: what no report could read is refused before it is stored.

use bytes::Bytes;
use store::{EndedTrial, Part, Piece};

use crate::give_way;

/// Why turns cannot be stored, and to which attempt they belong.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) reason: String,
    /// Trial and epoch; `None` if it may be any trial of the batch.
    pub(super) attempt: Option<(u64, u32)>,
}

/// Reads each piece of a batch to its end, and checks that the trials that ended in it name pieces of their own.
pub(super) async fn check(sequence: u64, pieces: &[Bytes], ended: &[EndedTrial]) -> Result<(), Unreadable> {
    let mut attempts = Vec::with_capacity(pieces.len());
    for (piece, place) in pieces.iter().zip(0_u32..) {
        give_way::after(attempts.len()).await;
        let read = proto::segment::check(piece.clone());
        attempts.push(read.map_err(|proto::segment::Broken { attempt, error }| {
            let reason = format!("piece {place} of batch {sequence}: {error}");
            Unreadable { reason, attempt: attempt.or_else(|| who_names(sequence, place, ended)) }
        })?);
    }
    for EndedTrial { trial, pieces: named, .. } in ended {
        let whose = (trial.number, trial.epoch);
        let places = named.iter().filter(|piece| piece.sequence == sequence).filter_map(place_of);
        for place in places {
            let holds = usize::try_from(place).ok().and_then(|place| attempts.get(place));
            if holds != Some(&whose) {
                let reason = format!("piece {place} of batch {sequence} does not hold the turns of trial {}", whose.0);
                return Err(Unreadable { reason, attempt: Some(whose) });
            }
        }
    }
    Ok(())
}

fn who_names(sequence: u64, place: u32, ended: &[EndedTrial]) -> Option<(u64, u32)> {
    let names = |piece: &Piece| piece.sequence == sequence && place_of(piece) == Some(place);
    let ended = ended.iter().find(|ended| ended.pieces.iter().any(names))?;
    Some((ended.trial.number, ended.trial.epoch))
}

fn place_of(piece: &Piece) -> Option<u32> {
    match piece.part {
        Part::At { place, .. } => Some(place),
        Part::Whole => None,
    }
}
