//! The dialect of an endpoint: its address, the header of its key, and the name of its token cap.

use std::sync::Arc;

use ::http::header::{AUTHORIZATION, HeaderName, InvalidHeaderName};
use serde_json::Value;
use url::Url;

use crate::{
    anthropic, bedrock,
    dialect::{Dialect, SchemaMode},
    gemini, openai, responses,
};

use super::settings::{Kind, Settings};

/// The limit of a call to Anthropic if neither the call nor the endpoint sets one: every Anthropic model accepts it.
const ANTHROPIC_MAX_TOKENS: u32 = 4_096;

impl Kind {
    /// The provider, by its name in OpenTelemetry's semantic conventions.
    #[must_use]
    pub fn provider(self) -> &'static str {
        match self {
            // The convention's name for every server of the protocol.
            Self::Openai | Self::Responses => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gcp.gemini",
            Self::Bedrock => "aws.bedrock",
            Self::Mock => "mock",
        }
    }

    /// Whether the model has to be named, since the address or the body cannot do without it.
    pub(super) fn needs_model(self) -> bool {
        matches!(self, Self::Anthropic | Self::Gemini | Self::Bedrock)
    }

    /// How it can be asked for a reply that satisfies a schema.
    pub(super) fn schema_modes(self) -> &'static [SchemaMode] {
        use SchemaMode::{JsonObject, JsonSchema, None, Strict, Tool};
        match self {
            Self::Openai | Self::Responses | Self::Mock => &[JsonSchema, Strict, JsonObject, Tool, None],
            Self::Gemini => &[JsonSchema, JsonObject, Tool, None],
            Self::Anthropic | Self::Bedrock => &[JsonSchema, Tool, None],
        }
    }

    /// The path of the token cap in `params`; `None` if it has a setting of its own.
    fn cap(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Openai | Self::Mock => None,
            Self::Responses => Some(&["max_output_tokens"]),
            Self::Anthropic => Some(&["max_tokens"]),
            Self::Gemini => Some(&["generationConfig", "maxOutputTokens"]),
            Self::Bedrock => Some(&["inferenceConfig", "maxTokens"]),
        }
    }
}

impl Settings {
    /// The written address, or that of the only provider of this kind.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        let usual = match self.kind {
            Kind::Anthropic => Some(anthropic::ADDRESS),
            Kind::Gemini => Some(gemini::ADDRESS),
            Kind::Openai | Kind::Responses | Kind::Bedrock | Kind::Mock => None,
        };
        self.url.as_deref().or(usual)
    }

    pub(super) fn dialect(&self) -> Arc<dyn Dialect> {
        match self.kind {
            Kind::Openai | Kind::Mock => Arc::new(openai::Chat),
            Kind::Responses => Arc::new(responses::Responses),
            Kind::Anthropic => {
                let max_tokens = self.max_output_tokens.unwrap_or(ANTHROPIC_MAX_TOKENS);
                Arc::new(anthropic::Messages { max_tokens })
            }
            Kind::Gemini => Arc::new(gemini::GenerateContent),
            Kind::Bedrock => Arc::new(bedrock::Converse),
        }
    }

    /// The URL for chats, below the written address.
    pub(super) fn chats(&self, below: Url) -> Url {
        let model = self.model.as_deref().unwrap_or_default();
        match self.kind {
            Kind::Openai | Kind::Mock => openai::completions(below),
            Kind::Responses => responses::responses(below),
            Kind::Anthropic => anthropic::messages(below),
            Kind::Gemini => gemini::answers(below, model, self.stream),
            Kind::Bedrock => bedrock::answers(below, model, self.stream),
        }
    }

    /// The header that carries the key, and its prefix.
    pub(super) fn key_line(&self) -> Result<(HeaderName, &'static str), InvalidHeaderName> {
        let usual = match self.kind {
            // An OAuth token is always a bearer token, whatever header the kind has for its keys.
            _ if self.oauth.is_some() => AUTHORIZATION,
            Kind::Openai | Kind::Responses | Kind::Bedrock | Kind::Mock => AUTHORIZATION,
            Kind::Anthropic => HeaderName::from_static("x-api-key"),
            Kind::Gemini => HeaderName::from_static("x-goog-api-key"),
        };
        let name = match &self.key_header {
            Some(written) => HeaderName::from_bytes(written.as_bytes())?,
            None => usual,
        };
        let before = if name == AUTHORIZATION { "Bearer " } else { "" };
        Ok((name, before))
    }

    /// The token cap in `params`.
    pub(super) fn written_cap(&self) -> Option<&Value> {
        let Some(path) = self.kind.cap() else { return self.params.get(&self.max_tokens_key) };
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.params.get(*first)?, |value, key| value.get(*key))
    }
}
