//! Who is called during a run, and for which part of the load: each agent, and the endpoints of the user and the judge.

use llm::{limit, price::Price};
use scenario::estimate::{Load, Use};

use crate::{
    judges,
    settings::{MOCK, Settings},
};

/// One agent or endpoint in one role.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// As the settings call it.
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) server: Server,
    pub(super) limits: limit::Settings,
    /// `None`: unknown.
    pub(super) price: Option<Price>,
    /// Agents share the load of their role, since each plays every scenario.
    sharers: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Agent,
    UserSim,
    Judge,
}

/// What has its own limits: an endpoint for everything that uses it, or an agent that is not a chat model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Server {
    Agent(String),
    Endpoint(String),
}

impl Server {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Agent(name) | Self::Endpoint(name) => name,
        }
    }
}

impl Asked {
    /// Its part of the load.
    pub(super) fn part(&self, load: &Load) -> Use {
        let Use { calls, input_tokens, output_tokens } = match self.role {
            Role::Agent => load.agent,
            Role::UserSim => load.user_sim,
            Role::Judge => load.judge,
        };
        let part = |whole: u64| whole.div_ceil(self.sharers);
        Use { calls: part(calls), input_tokens: part(input_tokens), output_tokens: part(output_tokens) }
    }

    /// How the estimate names it.
    pub(super) fn title(&self) -> String {
        match self.role {
            Role::Agent if self.sharers > 1 => format!("agent {}", self.name),
            Role::Agent => "agent".to_owned(),
            Role::UserSim => "user_sim".to_owned(),
            Role::Judge => "judge".to_owned(),
        }
    }
}

/// Everything that is called when these agents play this load.
pub(super) fn all(agents: &[String], settings: &Settings, load: &Load) -> Vec<Asked> {
    let role = |role: Role, name: &Option<String>| {
        let name = name.clone().unwrap_or_else(|| MOCK.to_owned());
        at_endpoint(name.clone(), role, name, settings, 1)
    };
    let agents = agents.iter().map(|name| agent(name, settings, agents.len() as u64));
    let others = [role(Role::UserSim, &settings.roles.user_sim), role(Role::Judge, &settings.roles.judge)];
    agents.chain(others).filter(|asked| asked.part(load).calls > 0).collect()
}

fn agent(name: &str, settings: &Settings, sharers: u64) -> Asked {
    let written = settings.agents.get(name);
    let endpoint = match written {
        Some(agent) => match &agent.endpoint {
            Some(endpoint) => Some(endpoint.clone()),
            None => judges::is_mock_agent(settings, name).then(|| MOCK.to_owned()),
        },
        // The built-in mock, or an address.
        None => Some(name.to_owned()),
    };
    match (endpoint, written) {
        (None, Some(agent)) => Asked {
            name: name.to_owned(),
            role: Role::Agent,
            server: Server::Agent(name.to_owned()),
            limits: agent.limits,
            price: agent.price.map(Price::from),
            sharers,
        },
        (endpoint, _) => {
            at_endpoint(name.to_owned(), Role::Agent, endpoint.unwrap_or_else(|| name.to_owned()), settings, sharers)
        }
    }
}

fn at_endpoint(name: String, role: Role, endpoint: String, settings: &Settings, sharers: u64) -> Asked {
    let written = settings.endpoints.get(&endpoint);
    let is_mock = judges::is_mock(settings, Some(&endpoint));
    let price = written.and_then(|endpoint| endpoint.price()).or_else(|| is_mock.then_some(Price::FREE));
    let limits = written.map(|endpoint| endpoint.limits).unwrap_or_default();
    Asked { name, role, server: Server::Endpoint(endpoint), limits, price, sharers }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked(settings: Value, agents: &[&str]) -> Vec<Asked> {
        let settings: Settings = serde_json::from_value(settings).expect("settings");
        let agents: Vec<String> = agents.iter().map(|name| (*name).to_owned()).collect();
        let calls = |calls| Use { calls, input_tokens: 10 * calls, output_tokens: calls };
        all(&agents, &settings, &Load { agent: calls(60), user_sim: calls(0), judge: calls(9) })
    }

    #[test]
    fn an_agent_has_the_limits_and_the_price_of_its_endpoint() {
        let endpoint = json!({ "url": "http://h", "limits": { "requests_per_minute": 6 }, "price": { "input_per_million": 1, "output_per_million": 2 } });
        let own =
            json!({ "http": { "url": "http://h" }, "limits": { "concurrency": 3 }, "price": { "per_call": 0.5 } });
        // An agent with the name of its endpoint, as README writes it, another name, and its own connection.
        let settings = json!({
            "endpoints": { "slow": endpoint },
            "agents": { "slow": { "endpoint": "slow" }, "other": { "endpoint": "slow" }, "own": own },
        });
        let limit = |asked: &Asked| {
            let limit::Settings { requests_per_minute, concurrency, .. } = asked.limits;
            let concurrency = concurrency.and_then(limit::Concurrency::calls);
            (requests_per_minute.map(std::num::NonZero::get), concurrency.map(|limit| limit.to_string()))
        };
        for name in ["slow", "other"] {
            let all = asked(settings.clone(), &[name]);
            assert_eq!((all.len(), &all[0].server), (2, &Server::Endpoint("slow".to_owned())), "{all:?}");
            assert_eq!(limit(&all[0]), (Some(6), None));
            assert_eq!(all[0].price.as_ref().map(|price| price.output_per_million), Some(2.0));
        }
        let all = asked(settings, &["own", "slow"]);
        assert_eq!(all[0].server, Server::Agent("own".to_owned()));
        assert_eq!(
            (limit(&all[0]), all[0].price.as_ref().map(|price| price.per_call)),
            ((None, Some("3".to_owned())), Some(0.5))
        );
        assert_eq!(limit(&all[1]), (Some(6), None));
        let load = Load { agent: Use { calls: 61, input_tokens: 4, output_tokens: 0 }, ..Load::default() };
        assert_eq!(all[0].part(&load), Use { calls: 31, input_tokens: 2, output_tokens: 0 });
        assert_eq!((all[0].title(), all[2].title()), ("agent own".to_owned(), "judge".to_owned()));
    }

    #[test]
    fn who_is_not_asked_is_not_counted() {
        let all =
            asked(json!({ "endpoints": { "u": { "url": "http://h" } }, "roles": { "user_sim": "u" } }), &["mock"]);
        let named: Vec<(&str, Role, bool)> =
            all.iter().map(|asked| (asked.name.as_str(), asked.role, asked.price == Some(Price::FREE))).collect();
        assert_eq!(named, [("mock", Role::Agent, true), ("mock", Role::Judge, true)]);
    }
}
