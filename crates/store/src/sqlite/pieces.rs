//! The turns of one attempt: which pieces of segments they are, and reading only those.

use std::ops::RangeInclusive;

use bytes::Bytes;
use scenario::RunId;
use sqlx::{SqlitePool, query_as};

use super::{
    runs,
    values::{bound, integer, json, natural},
};
use crate::{Error, Part, Piece};

/// Sequence, place, bytes, as in a trial's row.
pub(super) type Row = (i64, u32, u32);

/// The pieces as a trial's row has them. No row has a whole segment: only version 0.1.0 stored turns so.
pub(super) fn rows(pieces: &[Piece]) -> Result<Vec<Row>, Error> {
    let row = |piece: &Piece| match piece.part {
        Part::At { place, bytes } => Ok((integer(piece.sequence)?, place, bytes)),
        Part::Whole => {
            Err(Error::Failed(format!("a trial names all of segment {} where it has to name a piece", piece.sequence)))
        }
    };
    pieces.iter().map(row).collect()
}

pub(super) fn of_json(text: &str) -> Result<Vec<Piece>, Error> {
    let rows: Vec<Row> =
        serde_json::from_str(text).map_err(|error| Error::Failed(format!("the pieces of a stored trial: {error}")))?;
    let piece = |(sequence, place, bytes)| Ok(Piece { sequence: natural(sequence)?, part: Part::At { place, bytes } });
    rows.into_iter().map(piece).collect()
}

/// Where version 0.1.0 kept the words of a trial.
pub(super) fn whole(sequences: RangeInclusive<u64>) -> Vec<Piece> {
    sequences.map(|sequence| Piece { sequence, part: Part::Whole }).collect()
}

pub(super) async fn read(readers: &SqlitePool, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
    let run = runs::key(readers, run).await?;
    let places = asked.iter().map(|(session, piece)| {
        let place = match piece.part {
            Part::At { place, .. } => Some(place),
            Part::Whole => None,
        };
        (bound(*session), bound(piece.sequence), place)
    });
    // A segment of version 0.1.0 has no first piece and its words in its own row.
    let rows: Vec<(i64, Option<i64>, Vec<u8>)> = query_as(
        "with asked as materialized (
             select key, value ->> 0 as session, value ->> 1 as sequence, value ->> 2 as place from json_each(?1))
         select asked.key, piece.key, coalesce(piece.payload, segment.payload)
         from asked
         cross join segment
             on segment.session = asked.session and segment.sequence = asked.sequence and segment.run = ?2
         left join piece
             on piece.key >= first_piece + coalesce(asked.place, 0)
             and piece.key < first_piece + min(pieces, coalesce(asked.place + 1, pieces))",
    )
    .bind(json(&places.collect::<Vec<_>>())?)
    .bind(run)
    .fetch_all(readers)
    .await?;
    let mut found: Vec<Vec<(Option<i64>, Vec<u8>)>> = vec![Vec::new(); asked.len()];
    for (place, key, payload) in rows {
        let place = usize::try_from(place).ok().and_then(|place| found.get_mut(place));
        place.ok_or_else(|| Error::Failed("a piece that nobody asked for".to_owned()))?.push((key, payload));
    }
    let joined = found.into_iter().map(|mut pieces| {
        pieces.sort_unstable_by_key(|(key, _)| *key);
        match pieces.len() {
            1 => pieces.remove(0).1.into(),
            _ => pieces.into_iter().flat_map(|(_, payload)| payload).collect(),
        }
    });
    Ok(joined.collect())
}
