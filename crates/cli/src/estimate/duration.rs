//! How long a run may take: the slowest of the slots and each server's limits.

use std::{collections::BTreeMap, num::NonZeroU64, time::Duration};

use indicatif::HumanDuration;
use llm::limit;
use scenario::{
    Plan,
    estimate::{Estimate, Load, Use},
};

use crate::{
    judges,
    measured::{self, Measured},
    settings::Settings,
};

use super::asked::{self, Asked, Role, Server};

/// The assumed duration of a call without a measurement, in seconds.
const GUESS: (f64, f64) = (0.5, 5.0);

/// The calls to one server, and how long a call of each kind takes: at least and at most, in seconds.
#[derive(Debug, Default)]
struct Work {
    asked: Vec<(Asked, (f64, f64))>,
}

impl Work {
    fn used(&self, load: &Load) -> Use {
        self.asked.iter().map(|(asked, _)| asked.part(load)).fold(Use::default(), |sum, more| Use {
            calls: sum.calls + more.calls,
            input_tokens: sum.input_tokens + more.input_tokens,
            output_tokens: sum.output_tokens + more.output_tokens,
        })
    }

    /// In seconds, one call after the other.
    fn busy(&self, load: &Load, which: Which) -> f64 {
        let seconds = |(low, high): (f64, f64)| if which == Which::Low { low } else { high };
        self.asked.iter().map(|(asked, times)| asked.part(load).calls as f64 * seconds(*times)).sum()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Low,
    High,
}

/// The duration, and what determines it.
#[derive(Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) seconds: f64,
    pub(crate) by: String,
}

/// How long a run takes: at least and at most.
pub(crate) struct Span {
    pub(crate) low: Bound,
    pub(crate) high: Bound,
    /// Lines that say where the times of calls come from, each behind a line break.
    pub(crate) source: String,
}

/// Who is asked, how long a call of each takes, and where those times come from.
struct Servers {
    work: BTreeMap<Server, Work>,
    source: String,
}

/// How long one conversation takes.
pub(super) struct Conversation {
    /// In seconds: at least and at most.
    pub(super) seconds: (f64, f64),
    /// Lines that say where the times come from, each behind a line break.
    pub(super) source: String,
}

pub(super) fn of_conversation(size: &Estimate, plan: &Plan, settings: &Settings) -> Conversation {
    let Servers { work, source } = servers(size, plan, settings);
    let busy = |load: &Load, which| work.values().map(|work| work.busy(load, which)).sum::<f64>();
    let trials = size.trials.max(1) as f64;
    let seconds = (busy(&size.typical, Which::Low) / trials, busy(&size.upper, Which::High) / trials);
    Conversation { seconds, source }
}

pub(crate) fn span(size: &Estimate, plan: &Plan, settings: &Settings, slots: u32) -> Span {
    let Servers { work, source } = servers(size, plan, settings);
    let low = bound(&work, &size.typical, size.trials, slots, Which::Low);
    let high = bound(&work, &size.upper, size.trials, slots, Which::High);
    Span { low, high, source }
}

pub(super) fn text(size: &Estimate, plan: &Plan, settings: &Settings, slots: u32) -> String {
    let Span { low, high, source } = span(size, plan, settings, slots);
    let range = if human(low.seconds) == human(high.seconds) {
        human(low.seconds)
    } else {
        format!("{} to {}", human(low.seconds), human(high.seconds))
    };
    let by = if low.by == high.by { low.by } else { format!("{}, or {}", low.by, high.by) };
    format!("{range}; the limit is {by}{source}")
}

fn servers(size: &Estimate, plan: &Plan, settings: &Settings) -> Servers {
    let mut known = Vec::new();
    let mut guessed = Vec::new();
    let mut seconds = |what: String, found: Option<Measured>| match found {
        Some(Measured { seconds, by }) => {
            known.push(format!("{what} {seconds:.2} s ({by})"));
            (seconds, seconds)
        }
        None => {
            guessed.push(what);
            GUESS
        }
    };
    let mut work: BTreeMap<Server, Work> = BTreeMap::new();
    for asked in asked::all(&plan.agents, settings, &size.upper) {
        let time = if is_instant(settings, &asked) {
            (0.0, 0.0)
        } else if asked.role == Role::Agent {
            seconds(format!("agent {}", asked.name), measured::of_agent(&asked.name))
        } else {
            // A server that plays two roles takes as long for both.
            let known = work.get(&asked.server).and_then(|found| found.asked.first()).map(|(_, time)| *time);
            known.unwrap_or_else(|| seconds(format!("endpoint {}", asked.name), measured::of_endpoint(&asked.name)))
        };
        work.entry(asked.server.clone()).or_default().asked.push((asked, time));
    }
    let mut source = String::new();
    if !known.is_empty() {
        source.push_str(&format!("\n       measured: {}", known.join(", ")));
    }
    if !guessed.is_empty() {
        source.push_str(&format!(
            "\n       assumed: {} to {} s per call of {}; `gabfest ping` measures it",
            GUESS.0,
            GUESS.1,
            guessed.join(" and ")
        ));
    }
    Servers { work, source }
}

/// The built-in mock answers at once unless its settings add a delay.
fn is_instant(settings: &Settings, asked: &Asked) -> bool {
    let Server::Endpoint(endpoint) = &asked.server else { return false };
    let slow = |endpoint: &llm::endpoint::Settings| endpoint.mock.latency != llm::mock::Behaviour::default().latency;
    judges::is_mock(settings, Some(endpoint)) && !settings.endpoints.get(endpoint).is_some_and(slow)
}

