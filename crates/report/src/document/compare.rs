//! What changed between two runs, as a document: the verdict, the changed cases, figures, checks with a name, groups, and what else differs.

mod changes;
mod checks;
mod headline;
mod room;
mod tables;
mod words;

pub(crate) use self::room::CompareRoom;
use statistics::compare::found::{CompareVerdict, Comparison, GroupKind};

use super::{
    Document, Room,
    model::{Block, Kind, LineKind, Section},
    sentinels,
};
use crate::{Found, figures::plural};

const RUNS: &str = "Two runs cannot tell a change of the agent from a difference between two nights: every word here is about these two runs";
const FIGURES: &str = "Quantiles over the conversations of the cases that both runs have, each case weighing the same. An interval's ends are each wrong in 1 of 20 comparisons. Turns without an answer count as infinitely slow. A change of less than 10 %, or 10 ms, is not named. Too few: p95 needs 130 values. Tokens are the agent's, cost is that of all roles.";

pub(crate) fn of(comparison: &Comparison, room: CompareRoom) -> Document {
    let mut sections = changes::sections(comparison, room);
    let figures = tables::figures(comparison).map(Block::Table);
    sections.push(Section {
        legend: Some(FIGURES),
        ..Section::new(Kind::ComparedFigures, "Times, tokens and cost", figures)
    });
    sections.push(checks::section(comparison, room.groups));
    for (kind, of, title) in [
        (Kind::ByScenario, GroupKind::Scenario, "By scenario"),
        (Kind::ByPersona, GroupKind::Persona, "By persona"),
        (Kind::ByTag, GroupKind::Tag, "By tag"),
    ] {
        sections.push(Section::new(kind, title, tables::groups(comparison, of, room.groups)));
    }
    sections.push(Section::new(Kind::Contract, "What else differs", contract(comparison, room)));
    sections.retain(|section| !section.blocks.is_empty());
    Document { headline: headline::of(comparison), sections }
}

/// The comparison as one section of a run's report: why it is worse or not, and the cases that changed most.
pub(super) fn section(found: &Found, room: Room) -> Section {
    let Some(comparison) = found.comparison.as_deref() else {
        return Section::new(Kind::Comparison, "Compared with an earlier run", None);
    };
    let document = of(comparison, CompareRoom { cases: room.changes, groups: 0, differences: 0 });
    let headline = &document.headline;
    let facts = headline.facts.iter().enumerate().map(|(place, fact)| match place {
        0 => format!("{}: {}", headline.mark.word, fact.text()),
        _ => format!("{}: {}", fact.name, fact.text()),
    });
    let kind = |is_worse: bool| if is_worse { LineKind::Warning } else { LineKind::Item };
    let is_worse = comparison.verdict == CompareVerdict::Worse;
    let (mut why, mut rest): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    facts.enumerate().for_each(|(place, text)| if place == 0 { why.push(text) } else { rest.push(text) });
    let mut blocks =
        vec![Block::Lines { kind: kind(is_worse), lines: why }, Block::Lines { kind: LineKind::Item, lines: rest }];
    blocks.extend(comparison.sentinels.as_ref().filter(|found| found.drifted).map(sentinels::compared));
    for changes in document.sections.into_iter().filter(|section| section.kind == Kind::Changes) {
        for block in changes.blocks {
            if let Block::Lines { kind, lines } = block {
                let lines = lines.into_iter().map(|line| with_title(&changes.title, line)).collect();
                blocks.push(Block::Lines { kind, lines });
            }
        }
    }
    blocks.push(Block::Note(
        "All of it, with times, tokens and cost, is in `compare.html`, `compare.md` and `compare.json`".to_owned(),
    ));
    let base = comparison.base.called.clone();
    Section { of: Some(base), ..Section::new(Kind::Comparison, "Compared with", blocks) }
}

/// `Slower: refund: median turn 120 ms → 340 ms`; a line that says it already stays as it is.
fn with_title(title: &str, line: String) -> String {
    let first = title.split(' ').next().unwrap_or(title).to_lowercase();
    // `better` of a quarantined case says nothing of its quarantine.
    let says = title != changes::IN_QUARANTINE && line.split([' ', ',', ';']).any(|word| word == first);
    if says { line } else { format!("{title}: {line}") }
}

/// What differs besides the agent, and which cases are not compared.
fn contract(comparison: &Comparison, room: CompareRoom) -> Vec<Block> {
    let contract = &comparison.contract;
    let mut lines: Vec<String> = contract.differences.iter().map(words::difference).collect();
    let more = lines.len().saturating_sub(room.differences);
    lines.truncate(room.differences);
    if more > 0 {
        lines.push(format!("{} in `--json`", plural(more as u64, "more difference", "more differences")));
    }
    let mut blocks = Vec::new();
    if contract.changed_cases > 0 {
        let cases = plural(contract.changed_cases, "compared case has", "compared cases have");
        blocks.push(Block::Warning(format!(
            "{cases} another scenario or persona: a change there may not be the agent's"
        )));
    }
    if !lines.is_empty() {
        blocks.push(Block::Lines { kind: LineKind::Item, lines });
    }
    if !contract.has_digests {
        let why = "a report of an earlier version has no digests, so changed scenarios, personas and endpoints are unknown; `gabfest report RUN` writes it again";
        blocks.push(Block::Note(why.to_owned()));
    }
    blocks.extend(comparison.sentinels.as_ref().map(sentinels::compared));
    blocks.push(Block::Note(comparison.nights.as_ref().map_or_else(|| RUNS.to_owned(), words::nights)));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gets_the_title_that_it_does_not_say() {
        for (title, line, page) in [
            (
                "Worse",
                "refund: 9/10 → 1/10, worse; 1 in 170 by chance",
                "refund: 9/10 → 1/10, worse; 1 in 170 by chance",
            ),
            ("Slower", "refund: median turn 1 s → 2 s", "Slower: refund: median turn 1 s → 2 s"),
            ("Better", "betterment: 1/10 → 9/10", "Better: betterment: 1/10 → 9/10"),
            (
                changes::IN_QUARANTINE,
                "a: 1/9, better; 1 in 9 by chance",
                "In quarantine: a: 1/9, better; 1 in 9 by chance",
            ),
        ] {
            assert_eq!(with_title(title, line.to_owned()), page);
        }
    }
}
