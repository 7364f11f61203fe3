//! The budget of a run: where it is written, and whether it can be kept. A budget is refused where the most that a call costs
//! is unknown.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use llm::{
    endpoint::Settings as Endpoint,
    money::{Funds, Purses},
};
use record::Usd;
use scenario::Plan;
use worker::Resources;

use crate::{
    diagnostics, dollars,
    estimate::Money,
    exit::usage,
    judges,
    settings::{self, MOCK, Read, Settings},
};

/// The name of no run: calls outside of runs have it.
const OUTSIDE: &str = "";

#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct MaxCost {
    /// Stop the run before it costs more than this, in US dollars, whatever fails; `resume` may raise it
    #[arg(long, value_name = "USD", value_parser = parsed)]
    pub(crate) max_cost: Option<f64>,
}

impl MaxCost {
    /// The flag, or `max_cost` of the settings.
    pub(crate) fn or_settings(self, settings: &Settings) -> Option<Usd> {
        self.max_cost.or(settings.max_cost).map(nanos)
    }

    pub(crate) fn flag(self) -> Option<Usd> {
        self.max_cost.map(nanos)
    }
}

fn nanos(dollars: f64) -> Usd {
    Usd((dollars * 1e9).round() as i64)
}

fn parsed(text: &str) -> Result<f64, String> {
    let number: f64 =
        text.trim_start_matches('$').parse().map_err(|_| "it is not a number of US dollars".to_owned())?;
    dollars::fault(number).map_or(Ok(number), Err)
}

/// While it lives, calls outside of runs cost no more than this.
pub(crate) fn outside_of_runs(resources: &Resources, most: Usd) -> Outside {
    let purses = Arc::clone(&resources.purses);
    purses.open(OUTSIDE);
    // A call that is too dear fails: nobody gives more.
    purses.fund(OUTSIDE, Funds { granted: most.0, short: false, used_up: true });
    Outside { purses }
}

/// See [`outside_of_runs`].
pub(crate) struct Outside {
    purses: Arc<Purses>,
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.purses.forget();
    }
}

/// Something in the settings without which a budget cannot be kept.
struct Gap {
    /// The keys that lead there.
    place: Vec<String>,
    reason: String,
}

/// That the budget can be kept for these agents: every call has a price and a bound.
///
/// # Errors
/// An endpoint or an agent lacks one. The findings are printed, with file and line.
pub(crate) fn check(agents: &[String], read: &Read) -> anyhow::Result<()> {
    let gaps = gaps(agents, &read.settings);
    if gaps.is_empty() {
        return Ok(());
    }
    let Some(file) = &read.file else {
        let gap = gaps.first().map(|gap| format!("{} {}", gap.place.join("."), gap.reason)).unwrap_or_default();
        return Err(usage(anyhow!("the budget (`max_cost`) cannot be kept: {gap}")));
    };
    let path = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {path}")).map_err(usage)?;
    let document = settings::open(&text, &path).map_err(|found| usage(anyhow!("{found}")))?;
    let mut findings = yaml::Findings::new(&path);
    for Gap { place, reason } in gaps {
        let path: Vec<&str> = place.iter().map(String::as_str).collect();
        settings::vetting::error(&document, &mut findings, &path, &reason);
    }
    let found = findings.into_sorted();
    diagnostics::print(&found);
    Err(usage(anyhow!("the budget (`max_cost`) cannot be kept: {}", diagnostics::count(&found))))
}

fn gaps(agents: &[String], settings: &Settings) -> Vec<Gap> {
    let roles = [("judge", &settings.roles.judge), ("user_sim", &settings.roles.user_sim)];
    let roles = roles.into_iter().filter_map(|(role, name)| Some((format!("roles.{role}"), name.clone()?)));
    let models = settings.models.iter().map(|(model_type, name)| (format!("models.{model_type}"), name.clone()));
    let scores = settings.scores.endpoints().unwrap_or_default().into_iter();
    let scores = scores.map(|(measure, name)| (format!("scores.{measure}"), name.to_owned()));
    let mut gaps: Vec<Gap> = Vec::new();
    for (user, name) in roles.chain(models).chain(scores) {
        let Some(endpoint) = settings.endpoints.get(&name) else { continue };
        if gaps.iter().all(|gap| gap.place.get(1) != Some(&name)) {
            gaps.extend(gap_of_model(&user, &name, endpoint, settings));
        }
    }
    for name in agents {
        if let Some(gap) = gap_of_agent(name, settings)
            && gaps.iter().all(|known| known.place != gap.place)
        {
            gaps.push(gap);
        }
    }
    gaps
}

fn gap_of_model(user: &str, name: &str, endpoint: &Endpoint, settings: &Settings) -> Option<Gap> {
    if judges::is_mock(settings, Some(name)) {
        return None;
    }
    let gap = |key: &str, reason: String| Gap { place: ["endpoints", name, key].map(str::to_owned).into(), reason };
    if endpoint.price().is_none() {
        let why = format!(
            "is missing: {user} uses this endpoint, and a budget counts what it costs\nhint: write `price: {{ input_per_million: 0.15, output_per_million: 0.60 }}`, or `price: auto` for a model of the price table"
        );
        return Some(gap("price", why));
    }
    (!endpoint.bounds_output(true)).then(|| unbounded(name))
}

