//! Groups of failures as the history keeps them, and what it says of them.

use record::{Summary, summary::FailureSeen};
use scenario::Digest;
use serde_json::json;
use statistics::nights::{self, NightFailure};

use super::{Failures, Group};
use crate::{cases, clip, figures::count};

/// Groups of one run that the history keeps, the most important first.
const MOST: usize = 500;
const REASON_CHARS: usize = 400;

impl Failures {
    /// The groups for the history.
    #[must_use]
    pub fn nightly(&self, summary: &Summary) -> Vec<NightFailure> {
        let groups = self.groups(summary);
        let nightly = groups.iter().take(MOST).map(|group| NightFailure {
            signature: signature(group, summary),
            agent: agent(group, summary),
            verdict: group.verdict(),
            place: group.place(),
            reason: clip::ellipsis(&group.reason, REASON_CHARS),
            trials: group.trials,
            cells: group.cases.iter().filter_map(|(number, _)| place(summary, *number)).collect(),
        });
        nightly.collect()
    }
}

/// Equal for the same failure in other runs: of the agent, the verdict, the place and the reason without what differs between trials.
pub(super) fn signature(group: &Group, summary: &Summary) -> String {
    let kind = &group.kind;
    let parts = json!([agent(group, summary), kind.verdict, kind.place.to_string(), kind.folded]);
    Digest::of_json(&parts).short().to_owned()
}

/// `new tonight`, `seen since 2026-11-17, in 5 of 7 nights`.
pub(super) fn words(seen: &FailureSeen) -> String {
    if seen.is_new {
        return "new: no earlier night has it".to_owned();
    }
    let day = seen.first_seen.split('T').next().unwrap_or_default();
    format!("seen since {day}, in {} of {} nights", count(seen.seen), count(seen.nights))
}

fn agent(group: &Group, summary: &Summary) -> String {
    let case = group.first_case().and_then(|number| cases::find(summary, number));
    case.map_or_else(String::new, |case| nights::agent(&case.agent))
}

fn place(summary: &Summary, number: u64) -> Option<usize> {
    summary.cases.iter().position(|case| case.number == number)
}
