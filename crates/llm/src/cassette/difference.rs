//! The first difference of two JSON values, in words.

use serde_json::Value;

/// How much of a text is shown before and after the first difference.
const BEFORE: usize = 40;
const AFTER: usize = 60;

/// `messages[2].content: recorded "…on Monday…", asked "…on Tuesday…"`.
pub(crate) fn first(recorded: &Value, asked: &Value) -> String {
    at("", recorded, asked).unwrap_or_else(|| "nothing differs".to_owned())
}

fn at(path: &str, recorded: &Value, asked: &Value) -> Option<String> {
    if recorded == asked {
        return None;
    }
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (recorded, asked) {
        (Value::Object(old), Value::Object(new)) => old
            .iter()
            .find_map(|(name, old)| match new.get(name) {
                Some(new) => at(&below(name), old, new),
                None => Some(format!("{}: recorded {}, and not asked", below(name), shown(old))),
            })
            .or_else(|| {
                let (name, new) = new.iter().find(|(name, _)| !old.contains_key(name.as_str()))?;
                Some(format!("{}: not recorded, asked {}", below(name), shown(new)))
            }),
        (Value::Array(old), Value::Array(new)) => {
            let both = old.iter().zip(new).enumerate();
            let differs = |(index, (old, new)): (usize, (&Value, &Value))| at(&format!("{path}[{index}]"), old, new);
            both.into_iter().find_map(differs).or_else(|| {
                let what = path.rsplit('.').next().unwrap_or(path);
                Some(format!("{path}: recorded {} {what}, asked {}", old.len(), new.len()))
            })
        }
        (Value::String(old), Value::String(new)) => {
            let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
            Some(format!("{path}: recorded {:?}, asked {:?}", around(old, same), around(new, same)))
        }
        _ => Some(format!("{path}: recorded {}, asked {}", shown(recorded), shown(asked))),
    }
}

/// The text around the character with this number.
fn around(text: &str, at: usize) -> String {
    let from = at.saturating_sub(BEFORE);
    let part: String = text.chars().skip(from).take(BEFORE + AFTER).collect();
    let more = text.chars().count() > from + BEFORE + AFTER;
    format!("{}{part}{}", if from > 0 { "…" } else { "" }, if more { "…" } else { "" })
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= AFTER { text } else { format!("{}…", text.chars().take(AFTER).collect::<String>()) }
}
