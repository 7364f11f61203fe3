//! A mapping from names to things, in the order of the file.

use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};

#[derive(Debug, Clone, PartialEq)]
pub struct Named<T>(Vec<(String, T)>);

impl<T> Named<T> {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == name)
    }

    /// The thing at this place, with its name.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<(&str, &T)> {
        self.0.get(place).map(|(name, thing)| (name.as_str(), thing))
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(known, _)| *known == name).map(|(_, thing)| thing)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> + Clone {
        self.0.iter().map(|(name, thing)| (name.as_str(), thing))
    }
}

impl<T: Clone> Named<T> {
    /// Adds the entries with new names.
    pub fn add(&mut self, others: &Self) {
        for (name, thing) in &others.0 {
            if self.get(name).is_none() {
                self.0.push((name.clone(), thing.clone()));
            }
        }
    }
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        <BTreeMap<String, T>>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <BTreeMap<String, T>>::json_schema(generator)
    }
}
