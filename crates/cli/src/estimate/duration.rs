//! How long a run may take: the slowest of what bounds it, which are the slots and each server's limits.

use std::{collections::BTreeMap, time::Duration};

use indicatif::HumanDuration;
use llm::limit;
use scenario::{
    Plan,
    estimate::{Estimate, Load, Use},
};

use crate::{
    judges,
    measured::{self, Measured},
    settings::{MOCK, Settings},
};

use super::endpoint_of;

/// What a call is taken to last where nobody has measured it, in seconds.
const GUESS: (f64, f64) = (0.5, 5.0);

/// One who is asked during a run: an agent or an endpoint, with all that it is asked for.
#[derive(Debug)]
struct Server {
    limits: limit::Settings,
    /// Of one call: at least and at most.
    seconds: (f64, f64),
    roles: Vec<Role>,
}

#[derive(Debug, Clone, Copy)]
enum Role {
    Agent,
    UserSim,
    Judge,
}

/// The duration, and what it comes from.
#[derive(Debug, PartialEq)]
struct Bound {
    seconds: f64,
    by: String,
}

pub(super) fn text(size: &Estimate, plan: &Plan, settings: &Settings, slots: u32) -> String {
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
    let mut servers: BTreeMap<String, Server> = BTreeMap::new();
    let agent = plan.agents.first().map_or(MOCK, String::as_str);
    let endpoint = endpoint_of(agent, settings);
    let own = settings.agents.get(agent).filter(|_| endpoint == agent).map(|written| written.limits);
    let of_endpoint = |name: &str| settings.endpoints.get(name).map(|endpoint| endpoint.limits).unwrap_or_default();
    let time = if judges::is_mock_agent(settings, agent) && is_instant(settings, endpoint) {
        (0.0, 0.0)
    } else {
        seconds(format!("agent {agent}"), measured::of_agent(agent))
    };
    let limits = own.unwrap_or_else(|| of_endpoint(endpoint));
    servers.insert(endpoint.to_owned(), Server { limits, seconds: time, roles: vec![Role::Agent] });
    for (role, name, used) in [
        (Role::UserSim, settings.roles.user_sim.as_deref(), size.typical.user_sim.calls),
        (Role::Judge, settings.roles.judge.as_deref(), size.typical.judge.calls),
    ] {
        let name = name.unwrap_or(MOCK);
        if used == 0 {
            continue;
        }
        if let Some(server) = servers.get_mut(name) {
            server.roles.push(role);
            continue;
        }
        let time = if is_instant(settings, name) {
            (0.0, 0.0)
        } else {
            seconds(format!("endpoint {name}"), measured::of_endpoint(name))
        };
        servers.insert(name.to_owned(), Server { limits: of_endpoint(name), seconds: time, roles: vec![role] });
    }
    let low = bound(&servers, &size.typical, size.trials, slots, |server| server.seconds.0);
    let high = bound(&servers, &size.upper, size.trials, slots, |server| server.seconds.1);
    let range = if human(low.seconds) == human(high.seconds) {
        human(low.seconds)
    } else {
        format!("{} to {}", human(low.seconds), human(high.seconds))
    };
    let by = if low.by == high.by { low.by } else { format!("{}, or {}", low.by, high.by) };
    let mut text = format!("{range}; the limit is {by}");
    if !known.is_empty() {
        text.push_str(&format!("\n       measured: {}", known.join(", ")));
    }
    if !guessed.is_empty() {
        text.push_str(&format!(
            "\n       a guess at {} to {} s a call: nothing was measured of {}; `gabfest ping` does",
            GUESS.0,
            GUESS.1,
            guessed.join(" and ")
        ));
    }
    text
}

/// The built-in mock answers at once unless its settings say otherwise.
fn is_instant(settings: &Settings, endpoint: &str) -> bool {
    let slow = |endpoint: &llm::endpoint::Settings| endpoint.mock.latency != llm::mock::Behaviour::default().latency;
    judges::is_mock(settings, Some(endpoint)) && !settings.endpoints.get(endpoint).is_some_and(slow)
}

