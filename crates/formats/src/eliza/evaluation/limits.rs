//! The kinds that limit what the agent's replies take: time, tokens, money.

use schemars::JsonSchema;
use serde::Deserialize;

use super::fields;
use crate::bounded::{Amount, Dollars, Millis};
use scenario::Rule;
use yaml::{Findings, Part};

/// No reply of the agent took longer; waits for permits are not counted.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Latency {
    /// Words for people.
    description: Option<String>,
    /// To the end of the reply, in milliseconds.
    max_total_ms: Option<Millis>,
    /// To the first token of a streamed reply, in milliseconds.
    max_ttft_ms: Option<Millis>,
}

/// The agent's replies together used no more.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Spend {
    /// Words for people.
    description: Option<String>,
    /// In US dollars, by the prices of the settings.
    max_usd: Option<Dollars>,
    /// Input and output together.
    max_tokens: Option<Amount>,
}

pub(super) fn read(kind: &str, part: &Part<'_>, findings: &mut Findings) -> Option<(Option<String>, Rule)> {
    if kind == "latency" {
        let Latency { description, max_total_ms, max_ttft_ms } = fields(part, findings)?;
        one_of(&["max_total_ms", "max_ttft_ms"], part, findings);
        let (max_total_ms, max_ttft_ms) = (max_total_ms.map(|most| most.0), max_ttft_ms.map(|most| most.0));
        return Some((description, Rule::Latency { max_total_ms, max_ttft_ms }));
    }
    let Spend { description, max_usd, max_tokens } = fields(part, findings)?;
    one_of(&["max_usd", "max_tokens"], part, findings);
    let (max_usd, max_tokens) = (max_usd.map(|most| most.0), max_tokens.map(|most| most.0));
    Some((description, Rule::Spend { max_usd, max_tokens }))
}

fn one_of(keys: &[&str], part: &Part<'_>, findings: &mut Findings) {
    if keys.iter().all(|key| part.get(key).is_none()) {
        findings.error(part.spot(), format!("there is no limit: expected `{}`", keys.join("` or `")));
    }
}
