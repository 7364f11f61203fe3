//! Reads only the pieces of segments that were requested.

use bytes::Bytes;
use scenario::RunId;
use sqlx::{PgPool, query_as};

use super::runs;
use crate::{Error, Part, Piece, packing::Unpacker, values::bound};

pub(super) async fn read(pool: &PgPool, run: &RunId, asked: &[(u64, Piece)]) -> Result<Vec<Bytes>, Error> {
    let run = runs::key(pool, run).await?;
    let (mut sessions, mut sequences, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (session, piece) in asked {
        sessions.push(bound(*session));
        sequences.push(bound(piece.sequence));
        places.push(match piece.part {
            Part::At { place, .. } => Some(i64::from(place)),
            Part::Whole => None,
        });
    }
    let rows: Vec<(i64, Vec<u8>)> = query_as(
        "select asked.key, piece.payload
         from unnest($1::bigint[], $2::bigint[], $3::bigint[]) with ordinality as asked(session, sequence, place, key)
         join segment on segment.session = asked.session and segment.sequence = asked.sequence and segment.run = $4
         join piece on piece.session = asked.session and piece.sequence = asked.sequence
             and (asked.place is null or piece.place = asked.place)
         order by asked.key, piece.place",
    )
    .bind(sessions)
    .bind(sequences)
    .bind(places)
    .bind(run)
    .fetch_all(pool)
    .await?;
    let mut found: Vec<Vec<Bytes>> = vec![Vec::new(); asked.len()];
    let mut unpacker = Unpacker::default();
    for (key, payload) in rows {
        let place = usize::try_from(key - 1).ok().and_then(|place| found.get_mut(place));
        place
            .ok_or_else(|| Error::Failed("a piece that was not requested".to_owned()))?
            .push(unpacker.unpack_or_broken(payload.into()));
    }
    let joined = found.into_iter().map(|mut pieces| match pieces.len() {
        1 => pieces.remove(0),
        _ => pieces.concat().into(),
    });
    Ok(joined.collect())
}
