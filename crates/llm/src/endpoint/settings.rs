//! The settings of an endpoint in `gabfest.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    bedrock::sign::Settings as AccessKey,
    credential::OauthSettings,
    dialect::{RESERVED, SchemaMode},
    http::{self, query, written},
    key::KeyRef,
    limit, mock,
    price::Price,
    prices::{Pricing, Table},
};

/// The usual name of the token cap.
const MAX_TOKENS: &str = "max_tokens";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    pub kind: Kind,
    /// The server's address: `https://api.openai.com/v1`. What the kind adds to the path, such as `/chat/completions`,
    /// may be left out. Kinds `anthropic` and `gemini` use the provider's address by default. For a key in the query,
    /// name the place where it is kept: `?api_key=env:NAME`.
    pub url: Option<String>,
    /// As the server names it; absent for servers that have but one.
    pub model: Option<String>,
    /// The family of the model, such as `qwen`: judges of a blocking criterion are of two or more. By default the model's name says
    /// it.
    pub family: Option<String>,
    /// Sent in the header of the kind: `Authorization: Bearer`, `x-api-key` to Anthropic, `x-goog-api-key` to Gemini.
    /// Where the key is kept, `env:NAME` or `file:PATH`; never the key.
    /// A file is read again when it changes.
    pub key: Option<KeyRef>,
    /// In place of `key`: access tokens by OAuth's client credentials grant.
    pub oauth: Option<OauthSettings>,
    /// In place of `key`, for kind `bedrock`: calls are signed with this AWS access key.
    pub aws: Option<AccessKey>,
    /// The header that carries the key instead: `api-key` for Azure.
    pub key_header: Option<String>,
    /// Further headers of each call. A value `env:NAME` or `file:PATH` is read from there; headers that carry keys
    /// accept nothing else.
    pub headers: BTreeMap<String, String>,
    /// Whether replies are streamed, which shows the time to the first token.
    pub stream: bool,
    /// For one try of a call, from its first byte to its last.
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
    /// How a call asks for a reply that satisfies a schema.
    pub schema_mode: SchemaMode,
    /// The server's name for the token cap; models that reason expect `max_completion_tokens`.
    pub max_tokens_key: String,
    /// Added to the body of each call, replacing existing values; `null` removes a parameter. Not `messages`, `input`,
    /// `contents`, `model`, `stream` or `tools`.
    pub params: Map<String, Value>,
    /// Tokens for reasoning beyond the limit of a reply. They are added to the limit that is sent, and `limits` and
    /// budgets count them.
    pub reasoning_reserve: u32,
    /// The role of the system's message; models of OpenAI that reason call it `developer`.
    pub system_role: SystemRole,
    /// Whether the model sees images. Judges and simulated users with images in their conversation need it.
    pub images: bool,
    /// Whether judges and simulated users send the headers that agents get: `x-gabfest-…`, `traceparent` and
    /// `Idempotency-Key`.
    pub trace: bool,
    pub limits: limit::Settings,
    /// What calls cost, or `auto`: the price of exactly this model in the price table. Absent: the cost of a run is
    /// incomplete.
    pub price: Option<Pricing>,
    /// The model's longest reply, in tokens. It bounds the possible cost of a call in flight that sets no limit of its
    /// own; absent: 16,384.
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u32>,
    /// The model's context window: input and reply together, in tokens. A call that cannot fit fails before it is sent;
    /// judges shorten their material to fit. Absent: unknown.
    #[schemars(range(min = 1))]
    pub context_tokens: Option<u32>,
    pub retries: Retries,
    /// How a mock behaves.
    pub mock: mock::Behaviour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Any server with OpenAI's chat completions; also Azure's, with `key_header: api-key`.
    #[default]
    Openai,
    /// OpenAI's Responses API.
    Responses,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// Amazon Bedrock's Converse API, with a Bedrock API key or an AWS access key (`aws`). The url names the region:
    /// `https://bedrock-runtime.eu-central-1.amazonaws.com`.
    Bedrock,
    /// The built-in model, which needs no key and no server.
    Mock,
}

/// The role of the system's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    #[default]
    System,
    Developer,
}

impl SystemRole {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
        }
    }
}

/// How often a failed call is tried, if a retry can help. An agent under test keeps state: it is called again only if
/// nothing can have reached it, or after a 429.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Retries {
    /// Including the first one; 1 disables retries. A 429 does not count.
    #[schemars(range(min = 1))]
    pub tries: u32,
    /// From the first try, without the time in line for the limits; no other try begins after it.
    pub deadline_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            url: None,
            model: None,
            family: None,
            key: None,
            oauth: None,
            aws: None,
            key_header: None,
            headers: BTreeMap::new(),
            stream: false,
            timeout_ms: 120_000,
            schema_mode: SchemaMode::default(),
            max_tokens_key: MAX_TOKENS.to_owned(),
            params: Map::new(),
            reasoning_reserve: 0,
            system_role: SystemRole::default(),
            images: false,
            trace: false,
            limits: limit::Settings::default(),
            price: None,
            max_output_tokens: None,
            context_tokens: None,
            retries: Retries::default(),
            mock: mock::Behaviour::default(),
        }
    }
}

