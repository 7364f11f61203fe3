//! `${env:NAME}`: the environment variables that scenarios and settings name.

use std::collections::BTreeMap;

use scenario::{
    format::Files,
    placeholder::{self, Fault, Kind, Unknown},
};
use serde_json::Value;
use yaml::{Document, Findings};

/// Parts of variable names that mean keys. Plans are stored and sent, so no key may get into one.
const SECRET: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// The values of all variables that a document names. The document keeps the names.
pub(crate) fn of(document: &Document, files: &mut dyn Files, findings: &mut Findings) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let faults = placeholder::replace(&mut document.value.clone(), Kind::Environment, &mut |name| {
        let value = look_up(name, files)?;
        if let Value::String(text) = &value {
            values.insert(name.to_owned(), text.clone());
        }
        Ok(value)
    });
    placeholder::report(faults, document, findings);
    values
}

/// Puts the values of environment variables into the settings of this machine.
pub fn put_in(value: &mut Value, variable: &mut dyn FnMut(&str) -> Result<String, String>) -> Vec<Fault> {
    let faults = placeholder::replace(value, Kind::Environment, &mut |name| found(name, variable));
    placeholder::unmark(value);
    faults
}

pub(crate) fn look_up(name: &str, files: &mut dyn Files) -> Result<Value, Unknown> {
    found(name, &mut |name| files.variable(name))
}

fn found(name: &str, variable: &mut dyn FnMut(&str) -> Result<String, String>) -> Result<Value, Unknown> {
    let capitals = name.to_uppercase();
    if SECRET.iter().any(|word| capitals.contains(word)) {
        let help = "write keys in gabfest.yaml as `key: env:NAME`, which is never stored";
        return Err((format!("the variable `{name}` may hold a key"), Some(help.to_owned())));
    }
    match variable(name) {
        Ok(text) => Ok(Value::String(text)),
        Err(fault) => {
            Err((format!("the variable `{name}` {fault}"), Some("set it, or name a file with `--env-file`".to_owned())))
        }
    }
}
