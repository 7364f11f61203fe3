//! From an expression to its value.

use serde_json::{Map, Value};

use super::{
    error::Error,
    methods,
    node::{Conversion, Entry, Item, Node, Operator},
    scope::Scope,
    value::{is_equal, is_loosely_equal, is_truthy, number, of_number, text},
};

pub(super) fn node(node: &Node, scope: &Scope<'_>) -> Result<Value, Error> {
    let value = |part: &Node| self::node(part, scope);
    Ok(match node {
        Node::Literal(value) => value.clone(),
        Node::Args => Value::Array(scope.args.to_vec()),
        Node::Input => Value::Object(scope.input.clone()),
        Node::Context => Value::Object(scope.context.clone()),
        Node::State => scope.state.clone(),
        Node::Now => Value::from(scope.now_millis),
        Node::NowText => Value::String(date(scope.now_millis)),
        Node::Property(of, name) => property(&value(of)?, name),
        Node::Index(of, at) => match (value(of)?, value(at)?) {
            (Value::Array(list), at) => number_index(&at).and_then(|at| list.get(at).cloned()).unwrap_or_default(),
            (Value::String(said), Value::Number(at)) => {
                let found = number_index(&Value::Number(at)).and_then(|at| said.chars().nth(at));
                found.map_or(Value::Null, |c| c.to_string().into())
            }
            (of, at) => property(&of, &text(&at)),
        },
        Node::Method(of, method, arguments) => {
            let of = value(of)?;
            let arguments = arguments.iter().map(value).collect::<Result<Vec<_>, _>>()?;
            methods::apply(&of, *method, &arguments)?
        }
        Node::Convert(to, part) => {
            let part = value(part)?;
            match to {
                Conversion::String => text(&part).into(),
                Conversion::Number => of_number(number(&part)),
                Conversion::Boolean => is_truthy(&part).into(),
                Conversion::Json => part.to_string().into(),
            }
        }
        Node::Not(part) => (!is_truthy(&value(part)?)).into(),
        Node::Minus(part) => of_number(-number(&value(part)?)),
        Node::Binary(operator, left, right) => {
            let left = value(left)?;
            match operator {
                Operator::Or if is_truthy(&left) => left,
                Operator::And if !is_truthy(&left) => left,
                Operator::Nullish if !left.is_null() => left,
                Operator::Or | Operator::And | Operator::Nullish => value(right)?,
                _ => binary(*operator, &left, &value(right)?)?,
            }
        }
        Node::Choice(condition, yes, no) => value(if is_truthy(&value(condition)?) { yes } else { no })?,
        Node::List(items) => {
            let mut list = Vec::new();
            for item in items {
                match item {
                    Item::One(part) => list.push(value(part)?),
                    Item::Spread(part) => match value(part)? {
                        Value::Array(more) => list.extend(more),
                        _ => return Err(Error::Valueless("only a list can be spread in a list".to_owned())),
                    },
                }
            }
            Value::Array(list)
        }
        Node::Object(entries) => {
            let mut map = Map::new();
            for entry in entries {
                match entry {
                    Entry::Pair(key, part) => {
                        map.insert(key.clone(), value(part)?);
                    }
                    Entry::Spread(part) => match value(part)? {
                        Value::Object(more) => map.extend(more),
                        Value::Null => {}
                        _ => return Err(Error::Valueless("only an object can be spread in an object".to_owned())),
                    },
                }
            }
            Value::Object(map)
        }
        Node::Text(parts) => methods::bounded(joined(parts, scope)?)?,
        Node::Template(parts) => {
            let text = joined(parts, scope)?;
            let looks_like_json = text.trim_start().starts_with(['{', '[']);
            let read = if looks_like_json { serde_json::from_str(&text).ok() } else { None };
            read.map_or_else(|| methods::bounded(text), Ok)?
        }
    })
}

/// The literal texts of a template joined with the values of its `${…}`.
fn joined(parts: &[Node], scope: &Scope<'_>) -> Result<String, Error> {
    let mut said = String::new();
    for part in parts {
        said.push_str(&text(&node(part, scope)?));
    }
    Ok(said)
}

/// Null if there is no such property, also of null.
fn property(of: &Value, name: &str) -> Value {
    let length = if name == "length" { methods::length(of) } else { None };
    length.or_else(|| of.get(name).cloned()).unwrap_or_default()
}

fn number_index(at: &Value) -> Option<usize> {
    let at = number(at);
    (at >= 0.0 && at.fract() == 0.0).then_some(at as usize)
}

fn binary(operator: Operator, left: &Value, right: &Value) -> Result<Value, Error> {
    let count = |apply: fn(f64, f64) -> f64| of_number(apply(number(left), number(right)));
    let order = || match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => number(left).partial_cmp(&number(right)),
    };
    Ok(match operator {
        Operator::Same => is_equal(left, right).into(),
        Operator::NotSame => (!is_equal(left, right)).into(),
        Operator::Equal => is_loosely_equal(left, right).into(),
        Operator::NotEqual => (!is_loosely_equal(left, right)).into(),
        Operator::Below => order().is_some_and(std::cmp::Ordering::is_lt).into(),
        Operator::Above => order().is_some_and(std::cmp::Ordering::is_gt).into(),
        Operator::AtMost => order().is_some_and(std::cmp::Ordering::is_le).into(),
        Operator::AtLeast => order().is_some_and(std::cmp::Ordering::is_ge).into(),
        Operator::Plus => {
            let is_text = |value: &Value| matches!(value, Value::String(_) | Value::Array(_) | Value::Object(_));
            if is_text(left) || is_text(right) {
                methods::bounded(text(left) + &text(right))?
            } else {
                count(|a, b| a + b)
            }
        }
        Operator::Minus => count(|a, b| a - b),
        Operator::Times => count(|a, b| a * b),
        Operator::Over => count(|a, b| a / b),
        Operator::Rest => count(|a, b| a % b),
        // These do not always need their right side and are decided before.
        Operator::Or | Operator::And | Operator::Nullish => right.clone(),
    })
}

/// `2026-01-02T03:04:05.678Z`: days to a date by Howard Hinnant's `civil_from_days`.
fn date(millis: i64) -> String {
    let (days, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}.{:03}Z", rest / 1_000 % 60, rest % 1_000)
}
