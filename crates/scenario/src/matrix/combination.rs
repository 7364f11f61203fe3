//! The names of combinations, such as `combo-000-59fc3c`.

use serde_json::Value;

/// The name of one combination: its number and a hash of its parameters.
///
/// Number and hash are those of the ElizaOS matrix runner, so that results of both can be compared.
#[must_use]
pub fn id(index: u64, parameters: &[(String, Value)]) -> String {
    let mut sorted: Vec<&(String, Value)> = parameters.iter().collect();
    sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
    let text: Vec<String> =
        sorted.iter().map(|(key, value)| format!("{key}={}", as_javascript_writes(value))).collect();
    let hash = text
        .join("&")
        .encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_shl(5).wrapping_sub(hash).wrapping_add(i32::from(unit)));
    format!("combo-{index:03}-{:x}", hash.unsigned_abs())
}

/// JSON as `JSON.stringify` writes it, in which `1` and `1.0` are equal.
fn as_javascript_writes(value: &Value) -> String {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => javascript_number(float),
            _ => number.to_string(),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(as_javascript_writes).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, item)| format!("{}:{}", Value::String(key.clone()), as_javascript_writes(item)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        other => other.to_string(),
    }
}

/// ECMAScript's Number::toString: decimals from 1e-6 up to 1e21, exponents outside.
fn javascript_number(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        return match text.split_once('e') {
            Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power}"),
            _ => text,
        };
    }
    // Display never writes an exponent; -0 is 0 in JavaScript.
    format!("{}", if size == 0.0 { 0.0 } else { float })
}
