//! The places of a document's keys and values, which turn a path into a line.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    limits::MAX_NODES,
    path::{Path, Segment},
};

/// A place; both numbers are 1-based, the column counts characters, and 0 means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Spot {
    pub line: u32,
    pub column: u32,
    /// 0 for the document's own file, else the number of a file that it includes, from 1.
    pub file: u16,
}

impl Spot {
    /// A place in the document's own file.
    #[must_use]
    pub fn at(line: u32, column: u32) -> Self {
        Self { line, column, file: 0 }
    }
}

/// The places of all values of one document.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub(crate) root: Arc<Node>,
}

/// One value's place and the places of its content. An alias shares the node of its anchor, so the tree is as large as
/// the file and not as its expansion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    pub(crate) at: Spot,
    pub(crate) inside: Inside,
}

#[derive(Debug, Clone, Default)]
pub(crate) enum Inside {
    #[default]
    Leaf,
    List(Vec<Arc<Node>>),
    Map(BTreeMap<String, Entry>),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) key: Spot,
    pub(crate) value: Arc<Node>,
}

impl Places {
    /// Places known by line only, as a plan carries them.
    #[must_use]
    pub fn from_lines(lines: &BTreeMap<String, u32>) -> Self {
        let mut root = Node::default();
        for (text, line) in lines {
            let Ok(path) = Path::parse(text) else { continue };
            root.plant(&path.0, Spot::at(*line, 0));
        }
        Self { root: Arc::new(root) }
    }

    /// Adds the places of the included file with the number `file`.
    pub(crate) fn include(&mut self, below: &Self, file: u16) {
        Arc::make_mut(&mut self.root).include(&below.root.moved(file));
    }

    /// The place of the value at a path, else of the nearest thing around it.
    #[must_use]
    pub fn find(&self, path: &Path) -> Spot {
        let mut node = &*self.root;
        for segment in &path.0 {
            match node.step(segment) {
                Some(next) => node = next,
                None => break,
            }
        }
        node.at
    }
}

impl Node {
    /// The same places, in the included file with this number. Files that it includes itself come after it.
    fn moved(&self, file: u16) -> Self {
        let spot = |at: Spot| Spot { file: at.file.saturating_add(file), ..at };
        let inside = match &self.inside {
            Inside::Leaf => Inside::Leaf,
            Inside::List(items) => Inside::List(items.iter().map(|item| Arc::new(item.moved(file))).collect()),
            Inside::Map(entries) => Inside::Map(
                entries
                    .iter()
                    .map(|(key, entry)| {
                        let entry = Entry { key: spot(entry.key), value: Arc::new(entry.value.moved(file)) };
                        (key.clone(), entry)
                    })
                    .collect(),
            ),
        };
        Self { at: spot(self.at), inside }
    }

    /// Adds the places of values that `below` has and this one lacks, as [`crate::Document::include`] merges values.
    fn include(&mut self, below: &Self) {
        let (Inside::Map(own), Inside::Map(others)) = (&mut self.inside, &below.inside) else { return };
        for (key, entry) in others {
            match own.get_mut(key) {
                Some(own) => Arc::make_mut(&mut own.value).include(&entry.value),
                None => _ = own.insert(key.clone(), entry.clone()),
            }
        }
    }

    pub(crate) fn step(&self, segment: &Segment) -> Option<&Self> {
        match (segment, &self.inside) {
            (Segment::Index(index), Inside::List(items)) => items.get(*index).map(|node| &**node),
            (Segment::Key(key), Inside::Map(_)) => self.entry(key).map(|entry| &*entry.value),
            _ => None,
        }
    }

    /// The entry of a key, including merge keys (`<<`).
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        let Inside::Map(entries) = &self.inside else { return None };
        entries.get(key).or_else(|| match &entries.get("<<")?.value.inside {
            Inside::Map(_) => entries.get("<<")?.value.entry(key),
            Inside::List(merged) => merged.iter().find_map(|node| node.entry(key)),
            Inside::Leaf => None,
        })
    }

    fn plant(&mut self, path: &[Segment], spot: Spot) {
        let Some((first, rest)) = path.split_first() else {
            self.at = spot;
            return;
        };
        let child = match first {
            Segment::Key(key) => {
                if !matches!(self.inside, Inside::Map(_)) {
                    self.inside = Inside::Map(BTreeMap::new());
                }
                let Inside::Map(entries) = &mut self.inside else { return };
                &mut entries.entry(key.clone()).or_insert_with(|| Entry { key: spot, ..Entry::default() }).value
            }
            Segment::Index(index) => {
                if !matches!(self.inside, Inside::List(_)) {
                    self.inside = Inside::List(Vec::new());
                }
                let Inside::List(items) = &mut self.inside else { return };
                // A stored plan is input too: it gets no more room than a document could have.
                if *index as u64 >= MAX_NODES {
                    return;
                }
                while items.len() <= *index {
                    items.push(Arc::default());
                }
                &mut items[*index]
            }
        };
        Arc::make_mut(child).plant(rest, spot);
    }
}
