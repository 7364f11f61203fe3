//! Where a part of a reply is: a path, and the events of a stream to which it applies.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        self, SeqAccess, Visitor,
        value::{MapAccessDeserializer, StrDeserializer},
    },
};
use serde_json::Value;

use crate::path::Path;

/// A path, with the events to which it applies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) struct ReplyPlace {
    /// Where the part is in the answer or in the event. Without this key: the whole of it.
    #[serde(default = "everything")]
    path: Path,
    /// The names of the server-sent events to which it applies: a name, or a list of names. Without it: all events.
    #[serde(default)]
    event: Option<OneOrMore<String>>,
    /// Conditions on the same event: for each path a value, or a list of values of which one must match. null matches
    /// an absent value.
    #[serde(default)]
    when: BTreeMap<String, OneOrMore<Value>>,
    /// The parsed paths of `when`.
    #[serde(skip)]
    conditions: Vec<(Path, Vec<Value>)>,
}

/// A value, or a list of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMore<T> {
    More(Vec<T>),
    One(T),
}

/// The places of one part, in the order in which they are tried: the first one that finds something counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyPlaces(Vec<ReplyPlace>);

impl ReplyPlace {
    fn bare(path: Path) -> Self {
        Self { path, event: None, when: BTreeMap::new(), conditions: Vec::new() }
    }

    fn prepared(mut self) -> Result<Self, crate::path::Error> {
        let conditions = self.when.iter().map(|(path, values)| Ok((Path::parse(path)?, values.as_slice().to_vec())));
        self.conditions = conditions.collect::<Result<_, _>>()?;
        Ok(self)
    }

    fn is_read_in(&self, event: &str) -> bool {
        self.event.as_ref().is_none_or(|names| names.as_slice().iter().any(|name| name == event))
    }

    fn holds(&self, value: &Value) -> bool {
        let met = |(path, wanted): &(Path, Vec<Value>)| {
            let found = path.find(value);
            let absent = found.is_empty() && wanted.contains(&Value::Null);
            absent || found.into_iter().any(|found| wanted.contains(found))
        };
        self.conditions.iter().all(met)
    }

    fn is_bare(&self) -> bool {
        self.event.is_none() && self.when.is_empty()
    }
}

impl ReplyPlaces {
    /// The result of the first place that finds anything. `event` is the event's name; it is empty for a whole answer.
    pub(crate) fn find<'a>(&self, event: &str, value: &'a Value) -> Vec<&'a Value> {
        let places = self.0.iter().filter(|place| place.is_read_in(event) && place.holds(value));
        places.map(|place| place.path.find(value)).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// Whether a place exists in the answer, even with a null in it.
    pub(crate) fn exist(&self, event: &str, value: &Value) -> bool {
        self.0.iter().any(|place| place.is_read_in(event) && place.holds(value) && place.path.exists(value))
    }

    /// Whether any place applies to events with this name.
    pub(crate) fn are_read_in(&self, event: &str) -> bool {
        self.0.iter().any(|place| place.is_read_in(event))
    }

    /// The paths, for messages.
    pub(crate) fn written(&self) -> String {
        self.0.iter().map(|place| place.path.written()).collect::<Vec<_>>().join(" or ")
    }
}

impl From<Path> for ReplyPlaces {
    fn from(path: Path) -> Self {
        Self(vec![ReplyPlace::bare(path)])
    }
}

impl<T> OneOrMore<T> {
    fn as_slice(&self) -> &[T] {
        match self {
            Self::More(list) => list,
            Self::One(one) => std::slice::from_ref(one),
        }
    }
}

impl<'de> Deserialize<'de> for ReplyPlaces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl<'de> Visitor<'de> for Written {
            type Value = ReplyPlaces;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSONPath, a mapping with `path`, `event` and `when`, or a list of these")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ReplyPlaces, E> {
                Path::deserialize(StrDeserializer::new(text)).map(ReplyPlaces::from)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ReplyPlaces, A::Error> {
                let place = ReplyPlace::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ReplyPlaces(vec![place.prepared().map_err(de::Error::custom)?]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ReplyPlaces, A::Error> {
                let mut all = Vec::new();
                while let Some(places) = list.next_element::<ReplyPlaces>()? {
                    all.extend(places.0);
                }
                if all.is_empty() {
                    Err(de::Error::custom("an empty list finds nothing"))
                } else {
                    Ok(ReplyPlaces(all))
                }
            }
        }

        deserializer.deserialize_any(Written)
    }
}

