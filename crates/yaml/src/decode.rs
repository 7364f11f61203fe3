//! Decoding a part of a document into a type, with all that is wrong with it found in one go.

use std::{collections::BTreeSet, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    diagnostic::Severity,
    findings::Findings,
    part::Part,
    path::{Path, Segment},
    place::Spot,
    schema::{self, Shape},
    suggest,
};

/// How many faults of one part are reported; more would not help.
const MAX_FAULTS: usize = 20;

impl Part<'_> {
    /// Decodes this part. Every fault is a finding at its own place; unknown keys are warnings, and errors below
    /// `gabfest`.
    pub fn decode<T: DeserializeOwned + JsonSchema + 'static>(&self, findings: &mut Findings) -> Option<T> {
        self.decode_without(&[], findings)
    }

    /// The same, but without these keys, which were read before.
    pub fn decode_without<T: DeserializeOwned + JsonSchema + 'static>(
        &self,
        keys: &[&str],
        findings: &mut Findings,
    ) -> Option<T> {
        self.decode_all(keys, is_ours, findings)
    }

    /// The same, but an unknown key is an error if `refused` returns true for its mapping and its name.
    pub fn decode_guarded<T: DeserializeOwned + JsonSchema + 'static>(
        &self,
        refused: fn(&[Segment], &str) -> bool,
        findings: &mut Findings,
    ) -> Option<T> {
        self.decode_all(&[], refused, findings)
    }

    fn decode_all<T: DeserializeOwned + JsonSchema + 'static>(
        &self,
        keys: &[&str],
        refused: fn(&[Segment], &str) -> bool,
        findings: &mut Findings,
    ) -> Option<T> {
        if !self.value().is_object() {
            findings.error(self.spot(), format!("expected a mapping, found {}", kind_of(self.value())));
            return None;
        }
        let mut decoder =
            Decoder { part: self, kept: schema::kept::<T>, refused, schema: None, removed: BTreeSet::new() };
        let mut value = self.value().clone();
        if let Value::Object(map) = &mut value {
            map.retain(|key, _| !keys.contains(&key.as_str()));
        }
        decoder.refuse_nulls(&mut value, findings);
        decoder.refuse_lists(&mut value, findings);
        let mut unknown = BTreeSet::new();
        for _ in 0..MAX_FAULTS {
            match attempt::<T>(&value, &mut unknown) {
                Ok(decoded) => {
                    decoder.report_unknown(&unknown, findings);
                    return decoder.removed.is_empty().then_some(decoded);
                }
                // Remove the faulty value and try the rest, to find the other faults too.
                Err((path, message)) => {
                    if !decoder.report(path, &message, &mut value, findings) {
                        break;
                    }
                }
            }
        }
        decoder.report_unknown(&unknown, findings);
        None
    }
}

struct Decoder<'a> {
    part: &'a Part<'a>,
    /// Makes the schema when a fault is found: a file without faults does not need it.
    kept: fn() -> Arc<Value>,
    /// Whether an unknown key is an error here.
    refused: fn(&[Segment], &str) -> bool,
    schema: Option<Arc<Value>>,
    /// The values that were removed because of faults.
    removed: BTreeSet<Path>,
}

