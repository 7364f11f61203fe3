//! The scenario's variables that templates use, as in `{{ vars.NAME }}`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{TEXTS, texts};

/// The scenario's variables that placeholders in the texts of this value use.
pub(crate) fn variables(value: &Value) -> BTreeSet<String> {
    places_of_variables(value).iter().filter_map(|place| place.split('.').next()).map(str::to_owned).collect()
}

/// An empty text for each of them, and for each part of them that the texts name.
pub(crate) fn empty_variables(value: &Value) -> Map<String, Value> {
    fn put(into: &mut Value, place: &str) {
        if !into.is_object() {
            *into = json!({});
        }
        match place.split_once('.') {
            Some((name, rest)) => put(&mut into[name], rest),
            None if into.get(place).is_none() => into[place] = json!(""),
            None => {}
        }
    }
    let mut all = json!({});
    places_of_variables(value).iter().for_each(|place| put(&mut all, place));
    match all {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// As `account.plan` for `{{ vars.account.plan }}`.
fn places_of_variables(value: &Value) -> BTreeSet<String> {
    let of_text = |text: &str| {
        let Ok(template) = TEXTS.template_from_str(text) else { return Vec::new() };
        let named = template.undeclared_variables(true);
        named.iter().filter_map(|name| name.strip_prefix("vars.")).map(str::to_owned).collect()
    };
    texts(value).into_iter().filter(|text| text.contains("vars")).flat_map(of_text).collect()
}
