//! The provider and model of a call: the same attributes on spans and metrics.

use std::collections::BTreeMap;

use record::{Call, Role};

/// The conventions' value if no other value fits.
pub(crate) const UNKNOWN: &str = "_OTHER";

/// The address of a model or agent, as in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Endpoint {
    /// `openai`, or another provider name of the conventions.
    pub provider: String,
    /// The requested model, if there is one.
    pub model: Option<String>,
    pub address: Option<String>,
    pub port: Option<u16>,
}

/// The attributes of a call's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked<'a> {
    /// `gen_ai.operation.name`
    pub(crate) operation: &'static str,
    /// `gen_ai.provider.name`
    pub(crate) provider: &'a str,
    /// `gen_ai.request.model`
    pub(crate) model: &'a str,
    /// `gen_ai.response.model`; `None` without an answer.
    pub(crate) answered: Option<&'a str>,
    pub(crate) endpoint: Option<&'a Endpoint>,
}

/// `endpoints` are those of the settings, including agents.
pub(crate) fn asked<'a>(endpoints: &'a BTreeMap<String, Endpoint>, call: &'a Call) -> Asked<'a> {
    let endpoint = endpoints.get(&call.endpoint);
    Asked {
        operation: operation(call.role),
        provider: provider(endpoint),
        model: endpoint.and_then(|endpoint| endpoint.model.as_deref()).unwrap_or(&call.model),
        answered: call.error.is_none().then_some(&*call.model),
        endpoint,
    }
}

/// Nothing is known about agents that are not chat models.
pub(crate) fn provider(endpoint: Option<&Endpoint>) -> &str {
    endpoint.map_or(UNKNOWN, |endpoint| &endpoint.provider)
}

/// A call to an agent counts as a chat, within the turn that invokes the agent.
fn operation(role: Role) -> &'static str {
    match role {
        Role::Agent | Role::UserSim | Role::Judge => "chat",
        // Mostly embeddings; records do not contain the measure.
        Role::Scorer => "embeddings",
    }
}

#[cfg(test)]
mod tests {
    use record::Tokens;

    use super::*;

    #[test]
    fn a_call_names_the_requested_and_the_answering_model() {
        let mock = Endpoint { provider: "mock".to_owned(), ..Endpoint::default() };
        let lab = Endpoint { provider: "openai".to_owned(), model: Some("large".to_owned()), ..Endpoint::default() };
        let endpoints = BTreeMap::from([("lab".to_owned(), lab), ("mock".to_owned(), mock)]);
        let rows = [
            (Role::Agent, "lab", None, ("chat", "openai", "large", Some("large-2026"))),
            (Role::Judge, "lab", Some("no"), ("chat", "openai", "large", None)),
            (Role::UserSim, "mock", None, ("chat", "mock", "large-2026", Some("large-2026"))),
            (Role::Scorer, "mock", None, ("embeddings", "mock", "large-2026", Some("large-2026"))),
            (Role::Agent, "shop", None, ("chat", "_OTHER", "large-2026", Some("large-2026"))),
        ];
        for (role, endpoint, error, expected) in rows {
            let call = Call {
                role,
                endpoint: endpoint.to_owned(),
                model: "large-2026".to_owned(),
                started_micros: 0,
                wait_micros: 0,
                connect_micros: None,
                ttft_micros: None,
                inter_token_micros: None,
                total_micros: 0,
                retried_micros: 0,
                tokens: Tokens::default(),
                texts: None,
                estimated: false,
                cost: None,
                plain_priced: false,
                limits: record::named_limits::NamedLimits::default(),
                reported_cost: None,
                finish: None,
                tries: 1,
                throttled_tries: 0,
                lost_tries: 0,
                error: error.map(ToOwned::to_owned),
                error_kind: None,
                of_trial: false,
            };
            let told = asked(&endpoints, &call);
            assert_eq!((told.operation, told.provider, told.model, told.answered), expected, "{role:?} {endpoint}");
        }
    }
}