impl Serialize for ReplyPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_bare() {
            return self.path.serialize(serializer);
        }
        #[derive(Serialize)]
        struct Written<'a> {
            path: &'a Path,
            #[serde(skip_serializing_if = "Option::is_none")]
            event: &'a Option<OneOrMore<String>>,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            when: &'a BTreeMap<String, OneOrMore<Value>>,
        }
        Written { path: &self.path, event: &self.event, when: &self.when }.serialize(serializer)
    }
}

impl Serialize for ReplyPlaces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(serializer),
            all => all.serialize(serializer),
        }
    }
}

impl JsonSchema for ReplyPlaces {
    fn schema_name() -> Cow<'static, str> {
        "ReplyPlaces".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let path = generator.subschema_for::<Path>();
        let place = generator.subschema_for::<ReplyPlace>();
        json_schema!({
            "description": "A JSONPath (RFC 9535), a mapping that also says in which events it counts, or a list of these \
                            of which the first one that finds something counts.",
            "anyOf": [path, place, { "type": "array", "items": { "anyOf": [path, place] }, "minItems": 1 }],
        })
    }
}

fn everything() -> Path {
    Path::parse("$").expect("`$` is a JSONPath")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn places(written: Value) -> ReplyPlaces {
        serde_json::from_value(written).expect("places")
    }

    #[test]
    fn a_place_counts_in_its_events_only() {
        let delta = json!({ "type": "delta", "delta": "a", "call": { "id": 1 } });
        let rows = [
            (json!("$.delta"), "", json!(["a"])),
            (json!({ "path": "$.delta", "event": "message" }), "message", json!(["a"])),
            (json!({ "path": "$.delta", "event": "message" }), "tool", json!([])),
            (json!({ "path": "$.delta", "event": "message" }), "", json!([])),
            (json!({ "path": "$.delta", "event": ["tool", "message"] }), "message", json!(["a"])),
            (json!({ "path": "$.delta", "when": { "$.type": "delta" } }), "", json!(["a"])),
            (json!({ "path": "$.delta", "when": { "$.type": "arguments" } }), "", json!([])),
            (json!({ "path": "$.delta", "when": { "$.type": ["arguments", "delta"] } }), "", json!(["a"])),
            (json!({ "path": "$.delta", "when": { "$.type": "delta", "$.call.id": 2 } }), "", json!([])),
            (json!({ "path": "$.delta", "when": { "$.absent": "delta" } }), "", json!([])),
            (json!({ "path": "$.delta", "when": { "$.absent": ["delta", null] } }), "", json!(["a"])),
            (json!({ "path": "$.delta", "when": { "$.type": [null] } }), "", json!([])),
            (json!({ "when": { "$.call.id": 1 }, "event": "x" }), "x", json!([delta])),
            (json!(["$.absent", { "path": "$.delta" }, "$.type"]), "", json!(["a"])),
        ];
        for (written, event, expected) in rows {
            let places = places(written.clone());
            assert_eq!(json!(places.find(event, &delta)), expected, "{written} in {event:?}");
            let again: ReplyPlaces = serde_json::from_value(serde_json::to_value(&places).unwrap()).unwrap();
            assert_eq!(again, places, "{written} is written as it was read");
        }
    }

    #[test]
    fn invalid_places_are_refused() {
        for (written, says) in [
            (json!("delta"), "not a JSONPath"),
            (json!({ "path": "$.a", "when": { "type": 1 } }), "not a JSONPath"),
            (json!([]), "an empty list"),
            (json!(7), "a JSONPath, a mapping"),
        ] {
            let error = serde_json::from_value::<ReplyPlaces>(written.clone()).unwrap_err().to_string();
            assert!(error.contains(says), "{written}: {error}");
        }
    }
}
