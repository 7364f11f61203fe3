//! I2: the turns of a trial are complete and of one attempt.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Run, some};

/// The transcript of each trial has the turns that its line in `trials.jsonl` counts, from 1 on.
#[must_use]
pub fn turns(run: &Run) -> Vec<String> {
    let counted: BTreeMap<&str, u64> =
        run.trials.iter().filter_map(|line| Some((line["trial_id"].as_str()?, line["turns"].as_u64()?))).collect();
    let is_broken = |line: &&Value| {
        let numbers = line["turns"].as_array().into_iter().flatten().map(|turn| turn["number"].as_u64());
        let trial = line["trial_id"].as_str().unwrap_or_default();
        !numbers.eq((1..=counted.get(trial).copied().unwrap_or(u64::MAX)).map(Some))
    };
    let broken: Vec<&str> =
        run.transcripts.iter().filter(is_broken).map(|line| line["trial_id"].as_str().unwrap_or("?")).collect();
    match broken.len() {
        0 => Vec::new(),
        count => vec![format!("{count} transcripts do not have the turns of their trials: {}", some(&broken))],
    }
}
