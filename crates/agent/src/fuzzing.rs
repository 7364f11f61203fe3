//! Answers of agents by HTTP as a fuzzer makes them. `a2a` and `ag_ui` have their own.

use serde_json::json;
use tokio::time::Instant;

use crate::reading::{Heard, Reading};

/// Each line is an event, its name before its data; the whole is also a body.
///
/// # Panics
/// The fixed places of a reply are none.
pub fn reply(input: &[u8]) {
    let at = Instant::now();
    for reading in [
        json!({}),
        json!({ "text": "$.text", "tool_calls": "$.tools[*]", "actions": "$.actions", "session": "$.id" }),
        json!({
            "delta": { "path": "$.data", "when": { "$.event": ["token", null] } }, "done": "$.done", "join": " ",
            "tool_calls": { "path": "$.call", "event": "tool" }, "tool_results": "$.result", "error": "$.error",
            "input_tokens": "$.usage.in", "output_tokens": "$.usage.out", "remember": { "thread": "$.thread" },
        }),
        json!({ "delta": "$..text", "cumulative": true }),
    ] {
        let reading: Reading = serde_json::from_value(reading).expect("the places of a reply");
        let mut whole = Heard::new(&reading);
        let _ = whole.whole(input);
        let _ = whole.finish(at, at, false);
        let mut heard = Heard::new(&reading);
        for line in input.split(|byte| *byte == b'\n') {
            let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
            let data = line.get(name.len() + 1..).unwrap_or_default();
            if !matches!(heard.event(&String::from_utf8_lossy(name), data, at), Ok(false)) {
                break;
            }
        }
        let _ = heard.ended(false);
        let _ = heard.finish(at, at, true);
    }
}

/// The inputs from which the fuzzer starts.
#[cfg(test)]
pub(crate) fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let seeds: Vec<_> = std::fs::read_dir(folder).unwrap().map(|seed| std::fs::read(seed.unwrap().path())).collect();
    assert!(!seeds.is_empty());
    seeds.into_iter().map(Result::unwrap).collect()
}

#[cfg(test)]
#[test]
fn seeds_are_read() {
    seeds("reply").iter().for_each(|seed| reply(seed));
}
