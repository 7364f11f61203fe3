//! The settings of a scenario: at the head of its file (`---`) or in a `gabfest` fence below its heading.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use scenario::{History, OnFailure};
use yaml::bounded::{Millis, Repeats, Share, Weight};
use yaml::{Diagnostic, Findings, Part, Places};

/// A document: one scenario's text and its settings. Matrices and `--set` change them by these names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "skUnit scenario", rename = "SkunitDocument")]
pub(crate) struct SkunitDocument {
    /// What the scenario is called unless its heading says so.
    pub(super) name: String,
    /// The Markdown.
    pub(super) text: String,
    /// The line of the file at which the Markdown begins.
    pub(super) line: u32,
    /// Values for `{Name}` in the Markdown.
    pub(super) parameters: Map<String, Value>,
    /// Tags for `--tag`.
    pub(super) tags: Vec<String>,
    /// The scenario's weight in the weighted success rate of a run. The default is 1.
    pub(super) weight: Option<Weight>,
    /// The number of rounds. The default is 1.
    pub(super) repeats: Option<Repeats>,
    /// The number of rounds that must pass. The default is all.
    pub(super) required_success_runs: Option<Repeats>,
    /// The share of rounds that must pass, as an alternative to `required_success_runs`.
    pub(super) required_pass_rate: Option<Share>,
    /// `fail` makes the scenario a negative control.
    pub(super) expect: Expect,
    /// The answer that the next turn builds on. The default is `expected`.
    pub(super) history: History,
    /// What happens to the next turns after a failed check. The default is `stop`.
    pub(super) on_failure: OnFailure,
    /// The time limit for one reply of the agent, in milliseconds. The default is 90,000.
    pub(super) timeout_ms: Option<Millis>,
}

impl Default for SkunitDocument {
    fn default() -> Self {
        Self {
            name: String::new(),
            text: String::new(),
            line: 1,
            parameters: Map::new(),
            tags: Vec::new(),
            weight: None,
            repeats: None,
            required_success_runs: None,
            required_pass_rate: None,
            expect: Expect::Pass,
            history: History::Expected,
            on_failure: OnFailure::Stop,
            timeout_ms: None,
        }
    }
}

/// What the scenario should do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expect {
    /// Every check holds.
    #[default]
    Pass,
    /// Some check fails: PASS and FAIL are exchanged.
    Fail,
}

/// Settings as they are gathered, and the lines of their keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    values: Map<String, Value>,
    lines: BTreeMap<String, u32>,
}

impl Settings {
    /// Merges a piece of YAML, which overrides earlier settings key by key.
    ///
    /// # Errors
    /// The YAML has a fault, or is not a mapping.
    pub(super) fn add(&mut self, text: &str, first_line: u32, path: &str) -> Result<(), Diagnostic> {
        let below = |line: u32| first_line + line.saturating_sub(1);
        if text.trim().is_empty() {
            return Ok(());
        }
        let document = yaml::open(text, path).map_err(|fault| Diagnostic { line: below(fault.line), ..fault })?;
        let Value::Object(map) = &document.value else {
            return Err(Diagnostic::error(path, first_line, 0, "expected settings, such as `tags: [smoke]`"));
        };
        let root = document.root();
        for (key, value) in map {
            self.lines.insert(key.clone(), below(root.key_spot(key).line));
            match (self.values.get_mut(key), value) {
                (Some(Value::Object(old)), Value::Object(new)) if key == "parameters" => {
                    old.extend(new.iter().map(|(name, value)| (name.clone(), value.clone())));
                }
                _ => drop(self.values.insert(key.clone(), value.clone())),
            }
        }
        for (name, part) in root.get("parameters").iter().flat_map(Part::entries) {
            self.lines.insert(format!("parameters.{name}"), below(part.line()));
        }
        Ok(())
    }

    /// The document of one scenario. Every place of the text that can be filled is a parameter, with a value or without.
    pub(super) fn document(mut self, path: &str, name: String, text: String, line: u32) -> yaml::Document {
        let mut value = Map::new();
        let written = self.values.remove("parameters");
        let parameters = match written {
            Some(Value::Object(mut parameters)) => {
                for name in super::values::names(&text) {
                    parameters.entry(name).or_insert(Value::Null);
                }
                Value::Object(parameters)
            }
            Some(other) => other,
            None => super::values::names(&text).into_iter().map(|name| (name.to_owned(), Value::Null)).collect(),
        };
        value.insert("name".to_owned(), name.into());
        value.insert("parameters".to_owned(), parameters);
        value.extend(self.values);
        value.insert("text".to_owned(), text.into());
        value.insert("line".to_owned(), line.into());
        yaml::Document {
            path: path.to_owned(),
            value: Value::Object(value),
            places: Places::from_lines(&self.lines),
            included: Vec::new(),
        }
    }
}

/// The document's fields; their faults are reported in any case.
pub(super) fn read(root: &Part<'_>, findings: &mut Findings) -> SkunitDocument {
    const READ_HERE: [&str; 4] = ["name", "text", "line", "parameters"];
    let written = root.decode_without::<SkunitDocument>(&READ_HERE, findings).unwrap_or_default();
    let text = |key: &str| root.get(key).and_then(|part| part.value().as_str()).unwrap_or_default().to_owned();
    let parameters = match root.get("parameters").map(|part| part.value()) {
        Some(Value::Object(parameters)) => parameters.clone(),
        Some(other) => {
            findings
                .error(root.spot_of("parameters"), format!("expected parameters, as `{{Name: value}}`, found {other}"));
            Map::new()
        }
        None => Map::new(),
    };
    let line = root.get("line").and_then(|part| part.value().as_u64()).and_then(|line| u32::try_from(line).ok());
    SkunitDocument { name: text("name"), text: text("text"), line: line.unwrap_or(1), parameters, ..written }
}
