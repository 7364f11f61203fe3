//! Events of AG-UI runs as a fuzzer makes them.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::heard::{HeardRun, Next};

/// Each line is an event.
pub fn run(input: &[u8]) {
    let at = Instant::now();
    let mut heard = HeardRun::new(json!({}));
    for line in input.split(|byte| *byte == b'\n') {
        if llm::json::check(line).is_err() {
            continue;
        }
        let Ok(event) = serde_json::from_slice::<Value>(line) else { continue };
        match heard.event(&event, at) {
            Ok(Next::Event) => {}
            Ok(Next::End | Next::Failed(_)) | Err(_) => break,
        }
    }
    // A run that breaks off gives no reply, but what was heard must still be whole.
    let _ = heard.text();
    let _ = heard.finish(at, at);
}

#[cfg(test)]
#[test]
fn seeds_are_read() {
    crate::fuzzing::seeds("ag_ui").iter().for_each(|seed| run(seed));
}
