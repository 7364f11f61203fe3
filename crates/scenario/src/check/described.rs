//! The fields of a kind together with `description`, which every kind takes.

use std::{borrow::Cow, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IntoDeserializer as _, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Value, json};

const KEY: &str = "description";

/// `serde(flatten)` would do the same, but it loses the places of faults and hides unknown keys.
#[derive(Debug)]
pub struct Described<T> {
    pub(super) description: Option<String>,
    pub(super) fields: T,
}

impl<T: JsonSchema> JsonSchema for Described<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let mut fields = Map::new();
        fields.insert(KEY.to_owned(), json!({ "type": "string", "description": "A description for people." }));
        let object = schema.ensure_object();
        match object.get_mut("properties").and_then(Value::as_object_mut) {
            Some(properties) => {
                fields.append(properties);
                *properties = fields;
            }
            // A kind without fields of its own. The description of the kind follows its fields.
            None => {
                let about = object.remove(KEY);
                object.insert("properties".to_owned(), Value::Object(fields));
                object.extend(about.map(|about| (KEY.to_owned(), about)));
            }
        }
        schema
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Described<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = Described<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut description = None;
        let others = Others { map, description: &mut description };
        let fields = T::deserialize(MapAccessDeserializer::new(others))?;
        Ok(Described { description, fields })
    }
}

/// The entries of a map without `description`, which it keeps on the way.
struct Others<'a, A> {
    map: A,
    description: &'a mut Option<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Others<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if key != KEY {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            *self.description = self.map.next_value()?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
