//! Sentinels: whether the judge is as in the nights before.

use statistics::sentinels::{ChangedSentinel, SentinelDrift, SentinelsCompared};

use super::model::{Block, Kind, LineKind, Section};
use crate::{
    Found,
    figures::{count, decimal, estimate, plural},
};

const LEGEND: &str = "Labelled conversations that the judge judges in every run. They never change, so a change of their verdicts is a change of the judge.";
/// Changed sentinels that are named.
const LISTED: usize = 8;

pub(super) fn section(found: &Found) -> Section {
    let blocks = found.sentinels.as_deref().map(blocks).unwrap_or_default();
    Section { legend: Some(LEGEND), ..Section::new(Kind::Sentinels, "Sentinels", blocks) }
}

/// For the top of the report.
pub(super) fn alert(drift: &SentinelDrift) -> Option<String> {
    let (differ, of) = (count(drift.changed.len() as u64), count(drift.compared));
    drift.drifted.then(|| format!("it changed, not the agent: {differ} of {of} verdicts on sentinels differ"))
}

fn blocks(drift: &SentinelDrift) -> Vec<Block> {
    let mut blocks = Vec::new();
    if drift.drifted {
        blocks.push(Block::Warning(drifted(drift)));
    }
    if drift.another_judge {
        blocks.push(Block::Warning(ANOTHER.to_owned()));
    }
    let mut lines = Vec::new();
    if !drift.drifted {
        lines.push(steady(drift));
    }
    lines.push(agreement(drift));
    lines.extend(changed(&drift.changed));
    blocks.push(Block::Lines { kind: LineKind::Item, lines });
    blocks
}

const ANOTHER: &str = "the judge is another model, or is asked in another way, than in the night before: measure it again with `gabfest judge LABELS --save`";

fn drifted(drift: &SentinelDrift) -> String {
    format!(
        "the judge changed, not the agent: {} of {} verdicts on sentinels differ from those of the {} before, and by chance {} would (chance {})",
        count(drift.changed.len() as u64),
        count(drift.compared),
        plural(drift.nights, "night", "nights"),
        drift.expected.map_or_else(|| "none".to_owned(), decimal),
        drift.chance.map_or_else(|| "unknown".to_owned(), chance)
    )
}

fn steady(drift: &SentinelDrift) -> String {
    let judged = plural(drift.judged, "sentinel is", "sentinels are");
    let nights = plural(drift.nights, "night", "nights");
    let differ = drift.changed.len() as u64;
    match (drift.nights, drift.expected) {
        (0, _) => format!("{judged} judged; later nights are compared with them"),
        (_, None) => {
            format!(
                "{judged} judged, {} otherwise than in the night before; two nights are needed to tell chance",
                count(differ)
            )
        }
        (_, Some(_)) if differ == 0 => format!("{judged} judged as in the {nights} before: the judge did not change"),
        (_, Some(expected)) => format!(
            "{judged} judged, {} otherwise than in the {nights} before; {} by chance: no sign that the judge changed",
            count(differ),
            decimal(expected)
        ),
    }
}

fn agreement(drift: &SentinelDrift) -> String {
    let now = estimate(&drift.agreement);
    match drift.agreement_before.estimate {
        None => format!("{now} of the verdicts agree with the labels"),
        Some(_) => {
            format!(
                "{now} of the verdicts agree with the labels, {} in the nights before",
                estimate(&drift.agreement_before)
            )
        }
    }
}

fn changed(changed: &[ChangedSentinel]) -> Vec<String> {
    let line =
        |one: &ChangedSentinel| format!("{}: {} before, now {}; labelled {}", one.id, one.before, one.now, one.label);
    let mut lines: Vec<String> = changed.iter().take(LISTED).map(line).collect();
    let more = changed.len().saturating_sub(LISTED);
    if more > 0 {
        lines.push(format!("{} more in sentinels.json", count(more as u64)));
    }
    lines
}

fn chance(chance: f64) -> String {
    if chance < 0.0001 { "less than 1 in 10,000".to_owned() } else { format!("{chance:.4}") }
}

/// For the top of a comparison.
pub(super) fn alert_between(found: &SentinelsCompared) -> Option<String> {
    let (differ, of) = (count(found.changed.len() as u64), count(found.compared));
    let said = || {
        format!(
            "it changed between these runs, so a difference may be the judge's: {differ} of {of} sentinels are judged otherwise"
        )
    };
    found.drifted.then(said)
}

/// Of two runs.
pub(super) fn compared(found: &SentinelsCompared) -> Block {
    let differ = count(found.changed.len() as u64);
    let all = plural(found.compared, "sentinel", "sentinels");
    let directions = format!("{} now met, {} no longer", count(found.to_met), count(found.from_met));
    let asked = if found.another_judge { "; it is another model, or is asked in another way" } else { "" };
    if found.drifted {
        return Block::Warning(format!(
            "the judge changed between these runs: {differ} of {all} are judged otherwise ({directions}){asked}. What is worse or better here may be the judge's and not the agent's; `gabfest rejudge` judges both runs with one judge"
        ));
    }
    let said = match found.changed.len() {
        0 => format!("The judge judges all {all} alike in both runs"),
        _ => format!("The judge judges {differ} of {all} otherwise ({directions}), which may be chance"),
    };
    Block::Note(format!("{said}{asked}"))
}

#[cfg(test)]
mod tests {
    use record::summary::Rate;

    use super::*;

    fn rate(share: f64) -> Rate {
        Rate { estimate: Some(share), low: 0.0, high: 1.0, method: String::new(), n: 10 }
    }

    fn drift(changed: usize, chance: Option<f64>) -> SentinelDrift {
        let one = |number: usize| ChangedSentinel {
            id: format!("refund-{number}"),
            label: "met".to_owned(),
            before: "met".to_owned(),
            now: "not_met".to_owned(),
        };
        SentinelDrift {
            judged: 20,
            nights: 9,
            compared: 20,
            changed: (0..changed).map(one).collect(),
            expected: chance.map(|_| 0.4),
            chance,
            drifted: chance.is_some_and(|chance| chance < 0.01),
            another_judge: false,
            agreement: rate(0.7),
            agreement_before: rate(0.95),
        }
    }

    #[test]
    fn a_changed_judge_is_named_and_a_steady_one_too() {
        let said = drifted(&drift(6, Some(0.000_02)));
        assert!(said.starts_with("the judge changed, not the agent: 6 of 20 verdicts"), "{said}");
        assert!(said.contains("9 nights before") && said.contains("less than 1 in 10,000"), "{said}");
        assert!(steady(&drift(0, Some(1.0))).ends_with("the judge did not change"));
        assert!(steady(&drift(1, Some(0.3))).contains("no sign that the judge changed"));
        assert!(steady(&drift(3, None)).contains("two nights are needed"));
        assert_eq!(changed(&drift(10, None).changed).len(), LISTED + 1);
        assert_eq!(blocks(&drift(6, Some(0.000_02))).len(), 2);
    }
}
