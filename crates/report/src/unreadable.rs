//! Describes trials whose record or transcript cannot be read back.

use record::Summary;

use crate::figures::plural;

/// One line for all, then one for each of the first `most` trials; none if all can be read.
pub(crate) fn lines(summary: &Summary, most: usize) -> Vec<String> {
    let unreadable = &summary.unreadable;
    let mut lines = Vec::new();
    if unreadable.records > 0 {
        let records = plural(unreadable.records, "trial has a record", "trials have records");
        lines.push(format!("{records} that cannot be read: `gabfest resume` plays the lost trials again"));
    }
    if unreadable.transcripts > 0 {
        let transcripts =
            plural(unreadable.transcripts, "trial counts and has a transcript", "trials count and have transcripts");
        lines.push(format!("{transcripts} that cannot be read"));
    }
    for trial in unreadable.trials.iter().take(most) {
        let case = summary.cases.iter().find(|case| case.id == trial.case_id);
        let name = case.map_or(trial.case_id.as_str(), |case| &case.title);
        lines.push(format!("trial {} ({name}, repeat {}): {}", trial.number, trial.repeat + 1, trial.reason));
    }
    let listed = unreadable.trials.len().min(most) as u64;
    let left_out = (unreadable.records + unreadable.transcripts).saturating_sub(listed);
    if left_out > 0 && listed > 0 {
        lines.push(format!("and {}", plural(left_out, "more", "more")));
    }
    lines
}
