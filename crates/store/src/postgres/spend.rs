//! The summed usage of a run's attempts.

use record::{
    Role, Tokens, Usd,
    call::{Spend, SpendLine},
};
use sqlx::{PgExecutor, PgPool, Row as _, query};

use super::{runs, server::Writing};
use crate::{
    Error,
    values::{bound, natural},
};

/// Adds a spend to that of a run. The sums saturate, because a worker's claim must not cause a failure.
pub(super) async fn add(writing: &mut Writing, run: i64, spend: &Spend) -> Result<(), Error> {
    if spend.is_empty() {
        return Ok(());
    }
    let (mut roles, mut models) = (Vec::new(), Vec::new());
    let mut numbers: [Vec<i64>; COLUMNS] = Default::default();
    // Ascending by role and model, so that two transactions take the rows in the same order.
    for ((role, model), line) in &spend.lines {
        roles.push(role.name());
        // PostgreSQL stores no U+0000.
        models.push(model.replace('\0', "\u{fffd}"));
        for (column, number) in numbers.iter_mut().zip(columns(line)) {
            column.push(number);
        }
    }
    let mut statement = query(
        "insert into spend (run, role, model, calls, input_tokens, output_tokens, cost_nanos, unpriced_calls,
             estimated_calls, tries, throttled_tries, wait_micros, cached_input_tokens, cache_write_tokens,
             reasoning_tokens, plain_priced_calls, cut_calls, reported_cost_nanos)
         select $1, used.* from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
             $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
             $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[]) as used
         on conflict (run, role, model) do update set
             calls = least(spend.calls, 9223372036854775807 - excluded.calls) + excluded.calls,
             input_tokens = least(spend.input_tokens, 9223372036854775807 - excluded.input_tokens) + excluded.input_tokens,
             output_tokens = least(spend.output_tokens, 9223372036854775807 - excluded.output_tokens) + excluded.output_tokens,
             cost_nanos = least(spend.cost_nanos, 9223372036854775807 - excluded.cost_nanos) + excluded.cost_nanos,
             unpriced_calls = least(spend.unpriced_calls, 9223372036854775807 - excluded.unpriced_calls) + excluded.unpriced_calls,
             estimated_calls = least(spend.estimated_calls, 9223372036854775807 - excluded.estimated_calls) + excluded.estimated_calls,
             tries = least(spend.tries, 9223372036854775807 - excluded.tries) + excluded.tries,
             throttled_tries = least(spend.throttled_tries, 9223372036854775807 - excluded.throttled_tries) + excluded.throttled_tries,
             wait_micros = least(spend.wait_micros, 9223372036854775807 - excluded.wait_micros) + excluded.wait_micros,
             cached_input_tokens = least(spend.cached_input_tokens, 9223372036854775807 - excluded.cached_input_tokens) + excluded.cached_input_tokens,
             cache_write_tokens = least(spend.cache_write_tokens, 9223372036854775807 - excluded.cache_write_tokens) + excluded.cache_write_tokens,
             reasoning_tokens = least(spend.reasoning_tokens, 9223372036854775807 - excluded.reasoning_tokens) + excluded.reasoning_tokens,
             plain_priced_calls = least(spend.plain_priced_calls, 9223372036854775807 - excluded.plain_priced_calls) + excluded.plain_priced_calls,
             cut_calls = least(spend.cut_calls, 9223372036854775807 - excluded.cut_calls) + excluded.cut_calls,
             reported_cost_nanos = least(spend.reported_cost_nanos, 9223372036854775807 - excluded.reported_cost_nanos) + excluded.reported_cost_nanos",
    )
    .bind(run)
    .bind(roles)
    .bind(models);
    for column in numbers {
        statement = statement.bind(column);
    }
    statement.execute(&mut **writing).await?;
    Ok(())
}

const COLUMNS: usize = 15;

/// In the order of the statement.
fn columns(line: &SpendLine) -> [i64; COLUMNS] {
    [
        bound(line.calls),
        bound(line.tokens.input),
        bound(line.tokens.output),
        line.cost.0,
        bound(line.unpriced_calls),
        bound(line.estimated_calls),
        bound(line.tries),
        bound(line.throttled_tries),
        bound(line.wait_micros),
        bound(line.tokens.cached_input),
        bound(line.tokens.cache_write),
        bound(line.tokens.reasoning),
        bound(line.plain_priced_calls),
        bound(line.cut_calls),
        line.reported_cost.0,
    ]
}

pub(super) async fn read(pool: &PgPool, run: &scenario::RunId) -> Result<Spend, Error> {
    of(pool, runs::key(pool, run).await?).await
}

/// By the key of the run.
pub(super) async fn of(reader: impl PgExecutor<'_>, run: i64) -> Result<Spend, Error> {
    let rows = query("select * from spend where run = $1").bind(run).fetch_all(reader).await?;
    let mut spend = Spend::default();
    for row in rows {
        let count = |column: &str| natural(row.try_get::<i64, _>(column)?);
        let name: String = row.try_get("role")?;
        let model: String = row.try_get("model")?;
        let role = Role::ALL.into_iter().find(|role| role.name() == name);
        let role = role.ok_or_else(|| Error::Failed(format!("{name} where a role is kept")))?;
        let line = SpendLine {
            calls: count("calls")?,
            tokens: Tokens {
                input: count("input_tokens")?,
                output: count("output_tokens")?,
                cached_input: count("cached_input_tokens")?,
                cache_write: count("cache_write_tokens")?,
                reasoning: count("reasoning_tokens")?,
            },
            cost: Usd(row.try_get("cost_nanos")?),
            unpriced_calls: count("unpriced_calls")?,
            estimated_calls: count("estimated_calls")?,
            tries: count("tries")?,
            throttled_tries: count("throttled_tries")?,
            wait_micros: count("wait_micros")?,
            plain_priced_calls: count("plain_priced_calls")?,
            cut_calls: count("cut_calls")?,
            reported_cost: Usd(row.try_get("reported_cost_nanos")?),
        };
        spend.add_line(role, &model, line);
    }
    Ok(spend)
}
