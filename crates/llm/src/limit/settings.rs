//! The limits of an endpoint, as written in the settings.

use std::{
    borrow::Cow,
    fmt,
    num::{NonZeroU32, NonZeroU64},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Absent limits do not apply. All workers of a coordinator share the limits by what they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    pub requests_per_minute: Option<NonZeroU32>,
    /// Input and output together.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Without those that are read from the provider's cache.
    pub input_tokens_per_minute: Option<NonZeroU64>,
    pub output_tokens_per_minute: Option<NonZeroU64>,
    /// Of a day in UTC, counted by the coordinator for all workers and runs. A run that reaches it stops and can be resumed the
    /// next day.
    pub requests_per_day: Option<NonZeroU32>,
    /// Calls in flight at the same time; `auto`: gabfest finds how many the endpoint takes.
    pub concurrency: Option<Concurrency>,
    /// Requests that may start at once after a pause; 1 if absent, so that no minute exceeds the limit.
    pub burst: Option<NonZeroU32>,
    /// Whether gabfest also keeps the limits per minute that the provider names in its answers, if these are absent or higher.
    pub learn: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            requests_per_minute: None,
            tokens_per_minute: None,
            input_tokens_per_minute: None,
            output_tokens_per_minute: None,
            requests_per_day: None,
            concurrency: None,
            burst: None,
            learn: true,
        }
    }
}

/// How many calls may be in flight at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    Calls(NonZeroU32),
    /// As many as the endpoint takes without throttling.
    Auto,
}

const AUTO: &str = "auto";

impl Concurrency {
    /// `None`: it is found while calls are made.
    #[must_use]
    pub fn calls(self) -> Option<NonZeroU32> {
        match self {
            Self::Calls(calls) => Some(calls),
            Self::Auto => None,
        }
    }
}

impl Serialize for Concurrency {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Calls(calls) => calls.serialize(to),
            Self::Auto => AUTO.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Concurrency {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Written)
    }
}

struct Written;

impl de::Visitor<'_> for Written {
    type Value = Concurrency;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of calls from 1, or `auto`")
    }

    fn visit_u64<E: de::Error>(self, calls: u64) -> Result<Concurrency, E> {
        let calls = u32::try_from(calls).ok().and_then(NonZeroU32::new);
        calls.map(Concurrency::Calls).ok_or_else(|| E::invalid_value(de::Unexpected::Other("another number"), &self))
    }

    fn visit_i64<E: de::Error>(self, calls: i64) -> Result<Concurrency, E> {
        self.visit_u64(u64::try_from(calls).unwrap_or(0))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Concurrency, E> {
        if text == AUTO { Ok(Concurrency::Auto) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
    }
}

impl JsonSchema for Concurrency {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Concurrency".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": AUTO }] })
    }
}
