//! Whether a document has a place for a path, and the nearest name that would do.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    path::{Miss, Path, Segment},
    schema::Shape,
    suggest,
};

impl Path {
    /// Whether a value may be set here: every segment exists, except that a last key from the format's schema may be
    /// new.
    ///
    /// # Errors
    /// What is missing, with the nearest existing name.
    pub fn fits(&self, document: &Value, schema: &Value) -> Result<(), Miss> {
        let mut value = document;
        for (depth, segment) in self.0.iter().enumerate() {
            let here = Self(self.0[..depth].to_vec());
            let last = depth + 1 == self.0.len();
            value = match (segment, value) {
                (Segment::Key(key), Value::Object(map)) => match map.get(key) {
                    Some(found) => found,
                    None => {
                        let known = Shape::of(schema).at(&here.0).keys();
                        if last && known.contains_key(key) {
                            return Ok(());
                        }
                        return Err(here.lacks(key, map, &known));
                    }
                },
                (Segment::Index(index), Value::Array(items)) => items.get(*index).ok_or_else(|| {
                    Miss::bare(format!("`{here}` has {} elements, so there is no [{index}]", items.len()))
                })?,
                (Segment::Key(key), _) => {
                    return Err(Miss::bare(format!("`{here}` is not a mapping, so it has no key `{key}`")));
                }
                (Segment::Index(index), _) => {
                    return Err(Miss::bare(format!("`{here}` is not a list, so there is no [{index}]")));
                }
            };
        }
        Ok(())
    }

    fn lacks(&self, key: &str, map: &serde_json::Map<String, Value>, known: &BTreeMap<String, String>) -> Miss {
        let place = if self.0.is_empty() { "the scenario".to_owned() } else { format!("`{self}`") };
        let message = format!("{place} has no key `{key}`");
        let help = if known.contains_key(key) {
            Some(format!("only the last part of a path can be created; write `{key}` in the scenario first"))
        } else {
            let names: Vec<&str> = map.keys().chain(known.keys()).map(String::as_str).collect();
            suggest::did_you_mean(key, names)
        };
        Miss { message, help }
    }
}
