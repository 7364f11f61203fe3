//! Looks for faults in the tables.

use sqlx::{PgPool, query_scalar};

use crate::{
    Error, Fault,
    audit::{FAULTS, faults},
};

const PIECES: &str = "a segment lacks pieces";
const ALONE: &str = "a piece belongs to no segment";

pub(super) async fn read(pool: &PgPool) -> Result<Vec<Fault>, Error> {
    let mut found = Vec::new();
    for (what, statement) in FAULTS {
        found.extend(faults(what, query_scalar(statement).fetch_all(pool).await?));
    }
    let lacking = query_scalar(
        "select 'segment ' || sequence || ' of session ' || session from piece
         group by session, sequence having max(place) + 1 <> count(*)",
    );
    found.extend(faults(PIECES, lacking.fetch_all(pool).await?));
    let alone = query_scalar(
        "select distinct 'segment ' || sequence || ' of session ' || session from piece
         where not exists (
             select 1 from segment where segment.session = piece.session and segment.sequence = piece.sequence)",
    );
    found.extend(faults(ALONE, alone.fetch_all(pool).await?));
    Ok(found)
}