impl Decoder<'_> {
    /// Reports one fault. Returns false if no more can be found after it.
    fn report(&mut self, path: Path, message: &str, value: &mut Value, findings: &mut Findings) -> bool {
        if message.starts_with("missing field") {
            self.report_missing(&path, value, findings);
            // A mapping that lacks a key is removed as a whole, to find faults beside it.
            return !path.0.is_empty() && self.remove(path, value);
        }
        let mut text = in_plain_words(message);
        if text.ends_with(WHOLE_NUMBER)
            && let Some(least) = Shape::of(self.schema()).at(&path.0).least()
        {
            text = format!("{text} from {least}");
        }
        findings.error(self.value_spot(&path), text);
        if let Some(help) = self.help_for(&path, message) {
            findings.help(help);
        }
        self.remove(path, value)
    }

    /// Names all missing keys of a mapping, not only the first that serde stumbles over.
    fn report_missing(&mut self, path: &Path, value: &Value, findings: &mut Findings) {
        let spot = self.part.nearest(path).spot();
        let removed = self.removed.clone();
        let shape = Shape::of(self.schema()).at(&path.0);
        let known = shape.keys();
        for name in shape.required() {
            let below = path.join(Segment::Key(name.clone()));
            if below.find(value).is_some() || removed.contains(&below) {
                continue;
            }
            let place = if path.0.is_empty() { String::new() } else { format!(" in `{path}`") };
            findings.error(spot, format!("missing key `{name}`{place}"));
            let written = path.find(value).and_then(Value::as_object).into_iter().flat_map(|map| map.keys());
            let strangers = written.map(String::as_str).filter(|key| !known.contains_key(*key));
            if let Some(help) = suggest::misspelt(&name, strangers) {
                findings.help(help);
            } else if let Some(description) = known.get(&name).filter(|description| !description.is_empty()) {
                findings.help(format!("`{name}`: {description}"));
            }
        }
    }

    /// A key without a value is a mistake, unless any value is allowed.
    fn refuse_nulls(&mut self, value: &mut Value, findings: &mut Findings) {
        let mut nulls = Vec::new();
        find_nulls(value, &Path::default(), &mut nulls);
        for path in nulls {
            let shape = Shape::of(self.schema()).at(&path.0);
            if shape.is_unknown() || shape.takes_anything() {
                continue;
            }
            // Names only the key: the parts around this one find the same null, and one finding is enough.
            let Some(Segment::Key(key)) = path.0.last() else { continue };
            findings.error(self.value_spot(&path), format!("`{key}` has no value"));
            findings.help("write a value after the colon, or remove the key");
            self.remove(path, value);
        }
    }

    /// serde reads the elements of a list as the fields of a struct, in order, and an empty list as a struct without
    /// fields: `gates: [0.95]` would be a gate that nobody wrote.
    fn refuse_lists(&mut self, value: &mut Value, findings: &mut Findings) {
        let mut lists = Vec::new();
        find_lists(value, &Path::default(), &mut lists);
        for path in lists {
            if Shape::of(self.schema()).at(&path.0).takes_only_mappings() && path.find(value).is_some() {
                findings.error(self.value_spot(&path), "found a list, expected a mapping");
                if let Some(help) = self.help_for(&path, "") {
                    findings.help(help);
                }
                self.remove(path, value);
            }
        }
    }

    fn report_unknown(&mut self, unknown: &BTreeSet<Path>, findings: &mut Findings) {
        for path in unknown {
            let Some((Segment::Key(key), parents)) = path.0.split_last() else { continue };
            let severity = if (self.refused)(parents, key) { Severity::Error } else { Severity::Warning };
            let parents = Path(parents.to_vec());
            let known = Shape::of(self.schema()).at(&parents.0).keys();
            let names = known.keys().map(String::as_str);
            let meant = suggest::nearest(key, names.clone());
            findings.unknown_key(severity, self.part.nearest(&parents).key_spot(key), key, meant);
            findings.help(match severity {
                Severity::Warning if meant.is_none() => "it is ignored".to_owned(),
                Severity::Warning | Severity::Error => suggest::known_names(key, names),
            });
        }
    }

    fn value_spot(&self, path: &Path) -> Spot {
        self.part.nearest(path).spot()
    }

    fn help_for(&mut self, path: &Path, message: &str) -> Option<String> {
        if let Some(rest) = message.strip_prefix("unknown variant `") {
            let mut names = rest.split('`');
            let found = names.next()?;
            let known: Vec<&str> = names.skip(1).step_by(2).collect();
            return Some(suggest::known_names(found, known));
        }
        let (Segment::Key(key), parents) = path.0.split_last()? else { return None };
        let known = Shape::of(self.schema()).at(parents).keys();
        known.get(key).filter(|text| !text.is_empty()).map(|description| format!("`{key}`: {description}"))
    }

    /// Removes the value at a path, or the list around it, whose other elements would change places.
    fn remove(&mut self, mut path: Path, value: &mut Value) -> bool {
        while matches!(path.0.last(), Some(Segment::Index(_))) {
            path.0.pop();
        }
        let Some(Segment::Key(key)) = path.0.pop() else { return false };
        let mut place = &mut *value;
        for segment in &path.0 {
            let next = match segment {
                Segment::Key(key) => place.get_mut(key),
                Segment::Index(index) => place.get_mut(index),
            };
            match next {
                Some(next) => place = next,
                None => return false,
            }
        }
        let gone = place.as_object_mut().and_then(|map| map.shift_remove(&key)).is_some();
        self.removed.insert(path.join(Segment::Key(key)));
        gone
    }

    fn schema(&mut self) -> &Value {
        self.schema.get_or_insert_with(self.kept)
    }
}

/// Below the key `gabfest` of another tool's format all keys are ours, so that an unknown one is a slip of the pen.
fn is_ours(parents: &[Segment], _: &str) -> bool {
    parents.iter().any(|segment| matches!(segment, Segment::Key(key) if key == "gabfest"))
}

/// One pass of serde over the value; unknown keys are noted on the way.
fn attempt<T: DeserializeOwned>(value: &Value, unknown: &mut BTreeSet<Path>) -> Result<T, (Path, String)> {
    let mut decoded = None;
    observed(value, unknown, &mut |deserializer| {
        decoded = Some(erased_serde::deserialize::<T>(deserializer)?);
        Ok(())
    })?;
    Ok(decoded.expect("the pass ended without an error"))
}

