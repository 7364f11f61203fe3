//! Numbers with limits: one place for what the reader refuses and what the JSON Schema says.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};

macro_rules! bounded {
    ($($(#[$doc:meta])* $name:ident: $number:ty, $kind:literal, $low:literal to $high:expr;)+) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub(crate) struct $name(pub(crate) $number);

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let high: Option<f64> = $high;
                $crate::bounded::within(deserializer, $kind == "integer", $low, high)
                    .map(|number| Self(number as $number))
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $crate::bounded::schema($kind, $low, $high)
            }
        }
    )+ };
}

pub(crate) use bounded;

bounded! {
    /// A part of a whole.
    Share: f64, "number", 0.0 to Some(1.0);
    /// How freely a model writes.
    Temperature: f64, "number", 0.0 to Some(2.0);
    /// The length of one line of the simulated user, in tokens.
    ReplyTokens: u32, "integer", 50.0 to Some(500.0);
    /// The length of a conversation, in turns.
    Turns: u32, "integer", 2.0 to Some(20.0);
    /// The time for one turn, in milliseconds.
    TurnMillis: u64, "integer", 1000.0 to None;
    /// The time for a conversation, in milliseconds.
    TotalMillis: u64, "integer", 10_000.0 to None;
    /// A span of time, in milliseconds.
    Millis: u64, "integer", 0.0 to None;
    /// A number of things, perhaps none.
    Amount: u64, "integer", 0.0 to None;
    /// US dollars.
    Dollars: f64, "number", 0.0 to None;
    /// How alike two texts are.
    Cosine: f64, "number", -1.0 to Some(1.0);
    /// How often a judge is asked.
    Votes: u32, "integer", 1.0 to Some(100.0);
    /// A number of things, at least one.
    Count: u32, "integer", 1.0 to Some(4_294_967_295.0);
    /// How often a case is repeated.
    Repeats: u32, "integer", 1.0 to Some(1_000_000.0);
    /// What a program returns to its caller.
    ExitCode: i32, "integer", -2_147_483_648.0 to Some(2_147_483_647.0);
    /// An HTTP status.
    Status: u16, "integer", 100.0 to Some(599.0);
    /// How much a scenario counts.
    Weight: f64, "number", 0.0 to Some(1_000_000.0);
}

/// The largest whole number that JSON's numbers hold exactly.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// Takes `3.0` for the whole number 3, as JavaScript does.
pub(crate) fn within<'de, D: Deserializer<'de>>(
    deserializer: D,
    whole: bool,
    low: f64,
    high: Option<f64>,
) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    let fits = number >= low && number <= high.unwrap_or(LARGEST) && (!whole || number.fract() == 0.0);
    if fits {
        return Ok(number);
    }
    let kind = if whole { "a whole number" } else { "a number" };
    Err(D::Error::custom(match high {
        Some(high) => format!("expected {kind} from {low} to {high}, found {number}"),
        None => format!("expected {kind} of at least {low}, found {number}"),
    }))
}

pub(crate) fn schema(kind: &str, low: f64, high: Option<f64>) -> Schema {
    match high {
        Some(high) => json_schema!({ "type": kind, "minimum": low, "maximum": high }),
        None => json_schema!({ "type": kind, "minimum": low }),
    }
}

/// Text of at least one character that is not blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) String);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim().is_empty() {
            return Err(D::Error::custom("expected text, found none"));
        }
        Ok(Self(text))
    }
}

impl JsonSchema for Words {
    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}
