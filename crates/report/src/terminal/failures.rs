//! The conversations that did not pass, in groups of similar failures: how often, in which cases, why, and which trial
//! to look at first.

use super::lines::Lines;
use crate::{
    clean::{clean, fit},
    document::Failures,
    failures::Group,
    figures::count,
    marks::Mark,
};

const INDENT: usize = 6;
const REASON_LINES: usize = 3;

pub(super) fn draw(lines: &mut Lines, failures: &Failures) {
    for of in &failures.groups {
        group(lines, of);
    }
    if failures.more > 0 {
        lines.more(&format!("{} more", count(failures.more)));
    }
}

fn group(lines: &mut Lines, group: &Group) {
    let mark = Mark::of(group.verdict());
    let mark = lines.paint.verdict(mark.verdict, &format!("{} {:<12}", mark.icon, mark.word));
    let times = if group.trials > 1 { format!("{} × ", count(group.trials)) } else { String::new() };
    let place = group.place();
    let room = lines.width.saturating_sub(19 + times.chars().count() + place.len());
    lines.line(&format!("  {mark} {times}{}, {place}", fit(&clean(&group.name), room)));
    lines.wrapped(INDENT, REASON_LINES, &clean(&group.reason()));
    if let Some(seen) = &group.seen {
        lines.wrapped(INDENT, REASON_LINES, seen);
    }
    if !group.shares.is_empty() {
        let shares = group.shares.iter().map(|(name, trials)| format!("{} {}", clean(name), count(*trials)));
        lines.wrapped(INDENT, REASON_LINES, &shares.collect::<Vec<_>>().join(", "));
    }
    let which = if group.trials > 1 { "first: " } else { "" };
    let which = format!("{which}repeat {}, trial {}", group.first.repeat + 1, clean(&group.first.trial_id));
    let which = lines.paint.dim(&fit(&which, lines.width - INDENT));
    lines.line(&format!("{}{which}", " ".repeat(INDENT)));
}
