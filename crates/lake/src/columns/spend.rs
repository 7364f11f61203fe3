//! What all attempts used and cost, by role and model.

use record::{Role, call::SpendLine};

use crate::{Facts, value::Value};

struct It<'a> {
    facts: &'a Facts,
    role: Role,
    model: &'a str,
    line: &'a SpendLine,
}

super::table::columns! { row(it: It<'_>);
    "run" Text "The run's id." it.facts.id.as_str();
    "role" Text "`agent`, `user_sim`, `judge` or `scorer`." it.role.name();
    "model" Text "The model that answered, as its endpoint names it." it.model;
    "calls" Int "Calls." it.line.calls;
    "input_tokens" Int "Tokens that the model read, with cache reads and writes." it.line.tokens.input;
    "output_tokens" Int "Tokens that the model wrote, with reasoning." it.line.tokens.output;
    "cached_input_tokens" Int "Those of `input_tokens` from the provider's cache." it.line.tokens.cached_input;
    "cache_write_tokens" Int "Those of `input_tokens` written to the provider's cache." it.line.tokens.cache_write;
    "reasoning_tokens" Int "Those of `output_tokens` before the answer." it.line.tokens.reasoning;
    "cost_nanos" Int "Their cost, in billionths of a dollar; a lower bound if there are unpriced calls." it.line.cost.0;
    "reported_cost_nanos" Int "The cost as far as providers reported it." it.line.reported_cost.0;
    "unpriced_calls" Int "Calls without a price, and lost tries." it.line.unpriced_calls;
    "estimated_calls" Int "Calls whose tokens are estimated." it.line.estimated_calls;
    "cut_calls" Int "Calls whose reply a token limit cut." it.line.cut_calls;
    "tries" Int "Requests: one for each call, and one more for each retry." it.line.tries;
    "throttled_tries" Int "Tries that were answered with 429." it.line.throttled_tries;
    "wait_micros" Int "Rate-limit waits." it.line.wait_micros;
}

pub(crate) fn line(facts: &Facts, role: Role, model: &str, line: &SpendLine) -> Vec<Value> {
    row(&It { facts, role, model, line })
}
