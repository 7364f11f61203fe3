//! Opening an endpoint: checks its address, reads its keys, stacks its layers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::{
    bedrock::sign::Signer,
    call::{Call, Named, Request},
    chat::{self, Chat},
    client::{self, Client},
    credential::{self, Credential},
    http::{self, query, written},
    key,
    limit::{Limited, Limiter},
    measure::{self, Embed, Measures, Moderate},
    mock::Mock,
    price::{ASSUMED_OUTPUT_TOKENS, Price, Priced},
    retry::{Policy, Retry},
    time_limit::TimeLimit,
};

use super::{
    capped::{Cap, Capped},
    fitting::Fitting,
    settings::{Kind, Retries, Settings},
};

/// A running server accepts at once; the rest of the call's time is for the answer.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// An open endpoint. All its callers share its connections and its limits.
#[derive(Debug, Clone)]
pub struct Endpoint {
    server: Arc<dyn Server>,
    limit: Arc<Limiter>,
    in_flight: Arc<AtomicI64>,
    retries: Retries,
    cap: Option<Cap>,
    context_tokens: Option<u32>,
}

/// All kinds of calls to an endpoint.
trait Server: Call<chat::Request> + Call<measure::Request<Embed>> + Call<measure::Request<Moderate>> {}

impl<S: Call<chat::Request> + Call<measure::Request<Embed>> + Call<measure::Request<Moderate>>> Server for S {}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the url of endpoint {endpoint} cannot be used")]
    Query { endpoint: String, source: query::Error },
    #[error("endpoint {endpoint} has no key")]
    Key { endpoint: String, source: key::Error },
    #[error("endpoint {endpoint} has no access token")]
    Oauth { endpoint: String, source: credential::Fault },
    #[error("the key of endpoint {endpoint} is not printable ASCII")]
    KeyText { endpoint: String },
    #[error("the headers of endpoint {endpoint} cannot be sent")]
    Header { endpoint: String, source: written::Error },
    #[error("`{key}` of endpoint {endpoint} {reason}")]
    Misfit { endpoint: String, key: &'static str, reason: String },
    #[error("the client of endpoint {endpoint} cannot be set up")]
    Client { endpoint: String, source: http::Unusable },
}

impl Error {
    /// The missing key, of the endpoint or of a header, if nothing else is wrong.
    #[must_use]
    pub fn missing_key(&self) -> Option<&key::Error> {
        let source = match self {
            Self::Key { source, .. } | Self::Oauth { source: credential::Fault::Secret(source), .. } => source,
            Self::Header { source: written::Error::Key { source, .. }, .. } => source,
            Self::Query { source: query::Error::Key { why: source, .. }, .. } => source,
            _ => return None,
        };
        Some(source).filter(|error| error.is_absence())
    }
}

impl Endpoint {
    pub fn open(name: &str, settings: &Settings) -> Result<Self, Error> {
        let endpoint = || name.to_owned();
        if let Some((key, reason)) = settings.fault() {
            return Err(Error::Misfit { endpoint: endpoint(), key, reason });
        }
        let limit = Duration::from_millis(settings.timeout_ms);
        let most_output_tokens = settings.max_output_tokens.unwrap_or(ASSUMED_OUTPUT_TOKENS);
        let (server, in_flight): (Arc<dyn Server>, _) = match settings.kind {
            Kind::Openai | Kind::Responses | Kind::Anthropic | Kind::Gemini | Kind::Bedrock => {
                let client = Client::new(name, client_settings(name, settings)?)
                    .map_err(|source| Error::Client { endpoint: endpoint(), source })?;
                let priced = Priced::new(TimeLimit::new(client, limit), settings.price())
                    .with_most_output_tokens(most_output_tokens);
                let in_flight = priced.in_flight();
                (Arc::new(priced), in_flight)
            }
            Kind::Mock => {
                // The mock is known to cost nothing, unless the settings give it a price.
                let price = settings.price().unwrap_or(Price::FREE);
                let mock = Mock::new(name, settings.mock.clone());
                let priced =
                    Priced::new(TimeLimit::new(mock, limit), Some(price)).with_most_output_tokens(most_output_tokens);
                let in_flight = priced.in_flight();
                (Arc::new(priced), in_flight)
            }
        };
        Ok(Self {
            server,
            limit: Limiter::new(settings.named_with_model(name), &settings.limits),
            in_flight,
            retries: settings.retries,
            cap: Cap::of(settings.own_cap(), settings.reasoning_reserve),
            context_tokens: settings.context_tokens,
        })
    }

