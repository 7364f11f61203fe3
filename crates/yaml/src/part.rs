//! One part of a document with its place.

use serde_json::Value;

use crate::{
    path::{Path, Segment},
    place::{Inside, Node, Places, Spot},
};

/// A value of a document that knows its place.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    value: &'a Value,
    /// `None` if the file has no such place, as for a value that an axis set.
    node: Option<&'a Node>,
    spot: Spot,
    key: Option<Spot>,
}

impl<'a> Part<'a> {
    pub(crate) fn root(value: &'a Value, places: &'a Places) -> Self {
        Self { value, node: Some(&places.root), spot: places.root.at, key: None }
    }

    #[must_use]
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// Another value at the same place.
    #[must_use]
    pub fn with_value<'b>(&self, value: &'b Value) -> Part<'b>
    where
        'a: 'b,
    {
        Part { value, node: self.node, spot: self.spot, key: self.key }
    }

    /// The place of the value; for a mapping, the place of its first key.
    #[must_use]
    pub fn spot(&self) -> Spot {
        self.spot
    }

    /// 1-based, in the document's own file; 0 if it is unknown or in an included file.
    #[must_use]
    pub fn line(&self) -> u32 {
        if self.spot.file == 0 { self.spot.line } else { 0 }
    }

    #[must_use]
    pub fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key)?;
        let entry = self.node.and_then(|node| node.entry(key));
        Some(Self {
            value,
            node: entry.map(|entry| &*entry.value),
            spot: entry.map_or(self.spot, |entry| entry.value.at),
            key: entry.map(|entry| entry.key),
        })
    }

    /// The elements of a list; none for any other value.
    #[must_use]
    pub fn items(&self) -> Vec<Self> {
        let Value::Array(items) = self.value else { return Vec::new() };
        items
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let node = self.node.and_then(|node| node.step(&Segment::Index(index)));
                Self { value, node, spot: node.map_or(self.spot, |node| node.at), key: None }
            })
            .collect()
    }

    /// The elements of the list under a key.
    #[must_use]
    pub fn items_of(&self, key: &str) -> Vec<Self> {
        self.get(key).map_or_else(Vec::new, |part| part.items())
    }

    /// The entries of a mapping; none for any other value.
    #[must_use]
    pub fn entries(&self) -> Vec<(&'a str, Self)> {
        let Value::Object(map) = self.value else { return Vec::new() };
        map.keys().filter_map(|key| Some((key.as_str(), self.get(key)?))).collect()
    }

    /// The place of the value under a key, else of this part.
    #[must_use]
    pub fn spot_of(&self, key: &str) -> Spot {
        self.get(key).map_or(self.spot, |part| part.spot)
    }

    /// The place of a key, else of this part.
    #[must_use]
    pub fn key_spot(&self, key: &str) -> Spot {
        self.get(key).and_then(|part| part.key).unwrap_or(self.spot)
    }

    /// The part at a path below this one, or its nearest existing parent.
    #[must_use]
    pub fn nearest(&self, path: &Path) -> Self {
        let mut part = self.clone();
        for segment in &path.0 {
            let next = match segment {
                Segment::Key(key) => part.get(key),
                Segment::Index(index) => part.items().into_iter().nth(*index),
            };
            match next {
                Some(next) => part = next,
                None => break,
            }
        }
        part
    }

    /// The lines of all mappings in lists below, by path: the places that a plan keeps of a document.
    #[must_use]
    pub fn lines(&self) -> std::collections::BTreeMap<String, u32> {
        let mut lines = std::collections::BTreeMap::new();
        if let Some(node) = self.node {
            note_lines(node, &Path::default(), &mut lines);
        }
        lines
    }
}

fn note_lines(node: &Node, path: &Path, lines: &mut std::collections::BTreeMap<String, u32>) {
    match &node.inside {
        Inside::Leaf => {}
        Inside::Map(entries) => {
            for (key, entry) in entries {
                note_lines(&entry.value, &path.join(Segment::Key(key.clone())), lines);
            }
        }
        Inside::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = path.join(Segment::Index(index));
                if matches!(item.inside, Inside::Map(_)) && item.at.file == 0 {
                    lines.insert(path.to_string(), item.at.line);
                }
                note_lines(item, &path, lines);
            }
        }
    }
}