/// The longest of all: work that is done at the same time takes as long as the slowest part of it.
fn bound(
    servers: &BTreeMap<String, Server>,
    load: &Load,
    trials: u64,
    slots: u32,
    seconds: impl Fn(&Server) -> f64,
) -> Bound {
    let used = |server: &Server| {
        server.roles.iter().fold(Use::default(), |sum, role| {
            let more = match role {
                Role::Agent => load.agent,
                Role::UserSim => load.user_sim,
                Role::Judge => load.judge,
            };
            Use {
                calls: sum.calls + more.calls,
                input_tokens: sum.input_tokens + more.input_tokens,
                output_tokens: sum.output_tokens + more.output_tokens,
            }
        })
    };
    let busy = |server: &Server| used(server).calls as f64 * seconds(server);
    let at_once = u64::from(slots).min(trials).max(1);
    let by =
        if u64::from(slots) > trials { "the length of a conversation".to_owned() } else { format!("`slots: {slots}`") };
    let mut longest = Bound { seconds: servers.values().map(busy).sum::<f64>() / at_once as f64, by };
    for (name, server) in servers {
        let limit::Settings { requests_per_minute, tokens_per_minute, concurrency, .. } = server.limits;
        let Use { calls, input_tokens, output_tokens } = used(server);
        let per_minute = |count: u64, limit: f64| count as f64 / limit * 60.0;
        let bounds = [
            requests_per_minute
                .map(|limit| (per_minute(calls, f64::from(limit.get())), format!("`requests_per_minute: {limit}`"))),
            tokens_per_minute.map(|limit| {
                (per_minute(input_tokens + output_tokens, limit.get() as f64), format!("`tokens_per_minute: {limit}`"))
            }),
            concurrency.map(|limit| (busy(server) / f64::from(limit.get()), format!("`concurrency: {limit}`"))),
        ];
        for (seconds, limit) in bounds.into_iter().flatten() {
            if seconds > longest.seconds {
                longest = Bound { seconds, by: format!("{limit} of {name}") };
            }
        }
    }
    longest
}

fn human(seconds: f64) -> String {
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

    fn server(limits: serde_json::Value, seconds: f64, roles: Vec<Role>) -> Server {
        Server { limits: serde_json::from_value(limits).expect("limits"), seconds: (seconds, seconds), roles }
    }

    fn of(servers: &[(&str, Server)], slots: u32) -> Bound {
        let calls = |calls: u64, tokens: u64| Use { calls, input_tokens: tokens, output_tokens: tokens };
        let load = Load { agent: calls(1_080, 60_000), user_sim: calls(0, 0), judge: calls(540, 30_000) };
        let servers = servers.iter().map(|(name, server)| {
            let Server { limits, seconds, roles } = server;
            ((*name).to_owned(), Server { limits: *limits, seconds: *seconds, roles: roles.clone() })
        });
        bound(&servers.collect(), &load, 270, slots, |server| server.seconds.0)
    }

    #[test]
    fn the_slowest_limit_is_the_duration() {
        let agent = |limits| server(limits, 2.0, vec![Role::Agent]);
        // 36 minutes of calls, one at a time; 32 slots would take little more than one minute.
        let alone = of(&[("slow", agent(json!({ "concurrency": 1 })))], 32);
        assert_eq!(alone, Bound { seconds: 2_160.0, by: "`concurrency: 1` of slow".to_owned() });
        let free = of(&[("slow", agent(json!({})))], 32);
        assert_eq!(free, Bound { seconds: 67.5, by: "`slots: 32`".to_owned() });
        let few = of(&[("slow", agent(json!({})))], 500);
        assert_eq!(few, Bound { seconds: 8.0, by: "the length of a conversation".to_owned() });
        let minutes = of(&[("slow", agent(json!({ "requests_per_minute": 60 })))], 32);
        assert_eq!(minutes, Bound { seconds: 1_080.0, by: "`requests_per_minute: 60` of slow".to_owned() });
        let tokens = of(&[("slow", agent(json!({ "tokens_per_minute": 1_000 })))], 32);
        assert_eq!(tokens, Bound { seconds: 7_200.0, by: "`tokens_per_minute: 1000` of slow".to_owned() });
        // A server that plays two roles is asked for both.
        let both = server(json!({ "concurrency": 2 }), 2.0, vec![Role::Agent, Role::Judge]);
        assert_eq!(of(&[("main", both)], 32), Bound { seconds: 1_620.0, by: "`concurrency: 2` of main".to_owned() });
    }
}
