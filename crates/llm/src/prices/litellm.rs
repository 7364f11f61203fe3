//! Reads litellm's list of prices, and keeps the providers' prices of tokens.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::price::{Above, Price};

/// Providers whose ids are those of their own APIs. Others sell the same models under the same ids at other prices.
const PROVIDERS: [&str; 16] = [
    "anthropic",
    "bedrock",
    "bedrock_converse",
    "cerebras",
    "cohere",
    "cohere_chat",
    "deepseek",
    "gemini",
    "groq",
    "mistral",
    "moonshot",
    "openai",
    "openrouter",
    "together_ai",
    "xai",
    "zai",
];

/// Modes that are priced by tokens alone.
const MODES: [&str; 4] = ["chat", "responses", "completion", "embedding"];

/// The prices by the providers' ids. An id with two prices is left out.
pub(super) fn models(text: &str) -> Result<BTreeMap<String, Price>, serde_json::Error> {
    let all: Map<String, Value> = serde_json::from_str(text)?;
    let mut models: BTreeMap<String, Option<Price>> = BTreeMap::new();
    for (name, model) in &all {
        let Some((id, price)) = price(name, model) else { continue };
        models
            .entry(id)
            .and_modify(|known| {
                if known.as_ref() != Some(&price) {
                    *known = None;
                }
            })
            .or_insert_with(|| Some(price.clone()));
    }
    Ok(models.into_iter().filter_map(|(id, price)| Some((id, price?))).collect())
}

/// `None` for models that are not priced by tokens, and for prices that [`Price`] cannot express.
fn price(name: &str, model: &Value) -> Option<(String, Price)> {
    let text = |key: &str| model.get(key).and_then(Value::as_str);
    let provider = text("litellm_provider").filter(|provider| PROVIDERS.contains(provider))?;
    text("mode").filter(|mode| MODES.contains(mode))?;
    let cost = |key: &str| model.get(key).and_then(Value::as_f64).map(per_million);
    let price = Price {
        input_per_million: cost("input_cost_per_token")?,
        output_per_million: cost("output_cost_per_token").unwrap_or(0.0),
        cached_input_per_million: cost("cache_read_input_token_cost"),
        cache_write_per_million: cost("cache_creation_input_token_cost"),
        above: above(model.as_object()?),
        ..Price::FREE
    };
    // Zeros in the list mean that there is no price.
    let is_known = price.input_per_million > 0.0 || price.output_per_million > 0.0;
    let reasoning = cost("output_cost_per_reasoning_token").unwrap_or(price.output_per_million);
    let is_plain = model.get("tiered_pricing").is_none() && reasoning == price.output_per_million;
    let own = name.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/'));
    let id = own.or_else(|| name.strip_prefix("bedrock/")).unwrap_or(name);
    (is_known && is_plain && price.is_valid()).then(|| (id.to_owned(), price))
}

/// `input_cost_per_token_above_200k_tokens` and its like; the shortest first.
fn above(model: &Map<String, Value>) -> Vec<Above> {
    let mut tiers: BTreeMap<u64, Above> = BTreeMap::new();
    for (key, value) in model {
        let Some((kind, thousands)) = key.strip_suffix("k_tokens").and_then(|key| key.rsplit_once("_above_")) else {
            continue;
        };
        let (Ok(thousands), Some(cost)) = (thousands.parse::<u64>(), value.as_f64().map(per_million)) else { continue };
        let field: fn(&mut Above) -> &mut Option<f64> = match kind {
            "input_cost_per_token" => |above| &mut above.input_per_million,
            "output_cost_per_token" => |above| &mut above.output_per_million,
            "cache_read_input_token_cost" => |above| &mut above.cached_input_per_million,
            "cache_creation_input_token_cost" => |above| &mut above.cache_write_per_million,
            _ => continue,
        };
        let tokens = thousands.saturating_mul(1_000);
        *field(tiers.entry(tokens).or_insert(Above { tokens, ..Above::default() })) = Some(cost);
    }
    tiers.into_values().collect()
}

/// Rounded, because the list's decimal prices per token are not exact as doubles.
fn per_million(per_token: f64) -> f64 {
    (per_token * 1e15).round() / 1e9
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(list: &Value) -> BTreeMap<String, Price> {
        models(&list.to_string()).expect("a list")
    }

    #[test]
    fn an_entry_becomes_a_price() {
        let list = json!({
            "sample_spec": { "litellm_provider": "one of …", "mode": "one of: chat" },
            "gpt-5": {
                "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.25e-6, "output_cost_per_token": 1e-5,
                "cache_read_input_token_cost": 1.25e-7, "input_cost_per_token_batches": 6.25e-7,
                "input_cost_per_token_above_272k_tokens": 2.5e-6, "input_cost_per_token_above_272k_tokens_priority": 9e-6,
            },
            "mistral/large": {
                "litellm_provider": "mistral", "mode": "chat", "input_cost_per_token": 5e-7, "output_cost_per_token": 1.5e-6,
                "cache_creation_input_token_cost": 6e-7, "cache_creation_input_token_cost_above_1hr": 9e-7,
            },
            "bedrock/us-east-1/nova": { "litellm_provider": "bedrock_converse", "mode": "chat", "input_cost_per_token": 1e-6 },
            "embed": { "litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 2e-8, "output_cost_per_token": 0 },
        });
        let usual = Price::FREE;
        let expected = BTreeMap::from([
            (
                "gpt-5".to_owned(),
                Price {
                    input_per_million: 1.25,
                    output_per_million: 10.0,
                    cached_input_per_million: Some(0.125),
                    above: vec![Above { tokens: 272_000, input_per_million: Some(2.5), ..Above::default() }],
                    ..usual.clone()
                },
            ),
            (
                "large".to_owned(),
                Price {
                    input_per_million: 0.5,
                    output_per_million: 1.5,
                    cache_write_per_million: Some(0.6),
                    ..usual.clone()
                },
            ),
            ("us-east-1/nova".to_owned(), Price { input_per_million: 1.0, ..usual.clone() }),
            ("embed".to_owned(), Price { input_per_million: 0.02, ..usual }),
        ]);
        assert_eq!(read(&list), expected);
    }

    #[test]
    fn models_with_other_prices_are_left_out() {
        let with = |provider: &str, mode: &str, more: Value| {
            let mut entry = json!({
                "litellm_provider": provider, "mode": mode, "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6,
            });
            entry.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            json!({ "m": entry })
        };
        assert_eq!(read(&with("openai", "chat", json!({}))).len(), 1);
        for list in [
            with("reseller", "chat", json!({})),
            with("openai", "image_generation", json!({})),
            with("openai", "chat", json!({ "tiered_pricing": [] })),
            with("openai", "chat", json!({ "output_cost_per_reasoning_token": 5e-6 })),
            with("openai", "chat", json!({ "input_cost_per_token": null })),
            with("openai", "chat", json!({ "input_cost_per_token": 0, "output_cost_per_token": 0 })),
            with("openai", "chat", json!({ "input_cost_per_token": -1 })),
            json!({ "m": 5 }),
        ] {
            assert!(read(&list).is_empty(), "{list}");
        }
        // Two prices for one id.
        let mut list = with("openai", "chat", json!({}));
        list["groq/m"] = json!({ "litellm_provider": "groq", "mode": "chat", "input_cost_per_token": 9e-6 });
        assert!(read(&list).is_empty());
    }
}