/// An agent without a price has no cost.
fn gap_of_agent(name: &str, settings: &Settings) -> Option<Gap> {
    let agent = settings.agents.get(name)?;
    if let Some(price) = agent.price {
        let of_tokens = price.input_per_million > 0.0 || price.output_per_million > 0.0;
        return of_tokens.then(|| Gap {
            place: ["agents", name, "price"].map(str::to_owned).into(),
            reason: "is for tokens, and nobody knows before a call how many this agent uses, so a budget cannot be kept\nhint: a budget counts `per_call`, the price of a message".to_owned(),
        });
    }
    let endpoint = agent.endpoint.as_ref()?;
    let written = settings.endpoints.get(endpoint)?;
    written.price()?;
    let sends_cap = agent.max_tokens.is_some();
    (!judges::is_mock(settings, Some(endpoint)) && !written.bounds_output(sends_cap)).then(|| match sends_cap {
        true => unbounded(endpoint),
        false => Gap {
            place: ["agents", name, "max_tokens"].map(str::to_owned).into(),
            reason: "is missing: a budget has to know the longest reply of an agent with a price\nhint: write `max_tokens: 1024`, which is sent with each call, or `max_output_tokens` of the endpoint".to_owned(),
        },
    })
}

/// `params` of the endpoint take the limit of each call away.
fn unbounded(endpoint: &str) -> Gap {
    let place = ["endpoints", endpoint, "max_output_tokens"].map(str::to_owned).into();
    let reason = "is missing: `params` take the token limit out of each call, and a budget has to know the longest reply\nhint: write the longest reply of the model, such as `max_output_tokens: 16384`";
    Gap { place, reason: reason.to_owned() }
}

/// Agents whose calls count as free.
pub(crate) fn free_agents<'a>(plan: &'a Plan, settings: &Settings) -> Vec<&'a str> {
    let is_priced = |name: &str| {
        let agent = settings.agents.get(name);
        let endpoint = agent.and_then(|agent| agent.endpoint.as_deref()).unwrap_or(name);
        name == MOCK
            || judges::is_mock_agent(settings, name)
            || agent.is_some_and(|agent| agent.price.is_some())
            || settings.endpoints.get(endpoint).is_some_and(|endpoint| endpoint.price().is_some())
    };
    plan.agents.iter().map(String::as_str).filter(|name| !is_priced(name)).collect()
}

/// What `--dry-run` says of it.
pub(crate) fn text(budget: Usd, money: &Money, plan: &Plan, settings: &Settings) -> String {
    let most = budget.dollars();
    let relation = if money.low > most {
        "less than the estimate: the run will stop before its end"
    } else if money.high > most {
        "within the estimate: the run may stop before its end"
    } else {
        "more than the estimate"
    };
    let free = free_agents(plan, settings);
    let free = match free.as_slice() {
        [] => String::new(),
        names => format!("; without a price, calls to {} count as free", names.join(", ")),
    };
    format!("budget {budget}, {relation}{free}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(settings: Value) -> Vec<String> {
        let settings: Settings = serde_json::from_value(settings).expect("settings");
        let gaps = gaps(&["bot".to_owned()], &settings);
        gaps.into_iter().map(|gap| gap.place.join(".")).collect()
    }

    #[test]
    fn a_budget_needs_a_price_and_a_bound_of_every_call() {
        let price = json!({ "input_per_million": 1, "output_per_million": 2 });
        let judge = |more: Value| {
            let mut judge = json!({ "url": "http://h", "model": "m" });
            judge.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            json!({ "endpoints": { "j": judge }, "roles": { "judge": "j" } })
        };
        let agent =
            |agent: Value, endpoint: Value| json!({ "agents": { "bot": agent }, "endpoints": { "e": endpoint } });
        let rows = [
            (json!({}), vec![]),
            (judge(json!({})), vec!["endpoints.j.price"]),
            (judge(json!({ "price": price })), vec![]),
            (judge(json!({ "price": price, "params": { "max_tokens": null } })), vec!["endpoints.j.max_output_tokens"]),
            (judge(json!({ "price": price, "params": { "max_tokens": null }, "max_output_tokens": 9 })), vec![]),
            (judge(json!({ "price": price, "params": { "max_tokens": 9 } })), vec![]),
            (agent(json!({ "endpoint": "e" }), json!({ "url": "http://h" })), vec![]),
            (
                agent(json!({ "endpoint": "e" }), json!({ "url": "http://h", "price": price })),
                vec!["agents.bot.max_tokens"],
            ),
            (agent(json!({ "endpoint": "e", "max_tokens": 9 }), json!({ "url": "http://h", "price": price })), vec![]),
            (agent(json!({ "endpoint": "e" }), json!({ "kind": "mock", "price": price })), vec![]),
            (agent(json!({ "http": { "url": "http://h" }, "price": { "per_call": 1 } }), json!({})), vec![]),
            (agent(json!({ "http": { "url": "http://h" }, "price": price }), json!({})), vec!["agents.bot.price"]),
        ];
        for (settings, expected) in rows {
            assert_eq!(found(settings.clone()), expected, "{settings}");
        }
    }

    #[test]
    fn a_budget_is_an_amount_of_money() {
        for text in ["20", "$20", "0.05", "1e2"] {
            assert!(parsed(text).is_ok(), "{text}");
        }
        for text in ["", "0", "-1", "twenty", "nan", "inf", "1e9"] {
            assert!(parsed(text).is_err(), "{text}");
        }
        assert_eq!(nanos(0.1), Usd(100_000_000));
    }
}
