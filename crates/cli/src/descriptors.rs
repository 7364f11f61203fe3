//! How many files and connections a run needs at once, and a warning or an error where the limit of this process is lower.

use anyhow::anyhow;
use listen::descriptors;
use llm::{endpoint, limit};
use record::count::{digits, plural};

use crate::{
    exit::usage,
    plan,
    settings::{MOCK, Settings},
    stderr::say,
};

/// For the store, listeners, the terminal and the report.
const BASE: u64 = 64;
/// What a program of this machine takes: its three streams, and what watches it.
const OF_A_PROGRAM: Need = Need { least: 2, most: 5 };
const OF_A_CONNECTION: Need = Need { least: 1, most: 1 };

/// What so many conversations hold open at once: at least, when all of them wait for the agent, and at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Need {
    least: u64,
    most: u64,
}

impl Need {
    fn times(self, number: u64) -> Self {
        Self { least: self.least.saturating_mul(number), most: self.most.saturating_mul(number) }
    }
}

/// Refuses more conversations at once than there can be connections, and warns where there may be too few.
pub(crate) fn check<'a>(settings: &Settings, agents: impl Iterator<Item = &'a str>, slots: u32) -> anyhow::Result<()> {
    let (limit, need) = (descriptors::limit(), of_run(settings, agents, slots));
    let (least, most) = (need.least.saturating_add(BASE), need.most.saturating_add(BASE));
    let count = plural(u64::from(slots), "slot", "slots");
    let limited = format!("this process may have {} (`ulimit -Hn`)", digits(limit));
    if least > limit {
        let fit = limit.saturating_sub(BASE).saturating_mul(u64::from(slots)) / need.least.max(1);
        let lower = if fit > 0 { format!("--slots {fit} fits; for more, ") } else { String::new() };
        return Err(usage(anyhow!(
            "{count} need {} open files and connections at once, and {limited}\nhint: {lower}raise the limit before the start, such as by `ulimit -n {least}`",
            digits(least)
        )));
    }
    if most > limit {
        say(&format!(
            "warning: {count} may need {} open files and connections at once, and {limited}; what does not get one fails",
            digits(most)
        ));
    }
    Ok(())
}

fn of_run<'a>(settings: &Settings, agents: impl Iterator<Item = &'a str>, slots: u32) -> Need {
    let slots = u64::from(slots);
    let agents: Vec<Need> = agents.map(|name| of_agent(settings, name, slots)).collect();
    // How many conversations talk to which agent at once is unknown.
    let least = agents.iter().map(|need| need.least).min().unwrap_or(0);
    let most = agents.iter().map(|need| need.most).max().unwrap_or(0);
    let mut asked =
        [settings.roles.user_sim.as_deref(), settings.roles.judge.as_deref()].map(Option::unwrap_or_default);
    asked.sort_unstable();
    let mut roles = 0;
    for (index, name) in asked.iter().enumerate() {
        // A connection that was used is kept for the next conversation.
        if index == 0 || asked[index - 1] != *name {
            roles += settings.endpoints.get(*name).map_or(0, |endpoint| of_endpoint(endpoint, slots).most);
        }
    }
    Need { least, most: most.saturating_add(roles) }
}

fn of_agent(settings: &Settings, name: &str, slots: u64) -> Need {
    let Some(agent) = settings.agents.get(name) else {
        return if plan::is_address(name) { OF_A_CONNECTION.times(slots) } else { Need::default() };
    };
    let limited = |need: Need| need.times(at_once(&agent.limits, slots));
    match &agent.endpoint {
        _ if agent.subprocess.is_some() => limited(OF_A_PROGRAM),
        _ if agent.interactive.is_some() || agent.replayed.is_some() => Need::default(),
        Some(endpoint) => {
            settings.endpoints.get(endpoint).map_or_else(Need::default, |endpoint| of_endpoint(endpoint, slots))
        }
        None if agent.kind == agent::settings::Kind::Mock || name == MOCK => Need::default(),
        None => limited(OF_A_CONNECTION),
    }
}

fn of_endpoint(endpoint: &endpoint::Settings, slots: u64) -> Need {
    if endpoint.kind == endpoint::Kind::Mock {
        return Need::default();
    }
    OF_A_CONNECTION.times(at_once(&endpoint.limits, slots))
}

/// Calls that are made at the same time.
fn at_once(limits: &limit::Settings, slots: u64) -> u64 {
    limits.concurrency.map_or(slots, |most| slots.min(u64::from(most.get())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: serde_json::Value) -> Settings {
        serde_json::from_value(text).expect("settings")
    }

    #[test]
    fn a_plan_needs_what_its_agents_and_models_take() {
        let settings = settings(serde_json::json!({
            "endpoints": {
                "remote": { "url": "http://127.0.0.1:1/v1" },
                "narrow": { "url": "http://127.0.0.1:1/v1", "limits": { "concurrency": 10 } },
                "mock": { "kind": "mock" },
            },
            "agents": {
                "shop": { "endpoint": "remote" },
                "slow": { "endpoint": "narrow" },
                "program": { "subprocess": { "command": ["cat"] } },
            },
            "roles": { "user_sim": "remote", "judge": "remote" },
        }));
        let need = |agents: &[&str]| {
            let need = of_run(&settings, agents.iter().copied(), 100);
            (need.least, need.most)
        };
        assert_eq!(need(&["mock"]), (0, 100), "one connection for the user and the judge");
        assert_eq!(need(&["shop"]), (100, 200));
        assert_eq!(need(&["slow"]), (10, 110), "its limit is narrower");
        assert_eq!(need(&["program"]), (200, 600));
        assert_eq!(need(&["slow", "program"]), (10, 600));
        assert_eq!(need(&["http://127.0.0.1:1/v1"]), (100, 200));
    }
}
