//! Answers of A2A agents as a fuzzer makes them.

use llm::http::Url;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    KnownTask, card,
    heard::{HeardTask, Progress},
    wire::{self, Version},
};

/// The first line is an answer that came whole and also an agent card. Each other line is an event.
pub fn task(input: &[u8]) {
    let at = Instant::now();
    let mut lines = input.split(|byte| *byte == b'\n').filter_map(read);
    let Some(first) = lines.next() else { return };
    let events: Vec<Value> = lines.collect();
    if let Ok(address) = Url::parse("http://127.0.0.1:9000/agent") {
        let _ = card::read(&first, &address, None);
    }
    let _ = wire::error(&first);
    for version in [Version::V03, Version::V10] {
        let mut heard = HeardTask::new(version, KnownTask::default());
        if heard.whole(&first["result"]).is_ok() {
            let _ = heard.task_again(&first["result"]);
        }
        // The next turn knows what this one has heard.
        let mut next = HeardTask::new(version, heard.known());
        let _ = heard.finish(at, at, false);
        for event in &events {
            match next.event(&event["result"], at) {
                Ok(Progress::GoesOn) => {}
                Ok(Progress::Over | Progress::Failed(_)) | Err(_) => break,
            }
        }
        let _ = next.finish(at, at, true);
    }
}

fn read(line: &[u8]) -> Option<Value> {
    llm::json::check(line).ok()?;
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
#[test]
fn seeds_are_read() {
    crate::fuzzing::seeds("a2a").iter().for_each(|seed| task(seed));
}
