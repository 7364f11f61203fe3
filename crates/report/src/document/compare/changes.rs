//! The cases that changed, as lists: what is worse first.

use statistics::compare::found::{CaseFound, Comparison, Direction, Moved, Outcome, SideFound};

use super::{room::CompareRoom, words};
use crate::{
    document::model::{Block, Kind, LineKind, Section},
    figures::plural,
};

/// The title of quarantined cases.
pub(super) const IN_QUARANTINE: &str = "In quarantine";
const TESTED: &str = "At most 1 in 20 entries of this list is expected to be there by chance.";
const DESCRIBED: &str = "Too few trials to call these worse or better: a change like these may be chance.";
const QUARANTINED: &str = "Each is compared by itself, and the verdict does not depend on it.";
const UNSTABLE: &str = "Of these cases all trials agreed in one run and not in the other.";

/// A list of cases: its title, what it means, and its lines.
struct List {
    title: &'static str,
    legend: Option<&'static str>,
    kind: LineKind,
    lines: Vec<String>,
}

pub(super) fn sections(comparison: &Comparison, room: CompareRoom) -> Vec<Section> {
    lists(comparison).into_iter().filter(|list| !list.lines.is_empty()).map(|list| section(list, room)).collect()
}

fn section(list: List, room: CompareRoom) -> Section {
    let List { title, legend, kind, mut lines } = list;
    let more = lines.len().saturating_sub(room.cases);
    lines.truncate(room.cases);
    if more > 0 {
        lines.push(format!("{} in `--json`", plural(more as u64, "more case", "more cases")));
    }
    Section { legend, ..Section::new(Kind::Changes, title, Some(Block::Lines { kind, lines })) }
}

fn lists(comparison: &Comparison) -> Vec<List> {
    let of = |wanted: &[Outcome]| -> Vec<&CaseFound> {
        let mut cases: Vec<&CaseFound> =
            comparison.cases.iter().filter(|case| wanted.contains(&case.outcome) && !case.quarantined).collect();
        // The least likely first; equal ones stay in the order of the plan.
        cases.sort_by(|a, b| a.chance.unwrap_or(1.0).total_cmp(&b.chance.unwrap_or(1.0)));
        cases
    };
    let tested = |title, wanted, kind| List {
        title,
        legend: Some(TESTED),
        kind,
        lines: of(&[wanted]).into_iter().map(line).collect(),
    };
    let lines = |wanted: &[Outcome]| of(wanted).into_iter().map(line).collect::<Vec<_>>();
    let moved = |title, direction, of: fn(&CaseFound) -> Option<&Moved>, text: fn(&Moved) -> String| List {
        title,
        legend: Some(TESTED),
        kind: LineKind::Item,
        lines: moved(comparison, direction, of, text),
    };
    vec![
        tested("Worse", Outcome::Worse, LineKind::Warning),
        List {
            title: "Newly failing",
            legend: Some(DESCRIBED),
            kind: LineKind::Item,
            lines: lines(&[Outcome::NewlyFailing]),
        },
        tested("Better", Outcome::Better, LineKind::Item),
        List { title: "Fixed", legend: Some(DESCRIBED), kind: LineKind::Item, lines: lines(&[Outcome::Fixed]) },
        List {
            title: "Perhaps flakier or more stable",
            legend: Some(UNSTABLE),
            kind: LineKind::Item,
            lines: unstable(comparison).into_iter().collect(),
        },
        List {
            title: IN_QUARANTINE,
            legend: Some(QUARANTINED),
            kind: LineKind::Item,
            lines: comparison.cases.iter().filter(|case| case.quarantined).map(line).collect(),
        },
        moved("Slower", Direction::Up, |case| case.response_ms.as_ref(), words::times),
        moved("Faster", Direction::Down, |case| case.response_ms.as_ref(), words::times),
        moved("Dearer", Direction::Up, |case| case.cost_usd.as_ref(), words::costs),
        moved("Cheaper", Direction::Down, |case| case.cost_usd.as_ref(), words::costs),
        List { title: "Only in NEW", legend: None, kind: LineKind::Item, lines: lines(&[Outcome::New]) },
        List { title: "Only in BASE", legend: None, kind: LineKind::Item, lines: lines(&[Outcome::Gone]) },
        List { title: "Undecided", legend: None, kind: LineKind::Item, lines: lines(&[Outcome::Undecided]) },
    ]
}

fn moved(
    comparison: &Comparison,
    direction: Direction,
    of: fn(&CaseFound) -> Option<&Moved>,
    text: fn(&Moved) -> String,
) -> Vec<String> {
    let mut found: Vec<(&CaseFound, &Moved)> = comparison
        .cases
        .iter()
        .filter_map(|case| Some((case, of(case).filter(|moved| moved.changed == Some(direction))?)))
        .collect();
    found.sort_by(|(_, a), (_, b)| a.chance.total_cmp(&b.chance));
    found
        .into_iter()
        .map(|(case, moved)| format!("{}: {}; {}", words::name(case), text(moved), words::chance(moved.chance)))
        .collect()
}

/// `3 cases perhaps flakier, 1 case perhaps more stable: no test tells it from chance; …`.
fn unstable(comparison: &Comparison) -> Option<String> {
    let is = |case: &&CaseFound, wanted: Outcome| case.outcome == wanted && !case.quarantined;
    let number = |wanted: Outcome| comparison.cases.iter().filter(|case| is(case, wanted)).count() as u64;
    let told = [(Outcome::Flakier, "perhaps flakier"), (Outcome::MoreStable, "perhaps more stable")];
    let told: Vec<String> = told
        .into_iter()
        .filter(|(outcome, _)| number(*outcome) > 0)
        .map(|(outcome, word)| format!("{} {word}", plural(number(outcome), "case", "cases")))
        .collect();
    (!told.is_empty()).then(|| format!("{}: no test tells it from chance; `--json` lists them", told.join(", ")))
}

/// Whether all trials of a side agree.
fn is_stable(side: Option<SideFound>) -> bool {
    side.is_some_and(|side| side.pass == 0 || side.fail == 0)
}

/// `refund: 18/20 → 9/20, worse; 1 in 170 by chance`.
fn line(case: &CaseFound) -> String {
    let name = words::name(case);
    let side = |side: Option<_>| side.map_or_else(|| "–".to_owned(), words::passed);
    let passed = match (case.base, case.new) {
        (Some(_), Some(_)) => format!("{} → {}", side(case.base), side(case.new)),
        (one, other) => side(one.or(other)),
    };
    let word = match case.outcome {
        Outcome::Worse if is_stable(case.base) && !is_stable(case.new) => ", worse and flaky",
        Outcome::Worse => ", worse",
        Outcome::NewlyFailing => ", newly failing",
        Outcome::Better if is_stable(case.new) && !is_stable(case.base) => ", better and stable",
        Outcome::Better => ", better",
        Outcome::Fixed => ", fixed",
        Outcome::Flakier | Outcome::MoreStable | Outcome::Same | Outcome::Undecided | Outcome::New | Outcome::Gone => {
            ""
        }
    };
    let chance = case.chance.map_or_else(String::new, |chance| format!("; {}", words::chance(chance)));
    let differs = match case.differs.as_slice() {
        [] => String::new(),
        parts => format!("; its {} changed", parts.join(" and ")),
    };
    format!("{name}: {passed}{word}{chance}{differs}")
}
