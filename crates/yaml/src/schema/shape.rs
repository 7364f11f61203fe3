//! The JSON Schema of one place in a document: its known and its required keys.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::path::Segment;

/// The schemas that may apply at one place; several if the format has a choice.
#[derive(Debug, Clone)]
pub struct Shape<'a> {
    root: &'a Value,
    choices: Vec<&'a Value>,
}

impl<'a> Shape<'a> {
    /// The shape of a whole document.
    #[must_use]
    pub fn of(schema: &'a Value) -> Self {
        let mut shape = Self { root: schema, choices: Vec::new() };
        shape.add(schema, 0);
        shape
    }

    /// The shape at a path.
    #[must_use]
    pub fn at(&self, path: &[Segment]) -> Self {
        path.iter().fold(self.clone(), |shape, segment| shape.below(segment))
    }

    /// The known keys and their descriptions.
    #[must_use]
    pub fn keys(&self) -> BTreeMap<String, String> {
        let mut keys = BTreeMap::new();
        for (name, schema) in self.choices.iter().filter_map(|choice| choice["properties"].as_object()).flatten() {
            let description = schema["description"].as_str().unwrap_or_default();
            keys.insert(name.clone(), description.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        keys
    }

    /// The keys that every choice requires.
    #[must_use]
    pub fn required(&self) -> BTreeSet<String> {
        let names = |choice: &Value| -> BTreeSet<String> {
            let list = choice["required"].as_array().into_iter().flatten();
            list.filter_map(|name| name.as_str().map(str::to_owned)).collect()
        };
        let mut choices = self.choices.iter().filter(|choice| choice["properties"].is_object());
        let first = choices.next().map(|choice| names(choice)).unwrap_or_default();
        choices.fold(first, |all, choice| all.intersection(&names(choice)).cloned().collect())
    }

    /// The smallest number that is allowed here.
    #[must_use]
    pub fn least(&self) -> Option<u64> {
        self.choices.iter().find_map(|choice| choice["minimum"].as_u64())
    }

    /// Whether the schema does not describe this place.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.choices.is_empty()
    }

    /// Whether any value will do here.
    #[must_use]
    pub fn takes_anything(&self) -> bool {
        let constrains = |choice: &&Value| {
            ["type", "enum", "const", "properties", "anyOf", "oneOf"].iter().any(|word| !choice[*word].is_null())
        };
        !self.choices.iter().all(constrains)
    }

    /// Whether only a mapping is allowed here.
    #[must_use]
    pub fn takes_only_mappings(&self) -> bool {
        !self.choices.is_empty() && self.choices.iter().all(|choice| choice["type"] == "object")
    }

    fn below(&self, segment: &Segment) -> Self {
        let mut shape = Self { root: self.root, choices: Vec::new() };
        for choice in &self.choices {
            let next = match segment {
                Segment::Key(key) => choice["properties"].get(key).or_else(|| choice.get("additionalProperties")),
                Segment::Index(_) => choice.get("items"),
            };
            if let Some(next) = next.filter(|next| **next != Value::Bool(false)) {
                shape.add(next, 0);
            }
        }
        shape
    }

    /// Follows references and spreads choices.
    fn add(&mut self, schema: &'a Value, depth: usize) {
        // Our schemas do not refer to themselves without a key in between; this guards against those that would.
        if depth > 8 {
            return;
        }
        let root = self.root;
        if let Some(target) = schema["$ref"].as_str().and_then(|name| root.pointer(name.strip_prefix('#')?)) {
            self.add(target, depth + 1);
        }
        for word in ["anyOf", "oneOf", "allOf"] {
            for choice in schema[word].as_array().into_iter().flatten() {
                self.add(choice, depth + 1);
            }
        }
        let refers = schema.get("$ref").is_some() && schema.get("properties").is_none();
        if !refers && !["anyOf", "oneOf"].iter().any(|word| schema.get(word).is_some()) {
            self.choices.push(schema);
        }
    }
}