/// The part that does not depend on the type, so that the compiler builds it only once.
fn observed(
    value: &Value,
    unknown: &mut BTreeSet<Path>,
    pass: &mut dyn FnMut(&mut dyn erased_serde::Deserializer<'_>) -> Result<(), erased_serde::Error>,
) -> Result<(), (Path, String)> {
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(value, &mut track);
    let mut note = |path: serde_ignored::Path<'_>| {
        unknown.insert(ignored_path(&path));
    };
    let mut erased = <dyn erased_serde::Deserializer<'_>>::erase(serde_ignored::Deserializer::new(tracked, &mut note));
    let passed = pass(&mut erased);
    drop(erased);
    passed.map_err(|error| (error_path(&track.path()), error.to_string()))
}

fn error_path(path: &serde_path_to_error::Path) -> Path {
    let segments = path.iter().filter_map(|segment| match segment {
        serde_path_to_error::Segment::Seq { index } => Some(Segment::Index(*index)),
        serde_path_to_error::Segment::Map { key } => Some(Segment::Key(key.clone())),
        serde_path_to_error::Segment::Enum { variant } => Some(Segment::Key(variant.clone())),
        serde_path_to_error::Segment::Unknown => None,
    });
    Path(segments.collect())
}

fn ignored_path(path: &serde_ignored::Path<'_>) -> Path {
    match path {
        serde_ignored::Path::Root => Path::default(),
        serde_ignored::Path::Seq { parent, index } => ignored_path(parent).join(Segment::Index(*index)),
        serde_ignored::Path::Map { parent, key } => ignored_path(parent).join(Segment::Key(key.clone())),
        serde_ignored::Path::Some { parent }
        | serde_ignored::Path::NewtypeStruct { parent }
        | serde_ignored::Path::NewtypeVariant { parent } => ignored_path(parent),
    }
}

fn find_nulls(value: &Value, path: &Path, nulls: &mut Vec<Path>) {
    match value {
        Value::Null => nulls.push(path.clone()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_nulls(item, &path.join(Segment::Index(index)), nulls);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                find_nulls(item, &path.join(Segment::Key(key.clone())), nulls);
            }
        }
        _ => {}
    }
}

fn find_lists(value: &Value, path: &Path, lists: &mut Vec<Path>) {
    match value {
        Value::Array(items) => {
            lists.push(path.clone());
            for (index, item) in items.iter().enumerate() {
                find_lists(item, &path.join(Segment::Index(index)), lists);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                find_lists(item, &path.join(Segment::Key(key.clone())), lists);
            }
        }
        _ => {}
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

const WHOLE_NUMBER: &str = "expected a whole number";

/// Replaces Rust's type names in serde's messages with those of YAML.
fn in_plain_words(message: &str) -> String {
    const WORDS: [(&str, &str); 20] = [
        ("invalid type: ", "found "),
        ("invalid value: ", "found "),
        ("invalid length ", "found a length of "),
        ("unknown variant ", "unknown word "),
        ("floating point `", "number `"),
        ("integer `", "number `"),
        ("string \"", "text \""),
        ("boolean `", "`"),
        ("expected a string", "expected text"),
        ("expected a boolean", "expected true or false"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a mapping"),
        ("expected f64", "expected a number"),
        ("expected a nonzero u32", "expected a whole number of at least 1"),
        ("expected a nonzero u64", "expected a whole number of at least 1"),
        ("expected u8", WHOLE_NUMBER),
        ("expected u32", WHOLE_NUMBER),
        ("expected u64", WHOLE_NUMBER),
        ("expected usize", WHOLE_NUMBER),
        ("sequence, ", "a list, "),
    ];
    let mut text = message.to_owned();
    for (rust, plain) in WORDS {
        text = text.replacen(rust, plain, 1);
    }
    if let Some(at) = text.find("expected struct ") {
        text.truncate(at);
        text.push_str("expected a mapping");
    }
    text.replace("found map,", "found a mapping,").replace("found null,", "found nothing,")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Numbers {
        #[schemars(range(min = 1))]
        slots: Option<u32>,
        seed: u64,
    }

    #[test]
    fn a_number_of_another_kind_is_refused_in_plain_words() {
        let document = crate::open("slots: 1.5\nseed: many\n", "f.yaml").unwrap();
        let mut findings = Findings::new("f.yaml");
        assert!(document.root().decode::<Numbers>(&mut findings).is_none());
        let found: Vec<String> = findings.into_sorted().into_iter().map(|found| found.message).collect();
        let expected = [
            "found number `1.5`, expected a whole number from 1",
            "found text \"many\", expected a whole number from 0",
        ];
        assert_eq!(found, expected);
        let sound = crate::open("slots: 2\nseed: 3\n", "f.yaml").unwrap();
        let numbers: Numbers = sound.root().decode(&mut Findings::new("f.yaml")).unwrap();
        assert_eq!((numbers.slots, numbers.seed), (Some(2), 3));
    }
}
