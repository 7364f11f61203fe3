//! `{Name}`: places in a scenario that a matrix, the file's head or the command line fills.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

use super::markdown::Source;
use yaml::Findings;

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{([A-Za-z_][A-Za-z0-9_]*)\}").expect("the pattern is written here"));

/// The values of the places, as text.
#[derive(Debug, Default)]
pub(super) struct Values(Map<String, Value>);

/// The names of all places of a text, in the order in which they come first.
pub(super) fn names(text: &str) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    places(text).map(|(_, name)| name).filter(|name| seen.insert(*name)).collect()
}

/// Offsets and names. Doubled braces belong to other template languages.
fn places(text: &str) -> impl Iterator<Item = (usize, &str)> {
    PLACE.captures_iter(text).filter_map(|found| {
        let whole = found.get(0)?;
        let doubled = text[..whole.start()].ends_with('{') && text[whole.end()..].starts_with('}');
        (!doubled).then_some((whole.start(), found.get(1)?.as_str()))
    })
}

impl Values {
    pub(super) fn new(parameters: &Map<String, Value>) -> Self {
        Self(parameters.clone())
    }

    fn get(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// The text with every place filled that has a value.
    pub(super) fn fill(&self, text: &str) -> String {
        self.put_in(text, |value| value)
    }

    /// The same for the text of JSON: a value cannot end the string that contains it.
    pub(super) fn fill_json(&self, text: &str) -> String {
        self.put_in(text, |value| {
            let quoted = Value::from(value).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        })
    }

    fn put_in(&self, text: &str, form: impl Fn(String) -> String) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut done = 0;
        for (at, name) in places(text) {
            let Some(value) = self.get(name) else { continue };
            filled.push_str(&text[done..at]);
            filled.push_str(&form(value));
            done = at + name.len() + 2;
        }
        filled.push_str(&text[done..]);
        filled
    }

    /// Warns about placeholders without a value.
    pub(super) fn survey(&self, source: &Source<'_>, findings: &mut Findings) {
        let mut seen = BTreeSet::new();
        for (at, name) in places(source.text) {
            if self.get(name).is_none() && seen.insert(name) {
                findings.warning(source.spot(at), format!("`{{{name}}}` has no value and stays unchanged"));
                findings.help(format!(
                    "set it with `--set parameters.{name}=VALUE`, in a matrix, or under `parameters` at the head of the file"
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_filled_and_nothing_else() {
        let Value::Object(map) = json!({ "City": "Rome {Year} \"1\"", "Count": 3, "None": null }) else { panic!() };
        let values = Values::new(&map);
        let rows = [
            ("In {City}: {Count}", "In Rome {Year} \"1\": 3"),
            ("{None} {Other} {{City}} {$City} { City } {}", "{None} {Other} {{City}} {$City} { City } {}"),
            ("{\n\"a\": 1}", "{\n\"a\": 1}"),
        ];
        for (text, expected) in rows {
            assert_eq!(values.fill(text), expected);
        }
        assert_eq!(values.fill_json(r#"{"a": "{City}", "b": {Count}}"#), r#"{"a": "Rome {Year} \"1\"", "b": 3}"#);
        assert_eq!(names("{a} {b} {a} {{c}}"), ["a", "b"]);
    }
}
