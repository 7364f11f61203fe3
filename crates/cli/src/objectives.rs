//! Objectives of the settings and of `--objective`.

use std::{borrow::Cow, fmt};

use anyhow::anyhow;
use scenario::{
    Goodput, Objective,
    objective::{Figure, Share},
    time,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, value::MapAccessDeserializer},
};

use crate::{exit::usage, load::units::Span};

/// An objective as it is written in the settings: a text, or a mapping.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct WrittenObjective(Keys);

/// An objective as a mapping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ObjectiveKeys")]
struct Keys {
    /// A figure, a comparison and a bound, such as `p99(ttft) < 2s` or `pass_rate{scenario=refund} >= 95%`; with `for 60s` in every
    /// stretch of 60 s.
    objective: String,
    /// Stops the run as soon as the objective is broken (`false`).
    #[serde(default)]
    abort: bool,
    /// The objective is not judged while the run is younger than this (`0s`).
    #[serde(default)]
    delay: Option<Span>,
}

impl WrittenObjective {
    /// `limits` are those that turns must meet to count as goodput.
    pub(crate) fn read(&self, limits: &Goodput) -> Result<Objective, String> {
        let Keys { objective, abort, delay } = &self.0;
        let mut text = objective.clone();
        if let Some(delay) = delay.filter(|delay| delay.micros > 0) {
            text.push_str(&format!(", delay {}", time::show(delay.micros)));
        }
        if *abort {
            text.push_str(", abort");
        }
        read(&text, limits)
    }
}

/// The objectives of a run: those of the settings, then those of the command line.
pub(crate) fn chosen(
    written: &[WrittenObjective],
    texts: &[String],
    limits: &Goodput,
) -> anyhow::Result<Vec<Objective>> {
    let written = written.iter().map(|written| written.read(limits));
    let flags = texts.iter().map(|text| read(text, limits).map_err(|reason| format!("--objective {text:?}: {reason}")));
    written.chain(flags).map(|objective| objective.map_err(|reason| usage(anyhow!(reason)))).collect()
}

/// The text after `hint:` of an error is its help.
fn read(text: &str, limits: &Goodput) -> Result<Objective, String> {
    let objective = Objective::read(text).map_err(|fault| {
        let hint = fault.hint.as_ref().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
        format!("{fault}{hint}")
    })?;
    let of_goodput = matches!(objective.figure, Figure::Share(Share::Goodput | Share::ConversationGoodput));
    if of_goodput && limits.is_empty() {
        let hint = "write them in the settings: `goodput: {response_ms: 10000, ttft_ms: 2000}`";
        return Err(format!("counts turns by limits on times, and there are none\nhint: {hint}"));
    }
    Ok(objective)
}

impl<'de> Deserialize<'de> for WrittenObjective {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = WrittenObjective;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an objective such as `p99(ttft) < 2s for 60s`, or a mapping with `objective`, `delay` and `abort`",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<WrittenObjective, E> {
                Ok(WrittenObjective(Keys { objective: text.to_owned(), abort: false, delay: None }))
            }

            fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<WrittenObjective, M::Error> {
                Keys::deserialize(MapAccessDeserializer::new(map)).map(WrittenObjective)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for WrittenObjective {
    fn schema_name() -> Cow<'static, str> {
        "Objective".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, generator.subschema_for::<Keys>()] })
    }
}
