//! The summed usage of a run's attempts.

use sqlx::query;

use super::writer::Writing;
use crate::Error;

/// Adds a spend, as JSON, to that of a run. The sums saturate, because a worker's claim must not cause a failure.
pub(super) async fn add_spend(writing: &mut Writing<'_>, run: i64, spend: &str) -> Result<(), Error> {
    query(
        "insert into spend (run, role, model, calls, input_tokens, output_tokens, cost_nanos, unpriced_calls,
             estimated_calls, tries, throttled_tries, wait_micros, cached_input_tokens, cache_write_tokens,
             reasoning_tokens, plain_priced_calls, cut_calls, reported_cost_nanos)
         select ?1, used.value ->> '$.role', used.value ->> '$.model', used.value ->> '$.line.calls',
             used.value ->> '$.line.tokens.input', used.value ->> '$.line.tokens.output',
             used.value ->> '$.line.cost', used.value ->> '$.line.unpriced_calls',
             used.value ->> '$.line.estimated_calls', used.value ->> '$.line.tries',
             used.value ->> '$.line.throttled_tries', used.value ->> '$.line.wait_micros',
             coalesce(used.value ->> '$.line.tokens.cached_input', 0),
             coalesce(used.value ->> '$.line.tokens.cache_write', 0),
             coalesce(used.value ->> '$.line.tokens.reasoning', 0),
             coalesce(used.value ->> '$.line.plain_priced_calls', 0),
             coalesce(used.value ->> '$.line.cut_calls', 0),
             coalesce(used.value ->> '$.line.reported_cost', 0)
         from json_each(?2) as used where true
         on conflict (run, role, model) do update set
             calls = min(calls, 9223372036854775807 - excluded.calls) + excluded.calls,
             input_tokens = min(input_tokens, 9223372036854775807 - excluded.input_tokens) + excluded.input_tokens,
             output_tokens = min(output_tokens, 9223372036854775807 - excluded.output_tokens) + excluded.output_tokens,
             cost_nanos = min(cost_nanos, 9223372036854775807 - excluded.cost_nanos) + excluded.cost_nanos,
             unpriced_calls = min(unpriced_calls, 9223372036854775807 - excluded.unpriced_calls) + excluded.unpriced_calls,
             estimated_calls = min(estimated_calls, 9223372036854775807 - excluded.estimated_calls) + excluded.estimated_calls,
             tries = min(tries, 9223372036854775807 - excluded.tries) + excluded.tries,
             throttled_tries = min(throttled_tries, 9223372036854775807 - excluded.throttled_tries) + excluded.throttled_tries,
             wait_micros = min(wait_micros, 9223372036854775807 - excluded.wait_micros) + excluded.wait_micros,
             cached_input_tokens = min(cached_input_tokens, 9223372036854775807 - excluded.cached_input_tokens) + excluded.cached_input_tokens,
             cache_write_tokens = min(cache_write_tokens, 9223372036854775807 - excluded.cache_write_tokens) + excluded.cache_write_tokens,
             reasoning_tokens = min(reasoning_tokens, 9223372036854775807 - excluded.reasoning_tokens) + excluded.reasoning_tokens,
             plain_priced_calls = min(plain_priced_calls, 9223372036854775807 - excluded.plain_priced_calls) + excluded.plain_priced_calls,
             cut_calls = min(cut_calls, 9223372036854775807 - excluded.cut_calls) + excluded.cut_calls,
             reported_cost_nanos = min(reported_cost_nanos, 9223372036854775807 - excluded.reported_cost_nanos) + excluded.reported_cost_nanos",
    )
    .bind(run)
    .bind(spend)
    .execute(&mut writing.connection)
    .await?;
    Ok(())
}
