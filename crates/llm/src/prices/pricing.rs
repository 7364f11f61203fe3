//! A price as settings write it: amounts, or the word `auto`.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use crate::price::Price;

const AUTO: &str = "auto";

#[derive(Debug, Clone, PartialEq)]
pub enum Pricing {
    /// The price table's price of exactly the endpoint's model.
    Auto,
    Written(Price),
}

impl Serialize for Pricing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str(AUTO),
            Self::Written(price) => price.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Pricing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PricingVisitor)
    }
}

struct PricingVisitor;

impl<'de> Visitor<'de> for PricingVisitor {
    type Value = Pricing;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping with prices, or the word auto")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Pricing, E> {
        if word == AUTO { Ok(Pricing::Auto) } else { Err(E::invalid_value(de::Unexpected::Str(word), &self)) }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pricing, A::Error> {
        Price::deserialize(MapAccessDeserializer::new(map)).map(Pricing::Written)
    }
}

impl JsonSchema for Pricing {
    fn schema_name() -> Cow<'static, str> {
        "Pricing".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let price = generator.subschema_for::<Price>();
        json_schema!({
            "description": "In US dollars, or `auto`: the price that the price table has for exactly this model.",
            "anyOf": [{ "const": AUTO }, price],
        })
    }
}
