//! Describes cost and throttling: what is estimated, what is missing, and what delayed calls. Shared by all pages.

use record::{
    call::ASSUMED_OUTPUT_TOKENS,
    summary::{Budget, ModelSpend, Preflight, Totals},
};

use crate::figures::{count, millis, percentile, plural, usd};

/// Shorter rate-limit waits are the limiter's own time and mean nothing.
const SHORTEST_WAIT_MS: f64 = 100.0;

/// Tokens of a line; `~` if a part of them is estimated.
pub(crate) fn tokens(line: &ModelSpend, tokens: u64) -> String {
    marked(line.estimated_calls, count(tokens))
}

/// The cost of a line; `None` if no call of it has a known cost.
pub(crate) fn cost(line: &ModelSpend) -> Option<String> {
    let guessed = line.estimated_calls.saturating_add(line.plain_priced_calls);
    let estimated = if line.cost_usd > 0.0 { guessed } else { 0 };
    (line.calls == 0 || line.unpriced_calls < line.calls).then(|| marked(estimated, usd(line.cost_usd)))
}

/// The cost of the run: `~` if a part of it is estimated, `unknown` if no call has a known cost.
pub(crate) fn total(totals: &Totals) -> String {
    if totals.cost.total_usd <= 0.0 && totals.cost.unpriced_calls > 0 {
        return "unknown".to_owned();
    }
    let priced = totals.models.iter().filter(|line| line.cost_usd > 0.0);
    let guessed = priced.map(|line| line.estimated_calls.saturating_add(line.plain_priced_calls));
    marked(guessed.fold(0, u64::saturating_add), usd(totals.cost.total_usd))
}

/// `~1,234`: a figure with an estimated part.
pub(crate) fn marked(estimated: u64, figure: String) -> String {
    if estimated > 0 { format!("~{figure}") } else { figure }
}

/// The notes below the table of costs.
pub(crate) fn notes(totals: &Totals) -> impl Iterator<Item = String> {
    let kinds = totals.models.iter().filter_map(kinds_of_tokens);
    let reported = totals.models.iter().filter_map(reported);
    kinds.chain(reported).chain([preflight(totals), estimated(totals), unsettled(totals)].into_iter().flatten())
}

