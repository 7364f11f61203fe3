//! The state of a trial's mocks: the values of `{{…}}` in answers, and the changes of `set`.

use serde_json::{Map, Value};

use super::expression::{Error, Expression, Scope, text};

/// The largest state of a trial, as JSON.
pub const MOST_BYTES: usize = 256 << 10;

/// A text of a mock with its `{{…}}`, each an expression.
#[derive(Debug, Clone, PartialEq)]
struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Filled(Expression),
}

/// Why a call has no answer and does not change the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    #[error("`{{{{…}}}}` has no value: {0}")]
    Value(Error),
    #[error("the path `{0}` leads through a value that is no mapping")]
    Path(String),
    #[error("the state has more than {MOST_BYTES} bytes")]
    TooLarge,
}

/// The value with its `{{…}}` replaced, in texts at any depth. A text that is exactly one `{{…}}` becomes its value, of
/// any type.
///
/// # Errors
/// An expression is invalid or has no value.
pub fn fill(value: &Value, scope: &Scope<'_>) -> Result<Value, StateError> {
    Ok(match value {
        Value::String(written) if written.contains("{{") => {
            Template::parse(written).and_then(|template| template.value(scope)).map_err(StateError::Value)?
        }
        Value::Array(list) => Value::Array(list.iter().map(|item| fill(item, scope)).collect::<Result<_, _>>()?),
        Value::Object(map) => {
            let filled = map.iter().map(|(key, item)| Ok((key.clone(), fill(item, scope)?)));
            Value::Object(filled.collect::<Result<_, StateError>>()?)
        }
        other => other.clone(),
    })
}

/// The faults of all `{{…}}` in a value, for the reader of files.
#[must_use]
pub fn faults(value: &Value) -> Vec<Error> {
    match value {
        Value::String(written) => Template::parse(written).err().into_iter().collect(),
        Value::Array(list) => list.iter().flat_map(faults).collect(),
        Value::Object(map) => map.values().flat_map(faults).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The state after `set`. All values are computed from the state before it.
///
/// # Errors
/// A value or a path cannot be computed, or the state becomes too large. The old state is kept.
pub fn changed(set: &[(String, Value)], scope: &Scope<'_>) -> Result<Value, StateError> {
    let mut state = scope.state.clone();
    for (path, value) in set {
        let path = text(&fill(&Value::from(path.as_str()), scope)?);
        put(&mut state, &path, fill(value, scope)?)?;
    }
    if state.to_string().len() > MOST_BYTES { Err(StateError::TooLarge) } else { Ok(state) }
}

/// `orders.7.status`, with or without `$.` before it. Mappings on the way are made; a number is a place in a list.
fn put(state: &mut Value, path: &str, value: Value) -> Result<(), StateError> {
    let fault = || StateError::Path(path.to_owned());
    let mut place = state;
    for key in path.strip_prefix("$.").unwrap_or(path).split('.') {
        if key.is_empty() {
            return Err(fault());
        }
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        place = match place {
            Value::Object(map) => map.entry(key).or_insert(Value::Null),
            Value::Array(list) => {
                let index: usize = key.parse().map_err(|_| fault())?;
                if index == list.len() {
                    list.push(Value::Null);
                }
                list.get_mut(index).ok_or_else(fault)?
            }
            _ => return Err(fault()),
        };
    }
    *place = value;
    Ok(())
}

impl Template {
    fn parse(written: &str) -> Result<Self, Error> {
        let (mut pieces, mut rest) = (Vec::new(), written);
        while let Some((before, inner)) = rest.split_once("{{") {
            // Without a closing mark, it is text.
            let Some((inner, after)) = inner.split_once("}}") else { break };
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(Piece::Filled(Expression::matcher(inner)?));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    fn value(&self, scope: &Scope<'_>) -> Result<Value, Error> {
        if let [Piece::Filled(expression)] = self.0.as_slice() {
            return expression.value(scope);
        }
        let mut said = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(written) => said.push_str(written),
                Piece::Filled(expression) => said.push_str(&text(&expression.value(scope)?)),
            }
        }
        Ok(Value::from(said))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with<T>(state: &Value, look: impl FnOnce(&Scope<'_>) -> T) -> T {
        let input = json!({ "id": 7, "note": "late" });
        let input = input.as_object().unwrap();
        look(&Scope { args: &[], input, context: &Map::new(), state, now_millis: 0 })
    }

    #[test]
    fn a_text_is_filled_from_the_state_and_the_call() {
        let state = json!({ "orders": { "7": { "status": "open", "total": 30 } } });
        for (written, expected) in [
            (json!("{{state.orders['7'].total}}"), json!(30)),
            (json!("{{ state.orders[input.id].status }} since today"), json!("open since today")),
            (json!({ "a": ["{{input.note}}", 1] }), json!({ "a": ["late", 1] })),
            (json!("{{state.missing.deeper}}"), Value::Null),
            (json!("no {{ end"), json!("no {{ end")),
            (json!("plain"), json!("plain")),
        ] {
            assert_eq!(with(&state, |scope| fill(&written, scope)), Ok(expected), "{written}");
        }
        assert_eq!(faults(&json!({ "a": ["{{state.x}}", "{{ nonsense( }}"] })).len(), 1);
    }

    #[test]
    fn set_changes_the_state_it_began_with() {
        let state = json!({ "n": 1, "orders": { "7": { "status": "open" } }, "log": ["a"] });
        let set = |rows: &[(&str, Value)]| {
            let rows: Vec<(String, Value)> =
                rows.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
            with(&state, |scope| changed(&rows, scope))
        };
        let expected = json!({ "n": 2, "orders": { "7": { "status": "refunded" } }, "log": ["a", "late"], "was": 1 });
        let rows = [
            ("n", json!("{{state.n + 1}}")),
            ("$.orders.{{input.id}}.status", json!("refunded")),
            ("log.1", json!("{{input.note}}")),
            ("was", json!("{{state.n}}")),
        ];
        assert_eq!(set(&rows), Ok(expected));
        assert_eq!(set(&[("new.deep", json!(true))]).unwrap()["new"], json!({ "deep": true }));
        for path in ["n.deeper", "log.7", "log.x", "a..b", ""] {
            assert_eq!(set(&[(path, json!(1))]), Err(StateError::Path(path.to_owned())), "{path}");
        }
        let large = "x".repeat(MOST_BYTES);
        assert_eq!(set(&[("n", json!(large))]), Err(StateError::TooLarge));
    }
}
