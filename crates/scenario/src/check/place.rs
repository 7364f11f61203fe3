//! The position of a check in its file: its other keys, its inner checks, and the findings about it.

use std::{borrow::Cow, fmt::Display};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use yaml::{Findings, Part};

use super::Check;

/// The position of a check in its file.
#[derive(Debug)]
pub struct Place<'p, 'd> {
    pub(super) part: &'p Part<'d>,
    pub(super) findings: &'p mut Findings,
    /// Reads a check within this one. Handed in, so that a kind does not depend on the list of all kinds.
    read: ReadCheck,
}

type ReadCheck = fn(&Part<'_>, &mut Findings) -> Option<Check>;

/// A check within another one, in the JSON Schema: a reference to the choice of all kinds.
#[derive(Debug)]
pub(super) struct Nested;

impl JsonSchema for Nested {
    fn schema_name() -> Cow<'static, str> {
        "Nested".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "$ref": "#/$defs/Evaluation" })
    }
}

impl<'p, 'd> Place<'p, 'd> {
    pub(super) fn new(part: &'p Part<'d>, findings: &'p mut Findings, read: ReadCheck) -> Self {
        Self { part, findings, read }
    }

    /// A finding about the value of a key.
    pub(super) fn error(&mut self, key: &str, message: impl Into<String>) {
        self.findings.error(self.part.spot_of(key), message);
    }

    /// A hint for the finding made last.
    pub(super) fn help(&mut self, help: impl Into<String>) {
        self.findings.help(help);
    }

    /// The list of checks under a key.
    pub(super) fn checks(&mut self, key: &str) -> Vec<Check> {
        self.checks_of(&self.part.items_of(key))
    }

    /// The same for a list that must not be empty.
    pub(super) fn some_checks(&mut self, key: &str) -> Vec<Check> {
        self.check_not_empty(self.part.items_of(key).len(), key);
        self.checks(key)
    }

    /// The mapping of names to lists of checks under a key.
    pub(super) fn named_checks(&mut self, key: &str) -> Vec<(String, Vec<Check>)> {
        let entries = self.part.get(key).map_or_else(Vec::new, |part| part.entries());
        let mut lists = Vec::with_capacity(entries.len());
        for (name, list) in entries {
            if list.items().is_empty() {
                self.findings.error(list.spot(), format!("expected a list of evaluations for `{name}`"));
                self.findings.help("as in `[{type: equals, values: [Lisbon]}]`");
            }
            lists.push((name.to_owned(), self.checks_of(&list.items())));
        }
        lists
    }

    /// Checks of a value that the outer check takes out of the text.
    pub(super) fn checks_of(&mut self, parts: &[Part<'_>]) -> Vec<Check> {
        let mut checks = Vec::with_capacity(parts.len());
        for part in parts {
            let Some(check) = (self.read)(part, self.findings) else { continue };
            if !check.rule.is_about_text() {
                let message = format!("`{}` does not judge a text alone, so it cannot be nested", check.rule.kind());
                self.findings.error(part.spot_of("type"), message);
                self.findings
                    .help("nest evaluations of a text: `equals`, `contains`, `regex_match`, `number` and others");
            }
            self.warn_of_verdict_keys(part);
            checks.push(check);
        }
        checks
    }

    /// The keys for the verdict have no effect on an inner check.
    fn warn_of_verdict_keys(&mut self, part: &Part<'_>) {
        for key in ["name", "turn", "weight", "required"] {
            if part.get(key).is_some() {
                let message = format!("`{key}` has no effect on a nested evaluation");
                self.findings.warning(part.key_spot(key), message);
                self.findings.help("write it in the outer evaluation");
            }
        }
    }

    pub(super) fn check_not_empty(&mut self, length: usize, key: &str) {
        if length == 0 {
            self.error(key, format!("`{key}` is empty, so there is nothing to judge"));
        }
    }

    /// Checks a list of texts: neither the list nor a text may be empty, because every text contains an empty one.
    pub(super) fn check_values(&mut self, values: &[String], key: &str) {
        self.check_not_empty(values.len(), key);
        if values.iter().any(|value| value.trim().is_empty()) {
            self.error(key, format!("`{key}` contains an empty text, which every text would satisfy"));
        }
    }

    /// Checks a range: it needs at least one end, and must not be empty.
    pub(super) fn check_range<N: PartialOrd + Display>(&mut self, min: Option<N>, max: Option<N>) {
        match (min, max) {
            (None, None) => {
                self.findings.error(self.part.spot(), "there is no range: expected `min` or `max`");
            }
            (Some(min), Some(max)) if min > max => {
                self.error("min", format!("`min` is {min}, more than the maximum, {max}"));
            }
            _ => {}
        }
    }

    pub(super) fn check_order(&mut self, low: Option<u64>, high: Option<u64>, low_key: &str) {
        if let (Some(low), Some(high)) = (low, high)
            && low > high
        {
            self.error(low_key, format!("`{low_key}` is {low}, more than the maximum, {high}"));
        }
    }

    /// Checks that one of the keys is present.
    pub(super) fn check_one_of(&mut self, keys: &[&str]) {
        if keys.iter().all(|key| self.part.get(key).is_none()) {
            self.findings.error(self.part.spot(), format!("there is no limit: expected `{}`", keys.join("` or `")));
        }
    }

    /// Checks that the value of `path` stays below the trial's root.
    pub(super) fn check_path(&mut self, path: &str) {
        if let Err(fault) = crate::trial_path::beneath_root(path) {
            self.error("path", format!("`{path}` {fault}"));
        }
    }
}
