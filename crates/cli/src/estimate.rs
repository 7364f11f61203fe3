//! What `--dry-run` prints: the cases, and an estimate of calls, tokens, time and money.

mod duration;

use std::fmt::Write as _;

use record::count::plural;
use scenario::{
    Plan,
    estimate::{Estimate, Use, estimate},
};

use crate::settings::{MOCK, Settings};

/// Cases that are listed one by one.
const LISTED: u64 = 40;

pub(crate) fn text(plan: &Plan, settings: &Settings, slots: u32) -> String {
    let size = estimate(plan);
    let mut text = String::new();
    let titles = plan.titles();
    for number in 0..size.cases.min(LISTED) {
        if let Some(case) = plan.case(number) {
            let persona = case.persona.as_deref().map_or(String::new(), |persona| format!("  as {persona}"));
            let variant = plan.question(&case).or(case.combination.as_deref());
            let variant = variant.map_or(String::new(), |variant| format!("  {variant}"));
            let title = titles.get(case.group).unwrap_or(&case.scenario);
            let line = format!("{}  {title}{variant}{persona}  against {}", case.id, case.agent);
            let _ = writeln!(text, "{}", report::terminal::clean(&line));
        }
    }
    if size.cases > LISTED {
        let _ = writeln!(text, "… and {}", plural(size.cases - LISTED, "more case", "more cases"));
    }
    let _ = writeln!(
        text,
        "\n{}, {}, {}",
        plural(size.cases, "case", "cases"),
        plural(size.trials, "trial", "trials"),
        plural(size.conversations, "conversation", "conversations")
    );
    figures(&mut text, &size, plan, settings, slots);
    text
}

fn figures(text: &mut String, size: &Estimate, plan: &Plan, settings: &Settings, slots: u32) {
    let _ = writeln!(text, "\n{:<12} {:>14} {:>16} {:>16}", "role", "calls", "input tokens", "output tokens");
    let (low, high) = (&size.typical, &size.upper);
    for (role, typical, upper) in
        [("agent", low.agent, high.agent), ("user_sim", low.user_sim, high.user_sim), ("judge", low.judge, high.judge)]
    {
        let range = |from: u64, to: u64| format!("{}–{}", short(from), short(to));
        let _ = writeln!(
            text,
            "{role:<12} {:>14} {:>16} {:>16}",
            range(typical.calls, upper.calls),
            range(typical.input_tokens, upper.input_tokens),
            range(typical.output_tokens, upper.output_tokens)
        );
    }
    let _ = writeln!(text, "\ntime   {}", duration::text(size, plan, settings, slots));
    let _ = writeln!(text, "money  {}", money(size, plan, settings));
    let limited = settings.endpoints.values().map(|endpoint| endpoint.limits);
    if limited.chain(settings.agents.values().map(|agent| agent.limits)).any(|limits| limits != Default::default()) {
        let _ = writeln!(text, "limits as in the settings, for all workers together: each uses its share, by slots");
    }
}

fn money(size: &Estimate, plan: &Plan, settings: &Settings) -> String {
    let agent = plan.agents.first().map_or(MOCK, String::as_str);
    let written = settings.agents.get(agent);
    let own_price = written.and_then(|agent| agent.price).map(llm::price::Price::from);
    let agent = endpoint_of(agent, settings);
    let user_sim = settings.roles.user_sim.as_deref().unwrap_or(MOCK);
    let judge = settings.roles.judge.as_deref().unwrap_or(MOCK);
    let (mut low, mut high, mut unpriced) = (0.0, 0.0, Vec::new());
    for (role, endpoint, typical, upper) in [
        ("agent", agent, size.typical.agent, size.upper.agent),
        ("user_sim", user_sim, size.typical.user_sim, size.upper.user_sim),
        ("judge", judge, size.typical.judge, size.upper.judge),
    ] {
        let is_mock =
            settings.endpoints.get(endpoint).map_or(endpoint == MOCK, |found| found.kind == llm::endpoint::Kind::Mock);
        let own = own_price.filter(|_| role == "agent");
        match own.or_else(|| settings.endpoints.get(endpoint).and_then(|endpoint| endpoint.price)) {
            Some(price) => {
                let cost = |used: Use| {
                    let tokens = used.input_tokens as f64 * price.input_per_million
                        + used.output_tokens as f64 * price.output_per_million;
                    tokens / 1e6 + used.calls as f64 * price.per_call
                };
                low += cost(typical);
                high += cost(upper);
            }
            None if is_mock => {}
            None => unpriced.push(role),
        }
    }
    let known = if high > 0.0 { format!("${low:.2} to ${high:.2}") } else { "nothing".to_owned() };
    if unpriced.is_empty() { known } else { format!("{known}, and what is not priced: {}", unpriced.join(", ")) }
}

/// The endpoint that an agent stands on; its own name where it has none.
fn endpoint_of<'a>(agent: &'a str, settings: &'a Settings) -> &'a str {
    match settings.agents.get(agent) {
        Some(agent) if agent.endpoint.is_none() && agent.kind == agent::settings::Kind::Mock => MOCK,
        written => written.and_then(|agent| agent.endpoint.as_deref()).unwrap_or(agent),
    }
}

/// `1234567` as `1.2M`.
fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}