/// The longest of all: work in parallel takes as long as its slowest part.
fn bound(servers: &BTreeMap<Server, Work>, load: &Load, trials: u64, slots: u32, which: Which) -> Bound {
    let at_once = u64::from(slots).min(trials).max(1);
    let by =
        if u64::from(slots) > trials { "the length of a conversation".to_owned() } else { format!("`slots: {slots}`") };
    let all: f64 = servers.values().map(|work| work.busy(load, which)).sum();
    let mut longest = Bound { seconds: all / at_once as f64, by };
    for (server, work) in servers {
        let Some((asked, _)) = work.asked.first() else { continue };
        let limits = asked.limits;
        let (requests_per_minute, concurrency) = (limits.requests_per_minute, limits.concurrency);
        let concurrency = concurrency.and_then(limit::Concurrency::calls);
        let Use { calls, input_tokens, output_tokens } = work.used(load);
        let per_minute = |count: u64, limit: f64| count as f64 / limit * 60.0;
        let of_tokens = |name, limit: Option<NonZeroU64>, tokens| {
            limit.map(|limit| (per_minute(tokens, limit.get() as f64), format!("`{name}: {limit}`")))
        };
        let bounds = [
            requests_per_minute
                .map(|limit| (per_minute(calls, f64::from(limit.get())), format!("`requests_per_minute: {limit}`"))),
            of_tokens("tokens_per_minute", limits.tokens_per_minute, input_tokens + output_tokens),
            of_tokens("input_tokens_per_minute", limits.input_tokens_per_minute, input_tokens),
            of_tokens("output_tokens_per_minute", limits.output_tokens_per_minute, output_tokens),
            concurrency
                .map(|limit| (work.busy(load, which) / f64::from(limit.get()), format!("`concurrency: {limit}`"))),
        ];
        for (seconds, limit) in bounds.into_iter().flatten() {
            if seconds > longest.seconds {
                longest = Bound { seconds, by: format!("{limit} of {}", server.name()) };
            }
        }
    }
    longest
}

pub(crate) fn human(seconds: f64) -> String {
    if seconds < 1.0 {
        "less than a second".to_owned()
    } else {
        HumanDuration(Duration::from_secs_f64(seconds.min(1e12))).to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The work of one server that takes two seconds a call.
    fn work(limits: serde_json::Value, roles: &[Role]) -> Work {
        let settings: Settings = serde_json::from_value(
            json!({ "endpoints": { "slow": { "url": "http://h", "limits": limits } }, "roles": { "judge": "slow" } }),
        )
        .expect("settings");
        let all = asked::all(&["slow".to_owned()], &settings, &LOAD);
        Work {
            asked: all
                .into_iter()
                .filter(|asked| roles.contains(&asked.role))
                .map(|asked| (asked, (2.0, 2.0)))
                .collect(),
        }
    }

    const LOAD: Load = Load {
        agent: Use { calls: 1_080, input_tokens: 60_000, output_tokens: 60_000 },
        user_sim: Use { calls: 0, input_tokens: 0, output_tokens: 0 },
        judge: Use { calls: 540, input_tokens: 30_000, output_tokens: 30_000 },
    };

    fn of(work: Work, slots: u32) -> Bound {
        bound(&BTreeMap::from([(Server::Endpoint("slow".to_owned()), work)]), &LOAD, 270, slots, Which::Low)
    }

    #[test]
    fn the_slowest_limit_is_the_duration() {
        let agent = |limits| work(limits, &[Role::Agent]);
        // 36 minutes of calls, one at a time; 32 slots would take little more than one minute.
        let alone = of(agent(json!({ "concurrency": 1 })), 32);
        assert_eq!(alone, Bound { seconds: 2_160.0, by: "`concurrency: 1` of slow".to_owned() });
        let free = of(agent(json!({})), 32);
        assert_eq!(free, Bound { seconds: 67.5, by: "`slots: 32`".to_owned() });
        let few = of(agent(json!({})), 500);
        assert_eq!(few, Bound { seconds: 8.0, by: "the length of a conversation".to_owned() });
        let minutes = of(agent(json!({ "requests_per_minute": 60 })), 32);
        assert_eq!(minutes, Bound { seconds: 1_080.0, by: "`requests_per_minute: 60` of slow".to_owned() });
        let tokens = of(agent(json!({ "tokens_per_minute": 1_000 })), 32);
        assert_eq!(tokens, Bound { seconds: 7_200.0, by: "`tokens_per_minute: 1000` of slow".to_owned() });
        let input = of(agent(json!({ "input_tokens_per_minute": 100 })), 32);
        let output = of(agent(json!({ "output_tokens_per_minute": 100 })), 32);
        assert_eq!(input.by, "`input_tokens_per_minute: 100` of slow");
        assert_eq!(output.by, "`output_tokens_per_minute: 100` of slow");
        assert_eq!(input.seconds + output.seconds, 72_000.0, "together they are all tokens");
        // A server with two roles does the work of both.
        let both = work(json!({ "concurrency": 2 }), &[Role::Agent, Role::Judge]);
        assert_eq!(of(both, 32), Bound { seconds: 1_620.0, by: "`concurrency: 2` of slow".to_owned() });
    }
}
