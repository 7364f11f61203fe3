//! Where the turns of a trial are, as every engine stores it.

use crate::{
    Error, Part, Piece,
    values::{integer, natural},
};

/// Sequence, place, bytes, as in a trial's row.
pub(crate) type Row = (i64, u32, u32);

/// The pieces for a trial's row. No row has a whole segment: only version 0.1.0 stored turns that way.
pub(crate) fn rows(pieces: &[Piece]) -> Result<Vec<Row>, Error> {
    let row = |piece: &Piece| match piece.part {
        Part::At { place, bytes } => Ok((integer(piece.sequence)?, place, bytes)),
        Part::Whole => {
            Err(Error::Failed(format!("a trial names all of segment {} instead of a piece", piece.sequence)))
        }
    };
    pieces.iter().map(row).collect()
}

pub(crate) fn of_json(text: &str) -> Result<Vec<Piece>, Error> {
    let rows: Vec<Row> =
        serde_json::from_str(text).map_err(|error| Error::Failed(format!("the pieces of a stored trial: {error}")))?;
    let piece = |(sequence, place, bytes)| Ok(Piece { sequence: natural(sequence)?, part: Part::At { place, bytes } });
    rows.into_iter().map(piece).collect()
}
