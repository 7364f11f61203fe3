//! Groups of similar failures, as on the terminal: how often, in which cases, and a filter for their conversations.

use record::Summary;
use serde::Serialize;

use super::conversation::Conversations;
use crate::{
    failures::Group,
    figures::{self, count},
    marks::Mark,
};

const SHOWN: usize = 100;
const SHARES_SHOWN: usize = 40;

#[derive(Serialize)]
pub(super) struct Groups {
    rows: Vec<Row>,
    number: String,
    left_out: Option<String>,
}

#[derive(Serialize)]
struct Row {
    /// The mark on its conversations.
    index: usize,
    mark: Mark,
    trials: String,
    name: String,
    place: String,
    reason: String,
    seen: Option<String>,
    shares: Vec<(String, String)>,
    more_shares: Option<String>,
    /// To the first that this page has.
    href: Option<String>,
    first: String,
    /// Its conversations on this page.
    here: String,
}

impl Groups {
    pub(super) fn of(groups: &[Group], conversations: &Conversations, summary: &Summary) -> Self {
        let left_out = groups.len().saturating_sub(SHOWN) as u64;
        let totals = summary.summary.trials;
        Self {
            rows: groups
                .iter()
                .take(SHOWN)
                .enumerate()
                .map(|(index, group)| row(index, group, conversations))
                .collect(),
            number: format!(
                "{} in {} of similar failures",
                figures::plural(totals.fail + totals.error + totals.inconclusive + totals.skipped, "trial", "trials"),
                figures::plural(groups.len() as u64, "group", "groups"),
            ),
            left_out: (left_out > 0).then(|| figures::plural(left_out, "more group", "more groups")),
        }
    }
}

fn row(index: usize, group: &Group, conversations: &Conversations) -> Row {
    let here = conversations.of_group(index);
    let shares = group.shares.iter().take(SHARES_SHOWN).map(|(name, trials)| (name.clone(), count(*trials)));
    let more_shares = group.shares.len().saturating_sub(SHARES_SHOWN) as u64;
    Row {
        index,
        mark: Mark::of(group.verdict()),
        trials: count(group.trials),
        name: group.name.clone(),
        place: group.place(),
        reason: group.reason(),
        seen: group.seen.clone(),
        shares: shares.collect(),
        more_shares: (more_shares > 0).then(|| count(more_shares)),
        href: here.first().map(|conversation| conversation.failing_anchor.clone()),
        first: format!("repeat {}, trial {}", group.first.repeat + 1, group.first.trial_id),
        here: figures::plural(here.len() as u64, "conversation", "conversations"),
    }
}