    /// Its chat model, with retries by `Policy::model()` or `Policy::agent()` as often as the settings allow.
    #[must_use]
    pub fn chat(&self, policy: Policy) -> Arc<dyn Chat> {
        let layered = self.layered(policy);
        match (self.context_tokens, self.cap) {
            (None, None) => Arc::new(layered),
            (None, Some(cap)) => Arc::new(Capped::new(layered, cap)),
            (Some(window), None) => Arc::new(Fitting::new(layered, window)),
            (Some(window), Some(cap)) => Arc::new(Capped::new(Fitting::new(layered, window), cap)),
        }
    }

    /// The chat model of these settings with its names and limits, and without a connection: it is never asked. For calls that a
    /// recording answers, where no key is needed.
    #[must_use]
    pub fn unasked(name: &str, settings: &Settings) -> Arc<dyn Chat> {
        // The mock is its own model.
        let own = Some(name.to_owned()).filter(|_| settings.kind == Kind::Mock);
        let model = own.or_else(|| settings.model.clone()).unwrap_or_default();
        let named = Unasked { endpoint: name.to_owned(), model };
        match (settings.context_tokens, Cap::of(settings.own_cap(), settings.reasoning_reserve)) {
            (None, _) => Arc::new(named),
            (Some(window), None) => Arc::new(Fitting::new(named, window)),
            (Some(window), Some(cap)) => Arc::new(Capped::new(Fitting::new(named, window), cap)),
        }
    }

    /// Its embeddings.
    #[must_use]
    pub fn embeddings(&self) -> Arc<dyn Measures<Embed>> {
        Arc::new(self.layered(Policy::model()))
    }

    /// Its moderations.
    #[must_use]
    pub fn moderations(&self) -> Arc<dyn Measures<Moderate>> {
        Arc::new(self.layered(Policy::model()))
    }

    fn layered(&self, policy: Policy) -> Retry<Arc<dyn Server>> {
        let Retries { tries, deadline_ms } = self.retries;
        let policy = policy.bounded(tries, Duration::from_millis(deadline_ms));
        Retry::new(Limited::new(Arc::clone(&self.server), Arc::clone(&self.limit)), policy)
    }

    /// Its limits; a worker of a fleet uses a share of them.
    #[must_use]
    pub fn limit(&self) -> &Arc<Limiter> {
        &self.limit
    }

    /// The most that its calls in flight may cost, in nano-dollars.
    #[must_use]
    pub fn unsettled_nanos(&self) -> i64 {
        self.in_flight.load(Ordering::Relaxed)
    }
}

/// See [`Endpoint::unasked`].
#[derive(Debug)]
struct Unasked {
    endpoint: String,
    model: String,
}

impl Named for Unasked {
    fn endpoint(&self) -> &str {
        &self.endpoint
    }

    fn name(&self) -> &str {
        &self.model
    }
}

#[async_trait]
impl<R: Request> Call<R> for Unasked {
    async fn ask(&self, _: &R) -> Result<R::Reply, crate::Error> {
        let message = "it is not connected".to_owned();
        Err(crate::Error::NotRecorded { endpoint: self.endpoint.clone(), message })
    }
}

