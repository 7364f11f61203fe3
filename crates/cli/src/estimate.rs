//! The output of `--dry-run`: the cases, and an estimate of calls, tokens, time and money.

mod asked;
mod cover;
mod curve;
pub(crate) mod duration;
mod load;
mod odds;

use std::fmt::Write as _;

use record::{Usd, count::plural};
use scenario::{
    Plan,
    estimate::{Estimate, Use, estimate},
};

use crate::{budget, replay, settings::Settings};

/// Cases that are listed one by one.
const LISTED: u64 = 40;

pub(crate) fn text(plan: &Plan, settings: &Settings, slots: u32, budget: Option<Usd>) -> String {
    let of_load = plan.load.as_ref().zip(plan.schedule());
    let of_load = of_load.map(|(load, schedule)| load::text(plan, load, &schedule, settings, slots));
    let size = of_load.as_ref().map_or_else(|| estimate(plan, formats::ALL), |found| found.size);
    let mut text = String::new();
    let titles = plan.titles();
    for number in 0..size.cases.min(LISTED) {
        if let Some(case) = plan.case(number) {
            let persona = case.persona.as_deref().map_or(String::new(), |persona| format!("  as {persona}"));
            let variant = plan.variant(&case).or_else(|| case.combination.clone());
            let variant = variant.map_or(String::new(), |variant| format!("  {variant}"));
            let title = titles.get(case.group).unwrap_or(&case.scenario);
            let line = format!("{}  {title}{variant}{persona}  against {}", case.id, case.agent);
            let _ = writeln!(text, "{}", report::clean(&line));
        }
    }
    if size.cases > LISTED {
        let _ = writeln!(text, "… and {}", plural(size.cases - LISTED, "more case", "more cases"));
    }
    let excluded: u64 = plan.groups.iter().map(|group| group.excluded).sum();
    if excluded > 0 {
        let _ =
            writeln!(text, "{} by `exclude` of a matrix", plural(excluded, "case is left out", "cases are left out"));
    }
    text.push_str(&cover::text(plan));
    let cases = plural(size.cases, "case", "cases");
    match &of_load {
        Some(found) => {
            let _ = writeln!(text, "\n{cases}, drawn by weight\n\n{}", found.curves.trim_end());
        }
        None => {
            let (trials, conversations) = (plural(size.trials, "trial", "trials"), size.conversations);
            let conversations = plural(conversations, "conversation", "conversations");
            let most = if plan.decide.is_some() { "at most " } else { "" };
            let _ = writeln!(text, "\n{cases}, {most}{trials}, {conversations}");
        }
    }
    calls(&mut text, &size);
    match of_load {
        Some(found) => text.push_str(&found.figures),
        None => {
            let _ = writeln!(text, "\ntime   {}", duration::text(&size, plan, settings, slots));
        }
    }
    let price = price(&size, plan, settings);
    let _ = writeln!(text, "money  {}", money(&price));
    if let Some(budget) = budget {
        text.push_str(&budget::text(budget, &price, plan, settings));
    }
    text.push_str(&replay::not_kept(plan));
    text.push_str(&odds::text(plan));
    let limited = settings.endpoints.values().map(|endpoint| endpoint.limits);
    if limited.chain(settings.agents.values().map(|agent| agent.limits)).any(|limits| limits != Default::default()) {
        let _ = writeln!(text, "limits as in the settings, for all workers together: each uses its share, by slots");
    }
    text
}

fn calls(text: &mut String, size: &Estimate) {
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
}

/// What a run costs, in US dollars.
pub(crate) struct Money {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Who has no price.
    pub(crate) unpriced: Vec<String>,
}

pub(crate) fn price(size: &Estimate, plan: &Plan, settings: &Settings) -> Money {
    let (mut low, mut high, mut unpriced) = (0.0, 0.0, Vec::new());
    for asked in asked::all(&plan.agents, settings, &size.upper) {
        let Some(price) = &asked.price else {
            unpriced.push(asked.title());
            continue;
        };
        let cost = |used: Use| {
            let tokens = used.input_tokens as f64 * price.input_per_million
                + used.output_tokens as f64 * price.output_per_million;
            tokens / 1e6 + used.calls as f64 * price.per_call
        };
        low += cost(asked.part(&size.typical));
        high += cost(asked.part(&size.upper));
    }
    Money { low, high, unpriced }
}

fn money(Money { low, high, unpriced }: &Money) -> String {
    let known = if *high > 0.0 { format!("${low:.2} to ${high:.2}") } else { "nothing".to_owned() };
    if unpriced.is_empty() { known } else { format!("{known}, plus calls without a price: {}", unpriced.join(", ")) }
}

/// `1234567` as `1.2M`.
fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}
