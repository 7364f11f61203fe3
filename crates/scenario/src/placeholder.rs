//! `${vars.x}`, `${row.column}` and `${env:NAME}` in the texts of a document.
//!
//! Each is replaced once: an inserted value is never read again. Any other `${` stays, because shell programs have it
//! too. `$${vars.x}` is an escape for the text `${vars.x}`.

use std::collections::BTreeMap;

use serde_json::Value;
use yaml::{
    Document, Findings, MAX_EXPANDED_BYTES,
    path::{Path, Segment},
    suggest,
};

/// The source of a placeholder's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `${env:NAME}`: an environment variable of the machine that plans.
    Environment,
    /// `${row.column}`: a column of the data set.
    Row,
    /// `${vars.x}`: a variable of the scenario.
    Variable,
}

const KINDS: [Kind; 3] = [Kind::Environment, Kind::Row, Kind::Variable];

/// Something wrong with one text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The place of the text.
    pub path: Path,
    pub message: String,
    pub help: Option<String>,
}

/// Why a name has no value: a message, and a hint.
pub type Unknown = (String, Option<String>);

impl Kind {
    fn opening(self) -> &'static str {
        match self {
            Self::Environment => "env:",
            Self::Row => "row.",
            Self::Variable => "vars.",
        }
    }

    /// The finding about a placeholder that nothing has replaced.
    fn left_over(self) -> Unknown {
        let (message, help) = match self {
            Self::Environment => (
                "an environment variable cannot be put in here",
                "write `${env:NAME}` in a scenario, in a file that it includes, or in a matrix",
            ),
            Self::Row => ("there is no data set", "write `gabfest: {data: {file: NAME.csv}}`"),
            Self::Variable => ("a variable cannot use another one", "write the value itself"),
        };
        (message.to_owned(), Some(help.to_owned()))
    }
}

/// Replaces the placeholders of one kind. Inserted values are marked, so that no later replacement reads them.
pub fn replace(value: &mut Value, kind: Kind, lookup: &mut dyn FnMut(&str) -> Result<Value, Unknown>) -> Vec<Fault> {
    let mut pass = Pass { kind, last: false, lookup, faults: Vec::new(), path: Vec::new(), grown: 0 };
    if has_any(value) {
        pass.value(value);
    }
    pass.faults
}

/// Removes the marks of [`literal`] when no other replacement follows.
pub fn unmark(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("${") => {
            let (mut new, mut rest) = (String::with_capacity(text.len()), text.as_str());
            while let Some(found) = next(rest) {
                new.push_str(&rest[..found.start]);
                new.push_str(&rest[found.start + usize::from(found.marked)..found.end]);
                rest = &rest[found.end..];
            }
            new.push_str(rest);
            *text = new;
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        Value::Object(map) => map.values_mut().for_each(unmark),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces environment variables by the values that the planner read.
pub fn replace_environment(value: &mut Value, environment: &BTreeMap<String, String>) -> Vec<Fault> {
    replace(value, Kind::Environment, &mut |name| match environment.get(name) {
        Some(text) => Ok(Value::from(text.as_str())),
        None => Err(Kind::Environment.left_over()),
    })
}

/// Replaces the variables of a scenario, after everything else. `None`: the document has no placeholder.
#[must_use]
pub fn replace_variables(document: &Document) -> Option<(Document, Vec<Fault>)> {
    if !has_any(&document.value) {
        return None;
    }
    let mut document = document.clone();
    let written = vars_of(&mut document.value).map(Value::take);
    let mut known = match &written {
        Some(Value::Object(map)) => map.clone(),
        _ => serde_json::Map::new(),
    };
    let mut faults = Vec::new();
    for (name, value) in &mut known {
        let mut none = |_: &str| Err(Kind::Variable.left_over());
        let mut pass = Pass {
            kind: Kind::Variable,
            last: true,
            lookup: &mut none,
            faults: Vec::new(),
            path: Vec::new(),
            grown: 0,
        };
        pass.path.extend(["gabfest", "vars", name].map(|key| Segment::Key(key.to_owned())));
        pass.value(value);
        faults.extend(pass.faults);
    }
    let mut lookup = |name: &str| match known.get(name) {
        Some(value) => Ok(value.clone()),
        None if known.is_empty() => Err((
            format!("there is no variable `{name}`"),
            Some(format!("write `gabfest: {{vars: {{{name}: VALUE}}}}`")),
        )),
        None => Err((
            format!("there is no variable `{name}`"),
            Some(suggest::known_names(name, known.keys().map(String::as_str))),
        )),
    };
    let mut pass =
        Pass { kind: Kind::Variable, last: true, lookup: &mut lookup, faults: Vec::new(), path: Vec::new(), grown: 0 };
    pass.value(&mut document.value);
    faults.extend(pass.faults);
    if let (Some(place), Some(written)) = (vars_of(&mut document.value), written) {
        *place = if written.is_object() { Value::Object(known) } else { written };
    }
    Some((document, faults))
}

fn vars_of(document: &mut Value) -> Option<&mut Value> {
    document.get_mut("gabfest")?.get_mut("vars")
}

/// Text of data that no later replacement reads as a placeholder.
#[must_use]
pub fn literal(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(marked(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(literal).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, item)| (key, literal(item))).collect()),
        other => other,
    }
}

