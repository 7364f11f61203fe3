//! Looks for faults in the file and its tables, as they are at one moment.

use std::collections::BTreeMap;

use sqlx::{SqliteConnection, SqlitePool, query_as, query_scalar};

use super::results;
use crate::{
    Error, Fault,
    audit::{ALONE, FAULTS, PAGE, PIECES, Sums, faults},
};

const DAMAGED: &str = "the file is damaged";

pub(super) async fn read(readers: &SqlitePool) -> Result<Vec<Fault>, Error> {
    let mut reading = readers.begin().await?;
    let damaged: Vec<String> = query_scalar("pragma integrity_check(20)").fetch_all(&mut *reading).await?;
    let mut found: Vec<Fault> = faults(DAMAGED, damaged.into_iter().filter(|line| line != "ok").collect()).collect();
    for (what, statement) in FAULTS {
        found.extend(faults(what, query_scalar(statement).fetch_all(&mut *reading).await?));
    }
    let lacking = query_scalar(
        "select 'segment ' || sequence || ' of session ' || session from segment
         where first_piece is not null and pieces <>
             (select count(*) from piece where key >= first_piece and key < first_piece + pieces)",
    );
    found.extend(faults(PIECES, lacking.fetch_all(&mut *reading).await?));
    // Ranges of keys do not overlap.
    let alone = query_scalar(
        "select alone || ' pieces' from (
             select (select count(*) from piece) - (select coalesce(sum(
                 (select count(*) from piece where key >= first_piece and key < first_piece + pieces)), 0)
                 from segment where first_piece is not null) as alone)
         where alone <> 0",
    );
    found.extend(faults(ALONE, alone.fetch_all(&mut *reading).await?));
    found.extend(spending(&mut reading).await?);
    reading.rollback().await?;
    Ok(found)
}

async fn spending(reading: &mut SqliteConnection) -> Result<Vec<Fault>, Error> {
    let runs = query_as("select key, id, preflight from run where not deleted").fetch_all(&mut *reading).await?;
    let mut sums = Sums::of(runs)?;
    let (mut session, mut sequence) = (-1, 0);
    loop {
        let page: Vec<(i64, i64, i64, String)> = query_as(
            "select session, sequence, run, spend from segment where (session, sequence) > (?1, ?2)
             order by session, sequence limit ?3",
        )
        .bind(session)
        .bind(sequence)
        .bind(PAGE)
        .fetch_all(&mut *reading)
        .await?;
        let Some((last_session, last_sequence, ..)) = page.last() else { break };
        (session, sequence) = (*last_session, *last_sequence);
        for (.., run, spend) in &page {
            sums.add(*run, Some(spend))?;
        }
    }
    let mut kept = BTreeMap::new();
    for run in sums.runs() {
        kept.insert(run, results::spend_of(&mut *reading, run).await?);
    }
    Ok(sums.faults(&kept))
}
