//! The attempts that do not count.

use scenario::RunId;
use sqlx::{PgPool, query_as};

use super::runs;
use crate::{
    Error, StoredAttempt,
    attempt_columns::{Columns, attempt, behind},
};

pub(super) async fn read(
    pool: &PgPool,
    run: &RunId,
    after: Option<(u64, u32)>,
    limit: u32,
) -> Result<Vec<StoredAttempt>, Error> {
    let run = runs::key(pool, run).await?;
    let (number, epoch) = behind(after);
    let rows: Vec<Columns> = query_as(
        "select number, epoch, session, null::text, begun, given_up, lost_at from attempt
         where run = $1 and (number, epoch) > ($2, $3)
         union all
         select number, epoch, session, body, true, false, 0 from replaced
         where run = $1 and (number, epoch) > ($2, $3)
         order by 1, 2 limit $4",
    )
    .bind(run)
    .bind(number)
    .bind(epoch)
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(attempt).collect()
}
