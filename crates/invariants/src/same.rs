//! I11: faults change no verdict.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The number of differences to list; the others are only counted.
const NAMED: usize = 3;

/// Two verdict views, a line of JSON for each trial. First come the trials that our side broke.
#[must_use]
pub fn same(calm: &str, view: &str) -> Vec<String> {
    if calm == view {
        return Vec::new();
    }
    let by_trial = |text: &str| -> BTreeMap<u64, Value> {
        let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        values.map(|value| (value["trial"].as_u64().unwrap_or(u64::MAX), value)).collect()
    };
    let (before, after) = (by_trial(calm), by_trial(view));
    let numbers: BTreeSet<u64> = before.keys().chain(after.keys()).copied().collect();
    let said = |value: Option<&Value>| match value {
        Some(value) => {
            format!("{} {} {}", text(&value["verdict"]), text(&value["failure_kind"]), text(&value["blame"]))
        }
        None => "missing".to_owned(),
    };
    let mut different: Vec<(bool, String)> = numbers
        .into_iter()
        .filter(|number| before.get(number) != after.get(number))
        .map(|number| {
            let (then, now) = (before.get(&number), after.get(&number));
            let ours =
                now.is_some_and(|now| now["verdict"] == "ERROR") && then.is_some_and(|then| then["verdict"] != "ERROR");
            (!ours, format!("trial {number}: undisturbed {}, here {}", said(then).trim(), said(now).trim()))
        })
        .collect();
    different.sort();
    if different.is_empty() {
        return vec!["the verdict view has the same trials in another form or order".to_owned()];
    }
    let named: Vec<&str> = different.iter().take(NAMED).map(|(_, text)| text.as_str()).collect();
    vec![format!("{} trials differ in the verdict view: {}", different.len(), named.join("; "))]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