/// The kinds of a line's tokens, if they are not all plain.
fn kinds_of_tokens(line: &ModelSpend) -> Option<String> {
    let tokens = &line.tokens;
    let input = [(tokens.cached_input, "came from the cache"), (tokens.cache_write, "were written to the cache")];
    let output = [(tokens.reasoning, "are reasoning")];
    let part = |direction: &str, all: u64, kinds: &[(u64, &str)]| {
        let kinds = kinds.iter().filter(|(tokens, _)| *tokens > 0);
        let kinds: Vec<String> = kinds.map(|(tokens, what)| format!("{} {what}", count(*tokens))).collect();
        (!kinds.is_empty()).then(|| format!("of {} tokens {direction}, {}", count(all), kinds.join(" and ")))
    };
    let parts = [part("in", tokens.input, &input), part("out", tokens.output, &output)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{} {}: {}", line.role.name(), line.model, parts.join("; ")))
}

/// The cost of a line as the provider reported it.
fn reported(line: &ModelSpend) -> Option<String> {
    let own = usd(line.reported_usd?);
    Some(format!("{} {}: the provider itself reports a cost of {own}", line.role.name(), line.model))
}

/// One sentence for each role and model with replies that a token limit cut.
pub(crate) fn cut(totals: &Totals) -> impl Iterator<Item = String> {
    totals.models.iter().filter(|line| line.cut_calls > 0).map(|line| {
        let all = plural(line.calls, "reply", "replies");
        format!("{} {}: a token limit cut {} of {all}", line.role.name(), line.model, count(line.cut_calls))
    })
}

/// The meaning of `~`; `None` if nothing is estimated.
pub(crate) fn estimated(totals: &Totals) -> Option<String> {
    let calls = totals.cost.estimated_calls;
    let all: u64 = totals.models.iter().map(|line| line.calls).sum();
    (calls > 0).then(|| {
        let calls = format!("{} of {}", count(calls), plural(all, "call", "calls"));
        format!("~ is estimated: for {calls} the endpoint did not report how many tokens it used")
    })
}

/// Why the cost does not include all spending; `None` if it does.
pub(crate) fn incomplete(totals: &Totals) -> Option<String> {
    let cost = &totals.cost;
    if cost.complete {
        return None;
    }
    let mut reasons = Vec::new();
    if cost.unpriced_calls > 0 {
        reasons
            .push(format!("{} no known cost", plural(cost.unpriced_calls, "call or try has", "calls or tries have")));
    }
    if cost.estimated_calls > 0 {
        reasons.push(format!("the tokens of {} are estimated", plural(cost.estimated_calls, "call", "calls")));
    }
    if cost.plain_priced_calls > 0 {
        let calls = plural(cost.plain_priced_calls, "call has", "calls have");
        reasons.push(format!(
            "{calls} cached tokens that count as plain input, since `price` has no `cached_input_per_million` or `cache_write_per_million`"
        ));
    }
    if cost.unknown_attempts > 0 {
        let attempts = plural(cost.unknown_attempts, "attempt", "attempts");
        reasons.push(format!("{attempts} lost with their workers may have cost more"));
    }
    if totals.unsettled_usd > 0.0 {
        reasons.push(format!("{} is unsettled", usd(totals.unsettled_usd)));
    }
    Some(reasons.join(", "))
}

/// What the preflight cost; `None` without a preflight.
pub(crate) fn preflight(totals: &Totals) -> Option<String> {
    totals.preflight.as_ref().map(|before| {
        let Preflight { calls, tokens, cost_usd, unpriced_calls, estimated_calls } = before;
        let cost = match (*unpriced_calls, marked(if *cost_usd > 0.0 { *estimated_calls } else { 0 }, usd(*cost_usd))) {
            (0, cost) => cost,
            (unpriced, _) if unpriced >= *calls => "cost unknown".to_owned(),
            (_, cost) => format!("at least {cost}"),
        };
        let read = marked(*estimated_calls, count(tokens.input));
        let written = marked(*estimated_calls, count(tokens.output));
        let calls = plural(*calls, "call", "calls");
        format!(
            "the preflight, before the first trial, is a part of it: {calls}, {read} tokens in, {written} out, {cost}"
        )
    })
}

/// The unsettled spending of lost workers; `None` if there is none.
pub(crate) fn unsettled(totals: &Totals) -> Option<String> {
    (totals.unsettled_usd > 0.0).then(|| {
        format!(
            "lost workers had spent or had in flight at most {} more when they were last heard of (a call without a token limit counts as {} output tokens)",
            usd(totals.unsettled_usd),
            count(u64::from(ASSUMED_OUTPUT_TOKENS))
        )
    })
}

/// What became of the budget, one line for each figure; empty without a budget.
pub(crate) fn budget(totals: &Totals) -> Vec<String> {
    let Some(budget) = totals.budget else { return Vec::new() };
    let Budget { max_cost_usd, spent_usd, reserved_usd, unsettled_usd, left_usd, used_up, trials_not_played } = budget;
    let mut parts = vec![format!("{} spent", usd(spent_usd))];
    for (amount, what) in [(reserved_usd, "reserved"), (unsettled_usd, "unsettled"), (left_usd, "left")] {
        if amount > 0.0 {
            parts.push(format!("{} {what}", usd(amount)));
        }
    }
    let mut lines = vec![format!("budget {}: {}", usd(max_cost_usd), parts.join(", "))];
    if used_up && trials_not_played > 0 {
        let trials = plural(trials_not_played, "trial has", "trials have");
        lines.push(format!(
            "the budget is used up: {trials} no verdict because of it, and `gabfest resume RUN --max-cost USD` plays them"
        ));
    } else if used_up {
        lines.push("the budget is used up".to_owned());
    }
    lines
}

/// One sentence for each role and model whose calls were delayed.
pub(crate) fn throttling(totals: &Totals) -> Vec<String> {
    totals.models.iter().filter_map(held_up).collect()
}

fn held_up(line: &ModelSpend) -> Option<String> {
    let throttling = &line.throttling;
    let mut parts = Vec::new();
    if throttling.throttled_tries > 0 {
        let tries = plural(throttling.tries, "try", "tries");
        parts.push(format!("{} of {tries} met a 429", count(throttling.throttled_tries)));
    } else if throttling.tries > line.calls {
        parts.push(format!("{} for {}", plural(throttling.tries, "try", "tries"), plural(line.calls, "call", "calls")));
    }
    let (service, whole) = (&throttling.service, &throttling.with_retries);
    if !parts.is_empty() && service.count > 0 {
        parts.push(format!(
            "replies took p50 {}, p95 {}; with retries p50 {}, p95 {}, max {}",
            millis(service.p50_ms),
            percentile(service.p95_ms),
            millis(whole.p50_ms),
            percentile(whole.p95_ms),
            millis(whole.max_ms)
        ));
    }
    let wait = &throttling.wait;
    if wait.max_ms >= SHORTEST_WAIT_MS {
        parts.push(format!(
            "rate-limit waits {} in all, p50 {}, p95 {}, max {}",
            millis(throttling.wait_sum_ms),
            millis(wait.p50_ms),
            percentile(wait.p95_ms),
            millis(wait.max_ms)
        ));
    }
    (!parts.is_empty()).then(|| format!("{} {}: {}", line.role.name(), line.model, parts.join("; ")))
}
