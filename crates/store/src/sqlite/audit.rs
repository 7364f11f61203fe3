//! Looks for faults in the file and its tables.

use record::{Role, call::Spend};
use sqlx::{SqlitePool, query_as, query_scalar};

use super::results;
use crate::{
    Error, Fault,
    audit::{FAULTS, faults},
};

const DAMAGED: &str = "the file is damaged";
const PIECES: &str = "a segment lacks pieces";
const SUMS: &str = "the spending of a run is not the sum of its segments";
/// Segments that are read at a time.
const PAGE: i64 = 1_000;

pub(super) async fn read(readers: &SqlitePool) -> Result<Vec<Fault>, Error> {
    let damaged: Vec<String> = query_scalar("pragma integrity_check(20)").fetch_all(readers).await?;
    let mut found: Vec<Fault> = faults(DAMAGED, damaged.into_iter().filter(|line| line != "ok").collect()).collect();
    for (what, statement) in FAULTS {
        found.extend(faults(what, query_scalar(statement).fetch_all(readers).await?));
    }
    let places = query_scalar(
        "select 'segment ' || sequence || ' of session ' || session from segment
         where first_piece is not null and pieces <>
             (select count(*) from piece where key >= first_piece and key < first_piece + pieces)",
    );
    found.extend(faults(PIECES, places.fetch_all(readers).await?));
    let runs: Vec<(i64, String, String)> =
        query_as("select key, id, preflight from run where not deleted").fetch_all(readers).await?;
    let mut wrong = Vec::new();
    for (key, id, preflight) in runs {
        let sum = sum(readers, key, &preflight).await?;
        let kept = results::spend_of(readers, key).await?;
        for role in Role::ALL.into_iter().filter(|role| sum.of(*role) != kept.of(*role)) {
            let (sum, kept) = (sum.of(role), kept.of(role));
            wrong.push(format!(
                "{id}: {}: {} calls and {} nano-dollars, not {} and {}",
                role.name(),
                kept.calls,
                kept.cost.0,
                sum.calls,
                sum.cost.0
            ));
        }
    }
    found.extend(faults(SUMS, wrong));
    Ok(found)
}

async fn sum(readers: &SqlitePool, run: i64, preflight: &str) -> Result<Spend, Error> {
    let read = |json: &str| -> Result<Spend, Error> {
        serde_json::from_str(json).map_err(|error| Error::Failed(format!("a stored spend: {error}")))
    };
    let mut sum = read(preflight)?;
    let (mut session, mut sequence) = (-1, 0);
    loop {
        let page: Vec<(i64, i64, String)> = query_as(
            "select session, sequence, spend from segment where run = ?1 and (session, sequence) > (?2, ?3)
             order by session, sequence limit ?4",
        )
        .bind(run)
        .bind(session)
        .bind(sequence)
        .bind(PAGE)
        .fetch_all(readers)
        .await?;
        let Some((last_session, last_sequence, _)) = page.last() else { return Ok(sum) };
        (session, sequence) = (*last_session, *last_sequence);
        for (_, _, spend) in &page {
            sum.add(&read(spend)?);
        }
    }
}
