//! Numbers with limits: defined once for the reader and the JSON Schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};

/// Makes numbers with limits. A type refuses other numbers when it is decoded, and its JSON Schema has the limits.
#[macro_export]
macro_rules! bounded {
    ($($(#[$doc:meta])* $vis:vis $name:ident: $number:ty, $kind:literal, $low:literal to $high:expr;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, ::serde::Serialize)]
        $vis struct $name($vis $number);

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Debug::fmt(&self.0, formatter)
            }
        }

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

bounded! {
    /// A part of a whole.
    pub Share: f64, "number", 0.0 to Some(1.0);
    /// How freely a model writes.
    pub Temperature: f64, "number", 0.0 to Some(2.0);
    /// The length of one line of the simulated user, in tokens.
    pub ReplyTokens: u32, "integer", 50.0 to Some(500.0);
    /// The length of a conversation, in turns.
    pub Turns: u32, "integer", 2.0 to Some(20.0);
    /// The time for one turn, in milliseconds.
    pub TurnMillis: u64, "integer", 1000.0 to None;
    /// The time for a conversation, in milliseconds.
    pub TotalMillis: u64, "integer", 10_000.0 to None;
    /// A span of time, in milliseconds.
    pub Millis: u64, "integer", 0.0 to None;
    /// A number of things, perhaps none.
    pub Amount: u64, "integer", 0.0 to None;
    /// US dollars.
    pub Dollars: f64, "number", 0.0 to None;
    /// How alike two texts are.
    pub Cosine: f64, "number", -1.0 to Some(1.0);
    /// How often a judge is asked.
    pub Votes: u32, "integer", 1.0 to Some(100.0);
    /// A number of things, at least one.
    pub Count: u32, "integer", 1.0 to Some(4_294_967_295.0);
    /// How often a case is repeated.
    pub Repeats: u32, "integer", 1.0 to Some(1_000_000.0);
    /// What a program returns to its caller.
    pub ExitCode: i32, "integer", -2_147_483_648.0 to Some(2_147_483_647.0);
    /// An HTTP status.
    pub Status: u16, "integer", 100.0 to Some(599.0);
    /// How much a scenario counts.
    pub Weight: f64, "number", 0.0 to Some(1_000_000.0);
}

/// The largest whole number that JSON's numbers hold exactly.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// Takes `3.0` for the whole number 3, as JavaScript does.
#[doc(hidden)]
pub fn within<'de, D: Deserializer<'de>>(
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

#[doc(hidden)]
pub fn schema(kind: &str, low: f64, high: Option<f64>) -> Schema {
    match high {
        Some(high) => json_schema!({ "type": kind, "minimum": low, "maximum": high }),
        None => json_schema!({ "type": kind, "minimum": low }),
    }
}

/// Text of at least one character that is not blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(pub String);

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

/// Decodes [`Words`] as plain text.
///
/// # Errors
/// The text is blank.
pub fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Words::deserialize(deserializer).map(|words| words.0)
}

/// Decodes optional [`Words`] as plain text.
///
/// # Errors
/// The text is blank.
pub fn some_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Words>::deserialize(deserializer)?.map(|words| words.0))
}

/// Decodes a list of [`Words`] as plain texts.
///
/// # Errors
/// A text is blank.
pub fn all_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Vec::<Words>::deserialize(deserializer)?.into_iter().map(|words| words.0).collect())
}