impl Settings {
    /// Why a server cannot have the key `mock`, with a hint. [`Settings::fault`] finds it only if it says something.
    pub const NO_MOCK: &str =
        "is for kind `mock`, and this endpoint is a server\nhint: write `kind: mock`, or remove the key";

    /// What is wrong with the settings: the key and the reason.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, String)> {
        if let Some(reason) = self.price_fault() {
            return Some(("price", reason));
        }
        if self.kind != Kind::Mock {
            if let Err(reason) = self.server() {
                return Some(("url", reason));
            }
            if let Err(error) = written::check(&self.headers) {
                return Some(("headers", format!("cannot be sent: {error}")));
            }
        }
        if self.timeout_ms == 0 {
            return Some(("timeout_ms", "is 0, in which nothing can be answered".to_owned()));
        }
        let reserved = self.params.keys().find(|key| RESERVED.contains(&key.as_str()));
        if let Some(key) = reserved {
            return Some(("params", format!("cannot hold `{key}`: gabfest writes it from the other settings")));
        }
        let key = self.max_tokens_key.as_str();
        if key.trim().is_empty() || RESERVED.contains(&key) {
            return Some((
                "max_tokens_key",
                "is not the name of a parameter, such as max_completion_tokens".to_owned(),
            ));
        }
        if self.model.as_deref().is_some_and(|model| model.trim().is_empty()) {
            let reason = "is empty\nhint: write the model as its server names it, or remove the key";
            return Some(("model", reason.to_owned()));
        }
        if self.family.as_deref().is_some_and(|family| family.trim().is_empty()) {
            return Some((
                "family",
                "is empty\nhint: write the family of the model, such as `qwen`, or remove the key".to_owned(),
            ));
        }
        if self.kind != Kind::Mock && self.mock != mock::Behaviour::default() {
            return Some(("mock", Self::NO_MOCK.to_owned()));
        }
        if self.kind.needs_model() && self.model.is_none() {
            return Some(("model", "is missing: calls to this kind of endpoint name it".to_owned()));
        }
        if let Some(oauth) = &self.oauth {
            if self.key.is_some() {
                return Some(("oauth", "cannot be used with `key`: an endpoint has one of them".to_owned()));
            }
            if let Some(fault) = oauth.fault() {
                return Some(("oauth", fault));
            }
        }
        if let Some(fault) = self.aws.as_ref().and_then(|aws| self.aws_fault(aws)) {
            return Some(("aws", fault));
        }
        if let Some(name) = &self.key_header {
            if self.key.is_none() && self.oauth.is_none() {
                return Some(("key_header", "names a header for a `key`, and there is none".to_owned()));
            }
            if let Err(error) = written::name(name) {
                return Some(("key_header", format!("cannot be used: {error}")));
            }
        }
        let modes = self.kind.schema_modes();
        if !modes.contains(&self.schema_mode) {
            let modes: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
            let found = self.schema_mode.name();
            let reason = format!("is {found}, which this kind does not have\nhint: write one of {}", modes.join(", "));
            return Some(("schema_mode", reason));
        }
        if self.kind == Kind::Anthropic && self.own_cap() == Some(None) {
            return Some(("params", "cannot take out `max_tokens`: Anthropic wants it with every call".to_owned()));
        }
        if self.kind != Kind::Openai && self.kind != Kind::Mock && key != MAX_TOKENS {
            return Some(("max_tokens_key", "is for kind `openai`: this kind has one name for it".to_owned()));
        }
        if self.kind != Kind::Openai && self.kind != Kind::Mock && self.system_role != SystemRole::default() {
            return Some(("system_role", "is for kind `openai`: this kind has a place of its own for it".to_owned()));
        }
        if let Some(window) = self.context_tokens
            && let Some((of, tokens)) = self.least_reply().filter(|(_, tokens)| *tokens >= window)
        {
            let message = format!("is {window}, and leaves no room for input beside {of} {tokens}");
            return Some(("context_tokens", message));
        }
        let unused = [
            ("oauth", self.oauth.is_some()),
            ("params", !self.params.is_empty()),
            ("max_tokens_key", key != MAX_TOKENS),
            ("reasoning_reserve", self.reasoning_reserve > 0),
            ("system_role", self.system_role != SystemRole::default()),
            ("images", self.images),
            ("trace", self.trace),
        ];
        let unused = unused.into_iter().find(|(_, written)| *written && self.kind == Kind::Mock);
        unused.map(|(key, _)| (key, "is for servers, and the built-in mock is none".to_owned()))
    }

    /// Everything that influences replies: kind, model, parameters, and how they are sent. Without addresses and keys.
    #[must_use]
    pub fn asked_with(&self) -> Vec<Value> {
        let Self { kind, model, params, max_tokens_key, reasoning_reserve, system_role, schema_mode, stream, .. } =
            self;
        vec![
            json!(kind),
            json!(model),
            json!(params),
            json!(max_tokens_key),
            json!(reasoning_reserve),
            json!(system_role),
            json!(schema_mode),
            json!(stream),
        ]
    }

    /// The address of the server, with unresolved keys in its query.
    pub(super) fn server(&self) -> Result<Url, String> {
        let Some(written) = self.address() else {
            return Err("is missing: this kind of endpoint has no usual address".to_owned());
        };
        let url = http::address(written)?;
        match query::keys(url.as_str()).into_iter().next() {
            Some((name, _)) => Err(format!("cannot be used: {}", query::Error::Written(name))),
            None => Ok(url),
        }
    }

    /// The price of a call; `None` if it is unknown.
    #[must_use]
    pub fn price(&self) -> Option<Price> {
        match self.price.as_ref()? {
            Pricing::Written(price) => Some(price.clone()),
            Pricing::Auto => Table::shipped().price(self.model.as_deref()?).cloned(),
        }
    }

    /// Replaces `auto` with a price from a table.
    ///
    /// # Errors
    /// The table has no price of this model.
    pub fn take_price(&mut self, table: &Table) -> Result<(), String> {
        if let (Some(Pricing::Auto), Some(model)) = (&self.price, &self.model) {
            let price = table.price(model).ok_or_else(|| unknown(table, model))?;
            self.price = Some(Pricing::Written(price.clone()));
        }
        Ok(())
    }

    fn price_fault(&self) -> Option<String> {
        match (self.price.as_ref()?, &self.model) {
            (Pricing::Written(price), _) => (!price.is_valid()).then(|| "is not an amount of money".to_owned()),
            (Pricing::Auto, None) => Some("is auto, and there is no `model` to look for".to_owned()),
            (Pricing::Auto, Some(model)) => {
                let table = Table::shipped();
                table.price(model).is_none().then(|| unknown(table, model))
            }
        }
    }

    /// Whether the longest reply is known. `sends_cap`: whether calls bring a token cap of their own.
    #[must_use]
    pub fn bounds_output(&self, sends_cap: bool) -> bool {
        let sent = match self.own_cap() {
            Some(own) => own.is_some(),
            None => sends_cap,
        };
        sent || self.max_output_tokens.is_some()
    }

    /// The endpoint's name with its model: what limits are shared by.
    pub(super) fn named_with_model(&self, name: &str) -> String {
        self.model.as_ref().map_or_else(|| name.to_owned(), |model| format!("{name} ({model})"))
    }

    /// The token cap in `params`: absent, a number, or `null`, which removes it.
    pub(super) fn own_cap(&self) -> Option<Option<u32>> {
        let written = self.written_cap()?;
        Some(written.as_u64().map(|most| u32::try_from(most).unwrap_or(u32::MAX)))
    }

    fn aws_fault(&self, aws: &AccessKey) -> Option<String> {
        if self.kind != Kind::Bedrock {
            return Some("is for kind `bedrock`".to_owned());
        }
        if self.key.is_some() || self.oauth.is_some() {
            return Some("cannot be used with `key` or `oauth`: an endpoint has one of them".to_owned());
        }
        let host = self.url.as_deref().and_then(|url| http::address(url).ok());
        let region = aws.region_of(host.as_ref().and_then(url::Url::host_str).unwrap_or_default());
        region.is_none().then(|| "names no `region`, and the url has none either".to_owned())
    }

    /// The part of the window that is reserved for each reply, and the key that sets it.
    fn least_reply(&self) -> Option<(&'static str, u32)> {
        let reserve = (self.reasoning_reserve > 0).then_some(("reasoning_reserve", self.reasoning_reserve));
        let own = self.own_cap().flatten().map(|own| ("a limit in params of", own));
        own.or(reserve)
    }

    /// The places of its keys, including those in headers and in the url.
    #[must_use]
    pub fn keys(&self) -> Vec<KeyRef> {
        let of_headers = self.headers.values().filter_map(|value| KeyRef::parse(value).ok());
        let of_url = self.url.iter().flat_map(|url| query::places(url));
        let of_oauth = self.oauth.iter().map(|oauth| oauth.client_secret.clone());
        let of_aws = self.aws.iter().flat_map(AccessKey::keys).cloned();
        self.key.iter().cloned().chain(of_oauth).chain(of_aws).chain(of_headers).chain(of_url).collect()
    }
}

fn unknown(table: &Table, model: &str) -> String {
    let table = table.missing(model);
    format!("is auto: {table}; write the price, or get a newer table with `gabfest prices update`")
}

impl Default for Retries {
    fn default() -> Self {
        Self { tries: 5, deadline_ms: 600_000 }
    }
}
