//! The conversations that did not pass, in groups of similar failures, with the turn of the first one if it is kept.

use record::turn::Part;

use super::escape::{code, escape};
use crate::{Selection, clip, document::Failures, failures::Group, figures::count, marks::Mark};

const SHARES_SHOWN: usize = 8;
const REASON_CHARS: usize = 240;

pub(super) fn list(page: &mut String, failures: &Failures, selection: &Selection) {
    for group in &failures.groups {
        alike(page, group);
        example(page, group, selection);
    }
    if failures.more > 0 {
        page.push_str(&format!("\n… and {} more in `report.html` and `trials.jsonl`.\n", count(failures.more)));
    }
    page.push('\n');
}

fn alike(page: &mut String, group: &Group) {
    let Mark { emoji, word, .. } = Mark::of(group.verdict());
    let times = if group.trials > 1 { format!("{} × ", count(group.trials)) } else { String::new() };
    let shown = group.shares.iter().take(SHARES_SHOWN);
    let mut shares: String = shown.map(|(name, trials)| format!("{} {}, ", escape(name), count(*trials))).collect();
    if group.shares.len() > SHARES_SHOWN {
        shares.push_str(&format!("… {} more, ", count((group.shares.len() - SHARES_SHOWN) as u64)));
    }
    let seen = group.seen.as_ref().map_or_else(String::new, |seen| format!("**{seen}**, "));
    let first = if group.trials > 1 { "first: " } else { "" };
    page.push_str(&format!(
        "- {emoji} **{word}** {times}{}, {}: {} ({seen}{shares}{first}trial {})\n",
        escape(&group.name),
        group.place(),
        escape(&clip::ellipsis(&group.reason(), REASON_CHARS)),
        code(&group.first.trial_id),
    ));
}

/// The messages and calls of the failed turn.
fn example(page: &mut String, group: &Group, selection: &Selection) {
    let Some(selected) = selection.failing_trial(group.first.number) else { return };
    let turn = selected.trial.failure.as_ref().and_then(|failure| failure.turn);
    let said = turn.and_then(|turn| selected.turns.iter().find(|said| said.number == turn)).or(selected.turns.last());
    if let Some(said) = said {
        for call in said.user_calls() {
            page.push_str(&format!("  - user calls {}\n", code(&call.name)));
        }
        let state = said.simulated.as_ref().and_then(|simulated| simulated.state.as_deref());
        let state = state.map(|state| format!(" (state: {})", escape(state))).unwrap_or_default();
        page.push_str(&format!("  - user{state}: {}\n", code(&said.user)));
        for part in said.parts() {
            page.push_str(&match part {
                Part::Said(text) => format!("  - agent: {}\n", code(text)),
                Part::Called(_) if said.messages.is_empty() => continue,
                Part::Called(call) => format!("  - agent calls {}\n", code(&call.name)),
            });
        }
        if said.agent.as_deref().is_none_or(str::is_empty) {
            page.push_str("  - agent: *nothing*\n");
        }
    }
}
