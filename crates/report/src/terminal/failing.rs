//! What did not pass, alike failures together: how often, of whom, why, and which trial to look at first.

use record::Summary;

use super::{Page, clean, fit, verdict_icon};
use crate::{
    failures::{Failures, Group},
    figures::count,
};

const SHOWN: usize = 10;
const INDENT: usize = 6;
const REASON_LINES: usize = 3;

impl Page {
    pub(super) fn failing(&mut self, summary: &Summary, failures: &Failures) {
        let groups = failures.groups(summary);
        if groups.is_empty() {
            return;
        }
        self.heading("Conversations that did not pass");
        for group in groups.iter().take(SHOWN) {
            self.group(group);
        }
        let totals = summary.summary.trials;
        let shown: u64 = groups.iter().take(SHOWN).map(|group| group.trials).sum();
        let more = (totals.fail + totals.error + totals.inconclusive + totals.skipped).saturating_sub(shown);
        if more > 0 {
            let more = self.paint.dim(&format!("  … and {} more in the report", count(more)));
            self.line(&more);
        }
    }

    fn group(&mut self, group: &Group) {
        let mark = format!("{} {:<12}", verdict_icon(group.verdict()), group.verdict().name());
        let mark = self.paint.verdict(group.verdict(), &mark);
        let times = if group.trials > 1 { format!("{} × ", count(group.trials)) } else { String::new() };
        let place = group.place();
        let room = self.width.saturating_sub(19 + times.chars().count() + place.len());
        self.line(&format!("  {mark} {times}{}, {place}", fit(&clean(&group.name), room)));
        self.wrapped(INDENT, REASON_LINES, &clean(&group.reason()));
        if !group.shares.is_empty() {
            let shares: Vec<String> =
                group.shares.iter().map(|(name, trials)| format!("{} {}", clean(name), count(*trials))).collect();
            self.wrapped(INDENT, REASON_LINES, &shares.join(", "));
        }
        let which = if group.trials > 1 { "first: " } else { "" };
        let which = format!("{which}repeat {}, trial {}", group.first.repeat, clean(&group.first.trial_id));
        let which = self.paint.dim(&fit(&which, self.width - INDENT));
        self.line(&format!("{}{which}", " ".repeat(INDENT)));
    }
}
