//! The turns of one attempt: which pieces of segments they are, and reading only those.

use std::ops::RangeInclusive;

use bytes::Bytes;
use scenario::RunId;
use sqlx::{SqlitePool, query_as};

use super::runs;
use crate::{
    Error, Part, Piece,
    packing::Unpacker,
    values::{bound, json},
};

/// The place of a trial's turns in version 0.1.0.
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
    // A segment of version 0.1.0 has no first piece and has its turns in its own row. All of them come as one row: each row
    // is a message between threads, which costs more than what is in it.
    let (rows, payloads): (String, Option<Vec<u8>>) = query_as(
        "with asked as materialized (
             select key, value ->> 0 as session, value ->> 1 as sequence, value ->> 2 as place from json_each(?1)),
         found as (
             select asked.key as place, piece.key as key, coalesce(piece.payload, segment.payload) as payload
             from asked
             cross join segment
                 on segment.session = asked.session and segment.sequence = asked.sequence and segment.run = ?2
             left join piece
                 on piece.key >= first_piece + coalesce(asked.place, 0)
                 and piece.key < first_piece + min(pieces, coalesce(asked.place + 1, pieces)))
         select json_group_array(json_array(place, key, length(payload))), cast(group_concat(payload, '') as blob)
         from found",
    )
    .bind(json(&places.collect::<Vec<_>>())?)
    .bind(run)
    .fetch_one(readers)
    .await?;
    let failed = |reason: &str| Error::Failed(format!("stored turns: {reason}"));
    let rows: Vec<(usize, Option<i64>, usize)> =
        serde_json::from_str(&rows).map_err(|error| failed(&error.to_string()))?;
    let mut payloads = Bytes::from(payloads.unwrap_or_default());
    let mut found: Vec<Vec<(Option<i64>, Bytes)>> = vec![Vec::new(); asked.len()];
    let mut unpacker = Unpacker::default();
    for (place, key, length) in rows {
        let pieces = found.get_mut(place).ok_or_else(|| failed("a piece that was not requested"))?;
        if length > payloads.len() {
            return Err(failed("a piece is shorter than its length"));
        }
        pieces.push((key, unpacker.unpack_or_broken(payloads.split_to(length))));
    }
    let joined = found.into_iter().map(|mut pieces| {
        pieces.sort_unstable_by_key(|(key, _)| *key);
        match pieces.len() {
            1 => pieces.remove(0).1,
            _ => pieces.into_iter().flat_map(|(_, payload)| payload).collect(),
        }
    });
    Ok(joined.collect())
}
