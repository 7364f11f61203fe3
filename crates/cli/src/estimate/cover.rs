//! The combinations that `--cover` plays, in `--dry-run`.

use std::fmt::Write as _;

use record::count::{digits, plural};
use scenario::{Plan, plan::Cover};

/// Groups that are listed one by one.
const LISTED: usize = 20;

/// Empty if every combination is played.
pub(super) fn text(plan: &Plan) -> String {
    let mut text = String::new();
    let covered = plan.groups.iter().filter_map(|group| Some((&group.key, group.cover?)));
    for (key, cover) in covered.clone().take(LISTED) {
        let _ = writeln!(text, "{}: {}", report::clean(key), told(cover));
    }
    let more = covered.count().saturating_sub(LISTED) as u64;
    if more > 0 {
        let _ = writeln!(text, "… and {}", plural(more, "more scenario", "more scenarios"));
    }
    text
}

/// `12 of 81 combinations cover every pair`.
fn told(Cover { strength, played, of }: Cover) -> String {
    let what = match strength {
        1 => "every value",
        2 => "every pair",
        _ => "every triple",
    };
    format!("{} of {} combinations cover {what}", digits(played), digits(of))
}
