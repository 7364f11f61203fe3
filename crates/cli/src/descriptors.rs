//! How many files, connections and local ports a run needs at once; warns or fails if this machine gives it fewer.

use anyhow::anyhow;
use listen::{descriptors, ports};
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
/// A program on this machine needs its three streams, and a handle to watch it.
const OF_A_PROGRAM: Need = Need { least: 2, most: 5 };
const OF_A_CONNECTION: Need = Need { least: 1, most: 1 };

/// How many descriptors these conversations hold open at once: at least, while all of them wait for the agent, and at
/// most.
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

/// Refuses more conversations at once than connections are possible, and warns if there may be too few.
pub(crate) fn check<'a>(settings: &Settings, agents: impl Iterator<Item = &'a str>, slots: u32) -> anyhow::Result<()> {
    let agents: Vec<&str> = agents.collect();
    if let Some(warning) = few_ports(settings, &agents, slots, ports::local()) {
        say(&warning);
    }
    let (limit, need) = (descriptors::limit(), of_run(settings, agents.into_iter(), slots));
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

/// Each connection to one server needs a port of this machine. A warning and no error: a name may have several addresses,
/// and each of them can have all ports.
fn few_ports(settings: &Settings, agents: &[&str], slots: u32, ports: Option<u64>) -> Option<String> {
    let ports = ports?;
    let of_agents = agents.iter().map(|name| connections(settings, name, slots.into()));
    let roles = [settings.roles.user_sim.as_deref(), settings.roles.judge.as_deref()];
    let models = roles.into_iter().flatten().filter_map(|name| settings.endpoints.get(name));
    let of_models = models.map(|endpoint| of_endpoint(endpoint, slots.into()).most);
    let most = of_agents.chain(of_models).max().filter(|most| *most > ports)?;
    Some(format!(
        "warning: {} need {} connections to one server, and this machine has {} local ports (net.ipv4.ip_local_port_range); what does not get one fails",
        plural(u64::from(slots), "slot", "slots"),
        digits(most),
        digits(ports)
    ))
}

/// To an agent, at once.
fn connections(settings: &Settings, name: &str, slots: u64) -> u64 {
    let of_program = settings.agents.get(name).is_some_and(|agent| agent.subprocess.is_some());
    if of_program { 0 } else { of_agent(settings, name, slots).most }
}

fn of_run<'a>(settings: &Settings, agents: impl Iterator<Item = &'a str>, slots: u32) -> Need {
    let slots = u64::from(slots);
    let agents: Vec<Need> = agents.map(|name| of_agent(settings, name, slots)).collect();
    // How many conversations talk to which agent at the same time is unknown.
    let least = agents.iter().map(|need| need.least).min().unwrap_or(0);
    let most = agents.iter().map(|need| need.most).max().unwrap_or(0);
    let mut asked =
        [settings.roles.user_sim.as_deref(), settings.roles.judge.as_deref()].map(Option::unwrap_or_default);
    asked.sort_unstable();
    let mut roles = 0;
    for (index, name) in asked.iter().enumerate() {
        // The connection of the previous conversation is reused.
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
    let fixed = limits.concurrency.and_then(limit::Concurrency::calls);
    fixed.map_or(slots, |most| slots.min(u64::from(most.get())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: serde_json::Value) -> Settings {
        serde_json::from_value(text).expect("settings")
    }

    #[test]
    fn a_plan_needs_the_descriptors_of_its_agents_and_models() {
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
        let warned = |agents: &[&str], ports| few_ports(&settings, agents, 100, ports);
        assert_eq!(warned(&["shop"], Some(100)), None);
        let warning = warned(&["mock"], Some(99)).expect("the user and the judge");
        assert!(warning.starts_with("warning: 100 slots need 100 connections to one server, and this machine has 99"));
        assert_eq!(warned(&["shop"], None), None, "it does not tell");
        let mut narrow = settings.clone();
        (narrow.roles.user_sim, narrow.roles.judge) = (None, None);
        let warned = |agents: &[&str]| few_ports(&narrow, agents, 100, Some(50)).is_some();
        assert_eq!(
            [warned(&["shop"]), warned(&["slow"]), warned(&["program"]), warned(&["mock"])],
            [true, false, false, false]
        );
    }
}
