//! Looks for faults in the tables, as they are at one moment: a coordinator may be writing.

use std::collections::BTreeMap;

use sqlx::{PgConnection, PgPool, query_as, query_scalar};

use super::spend;
use crate::{
    Error, Fault,
    audit::{ALONE, FAULTS, PAGE, PIECES, Sums, faults},
};

pub(super) async fn read(pool: &PgPool) -> Result<Vec<Fault>, Error> {
    let mut reading = pool.begin_with("begin isolation level repeatable read, read only").await?;
    let mut found = Vec::new();
    for (what, statement) in FAULTS {
        found.extend(faults(what, query_scalar(statement).fetch_all(&mut *reading).await?));
    }
    let lacking = query_scalar(
        "select 'segment ' || sequence || ' of session ' || session from segment
         cross join lateral (
             select count(*) as found, coalesce(max(place) + 1, 0) as most from piece
             where piece.session = segment.session and piece.sequence = segment.sequence) as there
         where there.found <> coalesce(segment.pieces, there.most)",
    );
    found.extend(faults(PIECES, lacking.fetch_all(&mut *reading).await?));
    let alone = query_scalar(
        "select distinct 'segment ' || sequence || ' of session ' || session from piece
         where not exists (
             select 1 from segment where segment.session = piece.session and segment.sequence = piece.sequence)",
    );
    found.extend(faults(ALONE, alone.fetch_all(&mut *reading).await?));
    found.extend(spending(&mut reading).await?);
    reading.rollback().await?;
    Ok(found)
}

async fn spending(reading: &mut PgConnection) -> Result<Vec<Fault>, Error> {
    let runs = query_as("select key, id, preflight from run where not deleted").fetch_all(&mut *reading).await?;
    let mut sums = Sums::of(runs)?;
    let (mut session, mut sequence) = (-1, 0);
    loop {
        let page: Vec<(i64, i64, i64, Option<String>)> = query_as(
            "select session, sequence, run, spend from segment where (session, sequence) > ($1, $2)
             order by session, sequence limit $3",
        )
        .bind(session)
        .bind(sequence)
        .bind(PAGE)
        .fetch_all(&mut *reading)
        .await?;
        let Some((last_session, last_sequence, ..)) = page.last() else { break };
        (session, sequence) = (*last_session, *last_sequence);
        for (.., run, spend) in &page {
            sums.add(*run, spend.as_deref())?;
        }
    }
    let mut kept = BTreeMap::new();
    for run in sums.runs() {
        kept.insert(run, spend::of(&mut *reading, run).await?);
    }
    Ok(sums.faults(&kept))
}