fn client_settings(name: &str, settings: &Settings) -> Result<client::Settings, Error> {
    let endpoint = || name.to_owned();
    let url = settings.server().map_err(|reason| Error::Misfit { endpoint: endpoint(), key: "url", reason })?;
    let mut url = settings.chats(url);
    let in_query = query::resolve(&mut url).map_err(|source| Error::Query { endpoint: endpoint(), source })?;
    let (mut headers, mut keys) =
        written::resolve(&settings.headers).map_err(|source| Error::Header { endpoint: endpoint(), source })?;
    keys.extend(in_query);
    let key_text = || Error::KeyText { endpoint: endpoint() };
    let (header, before) = settings.key_line().map_err(|_| key_text())?;
    let mut credential = None;
    if let Some(reference) = &settings.key {
        let key = reference.resolve().map_err(|source| Error::Key { endpoint: endpoint(), source })?;
        let value = written::secret(&format!("{before}{}", key.expose_secret())).ok_or_else(key_text)?;
        credential = Credential::watching(reference, &key, header.clone(), before);
        if credential.is_none() {
            headers.insert(header, value);
        }
        keys.push(key);
    } else if let Some(oauth) = &settings.oauth {
        let tokens = Credential::oauth(name, oauth, header, before);
        credential = Some(tokens.map_err(|source| Error::Oauth { endpoint: endpoint(), source })?);
    }
    let mut signer = None;
    if let Some(aws) = &settings.aws {
        let region = aws.region_of(url.host_str().unwrap_or_default()).unwrap_or_default();
        let signs = Signer::new(aws, region).map_err(|source| Error::Key { endpoint: endpoint(), source })?;
        let (signs, of_aws) = signs.ok_or_else(key_text)?;
        signer = Some(signs);
        keys.extend(of_aws);
    }
    Ok(client::Settings {
        dialect: settings.dialect(),
        url,
        measures: settings.kind == Kind::Openai,
        model: settings.model.clone().unwrap_or_default(),
        headers,
        keys,
        credential,
        signer,
        stream: settings.stream,
        connect_within: CONNECT_WITHIN.min(Duration::from_millis(settings.timeout_ms)),
        schema_mode: settings.schema_mode,
        max_tokens_key: settings.max_tokens_key.clone(),
        params: settings.params.clone(),
        trace: settings.trace,
        system_role: settings.system_role.name(),
        images: settings.images,
        asked_with: json!(settings.asked_with()).to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use url::Url;

    use super::*;
    use crate::{Message, chat, openai};

    fn settings(value: serde_json::Value) -> Settings {
        serde_json::from_value(value).expect("settings")
    }

    fn refusal(value: serde_json::Value) -> String {
        let error = Endpoint::open("main", &settings(value)).expect_err("refused");
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        format!("{error}: {source}")
    }

    #[test]
    fn the_address_of_completions() {
        let rows = [
            ("https://api.openai.com/v1", Some("https://api.openai.com/v1/chat/completions")),
            ("http://127.0.0.1:8080", Some("http://127.0.0.1:8080/chat/completions")),
            ("http://h/v1/", Some("http://h/v1/chat/completions")),
            ("http://h/v1/chat/completions", Some("http://h/v1/chat/completions")),
            ("http://h/v1/chat/completions/", Some("http://h/v1/chat/completions")),
            ("https://h/d?api-version=1#x", Some("https://h/d/chat/completions?api-version=1")),
            ("https://user:pass@h/v1", None),
            ("ftp://h/v1", None),
            ("h/v1", None),
            ("", None),
        ];
        for (written, expected) in rows {
            let url = http::address(written).ok().map(openai::completions);
            assert_eq!(url.as_ref().map(Url::as_str), expected, "{written}");
        }
    }

    #[test]
    fn unusable_settings_are_refused_before_the_run() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let rows = [
            (json!({}), "`url` of endpoint main is missing"),
            (json!({"url": "http://me:sk-1@h"}), "a key is never written"),
            (json!({"url": "http://h?api_key=sk-1"}), "api_key=env:NAME"),
            (json!({"url": "http://h?api_key=env:GABFEST_NO_SUCH_KEY"}), "GABFEST_NO_SUCH_KEY is not set"),
            (json!({"url": "http://h", "timeout_ms": 0}), "`timeout_ms` of endpoint main is 0"),
            (json!({"url": "http://h", "key": "env:GABFEST_NO_SUCH_KEY"}), "GABFEST_NO_SUCH_KEY is not set"),
            (
                json!({"url": "http://h", "price": {"input_per_million": -1, "output_per_million": 1}}),
                "amount of money",
            ),
            (json!({"url": "http://h", "headers": {"api-key": "sk-1"}}), "use env:NAME or file:PATH"),
            (json!({"url": "http://h", "headers": {"Authorization": "Bearer sk-1"}}), "use env:NAME or file:PATH"),
            (json!({"url": "http://h", "headers": {"Host": "other"}}), "gabfest writes it itself"),
            (json!({"url": "http://h", "headers": {"x-gabfest-turn": "1"}}), "gabfest writes it itself"),
            (json!({"url": "http://h", "headers": {"a b": "1"}}), "not the name of a header"),
            (json!({"url": "http://h", "headers": {"x-team": "a\nb"}}), "not printable ASCII"),
        ];
        for (value, expected) in rows {
            let message = refusal(value);
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains("sk-1"), "{message}");
        }
    }

    #[test]
    fn settings_may_say_little_and_survive_a_round_trip() {
        let full = settings(json!({
            "kind": "openai", "url": "http://h", "model": "m", "key": "env:KEY", "headers": {"x-team": "qa"},
            "stream": true, "timeout_ms": 5, "schema_mode": "json_object",
            "limits": {"requests_per_minute": 60, "tokens_per_minute": 1000, "concurrency": 4, "burst": 2},
            "price": {"input_per_million": 0.5, "output_per_million": 1.5},
            "retries": {"tries": 2},
        }));
        assert_eq!(full.retries.deadline_ms, 600_000);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let named = settings(
            json!({"url": "http://h", "model": "m-1", "price": {"input_per_million": 1, "output_per_million": 2}}),
        );
        let model = Endpoint::open("main", &named).expect("opens").chat(Policy::model());
        assert_eq!((model.endpoint(), model.name()), ("main", "m-1"), "through every layer");
        assert_eq!(settings(serde_json::to_value(&full).expect("writes")), full);
        assert_eq!(settings(json!({})), Settings::default());
        let zero = serde_json::from_value::<Settings>(json!({"limits": {"concurrency": 0}}));
        assert!(zero.is_err());
        let schema = schemars::schema_for!(Settings).to_value().to_string();
        assert!(schema.contains("tokens_per_minute") && schema.contains("KeyRef"), "{schema}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_mock_is_behind_price_limit_and_retries() {
        let value = json!({
            "kind": "mock", "limits": {"requests_per_minute": 60},
            "price": {"input_per_million": 1.0, "output_per_million": 1.0},
        });
        let endpoint = Endpoint::open("main", &settings(value)).expect("opens");
        let (judge, agent) = (endpoint.chat(Policy::model()), endpoint.chat(Policy::agent()));
        let mut request = chat::Request { messages: vec![Message::user("hello")], ..chat::Request::default() };
        request.context.role = "agent".to_owned();
        judge.ask(&request).await.expect("answers");
        let reply = agent.ask(&request).await.expect("answers");
        assert_eq!(agent.endpoint(), "main");
        // The limit is the endpoint's and not the asker's.
        assert_eq!(reply.receipt.timing.wait, Duration::from_secs(1));
        let tokens = reply.receipt.usage.input + reply.receipt.usage.output;
        assert_eq!(reply.receipt.cost_nanos, Some(tokens as i64 * 1_000));
    }
}