/// Adds faults to the findings about their document.
pub fn report(faults: Vec<Fault>, document: &Document, findings: &mut Findings) {
    for fault in faults {
        findings.error(document.root().nearest(&fault.path).spot(), fault.message);
        if let Some(help) = fault.help {
            findings.help(help);
        }
    }
}

/// Whether a text inside may have a placeholder.
fn has_any(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("${"),
        Value::Array(items) => items.iter().any(has_any),
        Value::Object(map) => map.values().any(has_any),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

struct Pass<'a> {
    kind: Kind,
    /// No other pass follows: marks are taken off, and placeholders of other kinds are faults.
    last: bool,
    lookup: &'a mut dyn FnMut(&str) -> Result<Value, Unknown>,
    faults: Vec<Fault>,
    path: Vec<Segment>,
    /// The inserted bytes over all texts: a short document must not become huge.
    grown: usize,
}

impl Pass<'_> {
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(new) = text.contains("${").then(|| self.text(text)).flatten() {
                    *value = new;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.path.push(Segment::Index(index));
                    self.value(item);
                    self.path.pop();
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    self.path.push(Segment::Key(key.clone()));
                    self.value(item);
                    self.path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The new value of a text; `None` if it stays.
    fn text(&mut self, text: &str) -> Option<Value> {
        let mut new = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(found) = next(rest) {
            let whole = found.start == 0 && rest.len() == text.len() && found.end == rest.len();
            new.push_str(&rest[..found.start]);
            let written = &rest[found.start..found.end];
            rest = &rest[found.end..];
            if found.marked {
                new.push_str(if self.last { &written[1..] } else { written });
                continue;
            }
            if found.kind != self.kind {
                if self.last {
                    self.fault(written, found.kind.left_over());
                }
                new.push_str(written);
                continue;
            }
            match (self.lookup)(found.name) {
                Err(unknown) => self.fault(written, unknown),
                Ok(value) if whole => {
                    return self.grows(longest(&value)).then(|| if self.last { value } else { literal(value) });
                }
                Ok(value) => {
                    let text = match value {
                        Value::String(text) => text,
                        Value::Number(number) => number.to_string(),
                        Value::Bool(truth) => truth.to_string(),
                        Value::Null => {
                            self.fault(written, ("it has no value".to_owned(), None));
                            continue;
                        }
                        Value::Array(_) | Value::Object(_) => {
                            let help = "a list or a mapping can only be a whole value, without text around it";
                            self.fault(written, ("it is not text".to_owned(), Some(help.to_owned())));
                            continue;
                        }
                    };
                    if !self.grows(text.len()) {
                        return None;
                    }
                    new.push_str(&if self.last { text } else { marked(text) });
                }
            }
        }
        new.push_str(rest);
        Some(Value::String(new))
    }

    /// Counts inserted bytes. Returns `false` and adds a fault if there are too many.
    fn grows(&mut self, bytes: usize) -> bool {
        let before = self.grown as u64;
        self.grown = self.grown.saturating_add(bytes);
        let fits = self.grown as u64 <= MAX_EXPANDED_BYTES;
        if !fits && before <= MAX_EXPANDED_BYTES {
            self.fault(
                "the placeholders",
                (format!("together they put in more than {MAX_EXPANDED_BYTES} bytes"), None),
            );
        }
        fits
    }

    fn fault(&mut self, written: &str, (message, help): Unknown) {
        let message = format!("`{}`: {message}", written.trim_matches('`'));
        self.faults.push(Fault { path: Path(self.path.clone()), message, help });
    }
}

/// One placeholder in a text.
struct Found<'a> {
    start: usize,
    end: usize,
    kind: Kind,
    name: &'a str,
    /// It has a second `$` before it, which escapes it.
    marked: bool,
}

fn next(text: &str) -> Option<Found<'_>> {
    let mut from = 0;
    while let Some(at) = text[from..].find("${").map(|at| from + at) {
        let inside = &text[at + 2..];
        from = at + 2;
        let Some(kind) = KINDS.into_iter().find(|kind| inside.starts_with(kind.opening())) else { continue };
        let Some(length) = inside.find(['}', '\n']).filter(|length| inside[*length..].starts_with('}')) else {
            continue;
        };
        let marked = text[..at].ends_with('$');
        let name = inside[kind.opening().len()..length].trim();
        return Some(Found { start: at - usize::from(marked), end: at + 2 + length + 1, kind, name, marked });
    }
    None
}

fn marked(text: String) -> String {
    if !text.contains("${") {
        return text;
    }
    let (mut new, mut rest) = (String::with_capacity(text.len() + 8), text.as_str());
    while let Some(found) = next(rest) {
        new.push_str(&rest[..found.start]);
        new.push('$');
        new.push_str(&rest[found.start..found.end]);
        rest = &rest[found.end..];
    }
    new.push_str(rest);
    new
}

/// The bytes of text in a value.
fn longest(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(longest).sum(),
        Value::Object(map) => map.values().map(longest).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

#[cfg(test)]
mod tests;
