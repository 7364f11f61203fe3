//! The attempts that do not count.

use scenario::RunId;
use sqlx::{SqlitePool, query_as};

use super::runs;
use crate::{
    Error, StoredAttempt,
    attempt_columns::{Columns, attempt, behind},
};

pub(super) async fn read(
    readers: &SqlitePool,
    run: &RunId,
    after: Option<(u64, u32)>,
    limit: u32,
) -> Result<Vec<StoredAttempt>, Error> {
    let run = runs::key(readers, run).await?;
    let (number, epoch) = behind(after);
    let rows: Vec<Columns> = query_as(
        "select number, epoch, session, null, begun, given_up, lost_at from attempt
         where run = ?1 and (number, epoch) > (?2, ?3)
         union all
         select number, epoch, session, body, 1, 0, 0 from replaced where run = ?1 and (number, epoch) > (?2, ?3)
         order by 1, 2 limit ?4",
    )
    .bind(run)
    .bind(number)
    .bind(epoch)
    .bind(limit)
    .fetch_all(readers)
    .await?;
    rows.into_iter().map(attempt).collect()
}
