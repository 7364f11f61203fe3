//! I3: sums.

use serde_json::Value;

use crate::{Run, number, once::differing};

const MOST_PARTS: usize = 1_000;
const ROLES: [&str; 3] = ["agent", "user_sim", "judge"];

/// What the report sums up is the sum of the trials, or more than that where other attempts count too.
#[must_use]
pub fn sums(run: &Run) -> Vec<String> {
    let sum = |of: &dyn Fn(&Value) -> Option<u64>| run.trials.iter().filter_map(of).sum::<u64>();
    let turns = sum(&|line| line["turns"].as_u64());
    let spoken = run.transcripts.iter().filter_map(|line| line["turns"].as_array()).map(Vec::len).sum::<usize>();
    let extra = number(run, "/attempts/lost").saturating_add(number(run, "/attempts/replayed"));
    let rows = [
        ("turns", number(run, "/turns"), turns),
        ("turns in the transcripts", spoken as u64, turns),
        ("attempts", number(run, "/attempts/total"), run.planned.saturating_add(extra)),
    ];
    let mut broken: Vec<String> =
        differing(rows.into_iter().map(|(what, said, truth)| (what.to_owned(), said, truth))).collect();
    // Each trial is in one case, one scenario and, where there are any, one persona.
    for parts in ["cases", "by_scenario", "by_persona"] {
        let list = run.report[parts].as_array().map_or(&[][..], Vec::as_slice);
        // Not every run has personas, and a report names the first 1,000 scenarios.
        if (parts == "by_persona" && list.is_empty()) || list.len() >= MOST_PARTS {
            continue;
        }
        let of_parts: u64 = list.iter().map(trials_of).sum();
        if of_parts != run.trials.len() as u64 {
            broken.push(format!("the trials of `{parts}` are {of_parts}, and there are {}", run.trials.len()));
        }
    }
    for role in ROLES {
        let of_winners = sum(&|line| line["llm_calls"][role].as_u64());
        let said = run.report["summary"]["llm_calls"][role].as_u64().unwrap_or(0);
        if said < of_winners {
            broken.push(format!("report.json names {said} calls of {role}, and the trials have {of_winners}"));
        }
    }
    broken
}

/// The verdicts of a part of the report.
fn trials_of(part: &Value) -> u64 {
    let trials = if part["trials"].is_object() { &part["trials"] } else { part };
    ["pass", "fail", "inconclusive", "error", "skipped", "cancelled"]
        .iter()
        .filter_map(|verdict| trials[*verdict].as_u64())
        .sum()
}
