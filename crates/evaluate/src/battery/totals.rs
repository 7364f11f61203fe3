//! Each requirement's share of passed replies, and how it falls with the level of error.

use record::{
    Finding, Judgment, Scope,
    battery::{Histogram, Total, count},
};
use scenario::battery::{LEVELS, Requirement};
use serde_json::json;

use super::{conversation::Conversation, row::Row};

/// One judgment for each requirement that some reply was examined for.
pub(super) fn judgments(conversation: &Conversation<'_>, rows: &[Row]) -> Vec<Judgment> {
    let requirements = conversation.battery.requirements().into_iter();
    requirements.filter_map(|requirement| judgment(conversation, requirement, rows)).collect()
}

fn judgment(conversation: &Conversation<'_>, requirement: Requirement, rows: &[Row]) -> Option<Judgment> {
    let mut total: Total = [0, 0];
    let mut levels: Histogram = [[0, 0]; LEVELS];
    let mut undecided: Vec<&Row> = Vec::new();
    for row in rows.iter().filter(|row| row.cell.requirement == requirement && row.cell.counted) {
        count(&mut total, row.finding);
        if let Some(values) = row.cell.values {
            count(&mut levels[values.level()], row.finding);
        }
        if matches!(row.finding, Finding::Error | Finding::Inconclusive) {
            undecided.push(row);
        }
    }
    let [passed, counted] = total;
    let all = counted + undecided.len() as u64;
    if all == 0 {
        return None;
    }
    let required = conversation.battery.required(requirement);
    let holds = |passed: u64| passed as f64 >= required * all as f64 - 1e-9;
    // What could not be scored decides only where it could make the difference.
    let (finding, failure) = if holds(passed) {
        (Finding::Pass, None)
    } else if !holds(passed + undecided.len() as u64) {
        (Finding::Fail, None)
    } else {
        let worst = undecided.iter().find(|row| row.finding == Finding::Error).or(undecided.first());
        worst.map_or((Finding::Fail, None), |row| (row.finding, row.failure))
    };
    let mut reason = format!("{passed} of {counted} passed, at least {:.0}% must", required * 100.0);
    if !undecided.is_empty() {
        reason.push_str(&format!("; {} could not be scored", undecided.len()));
    }
    let mut evidence = None;
    if requirement.garbles() {
        let bars = levels.iter().enumerate().filter(|(_, [_, counted])| *counted > 0);
        let bars: Vec<String> = bars.map(|(level, [passed, counted])| format!("{level}: {passed}/{counted}")).collect();
        if !bars.is_empty() {
            reason.push_str(&format!("; by level of error {}", bars.join(", ")));
        }
        evidence = Some(json!({ "levels": levels }).to_string());
    }
    Some(Judgment {
        check: requirement.id().to_owned(),
        name: None,
        description: Some(requirement.title().to_owned()),
        scope: Scope::Step { step: conversation.step },
        finding,
        score: (counted > 0).then(|| passed as f64 / counted as f64),
        reason,
        evidence,
        failure,
        line: 0,
        required: true,
        weight: 1.0,
        ballots: Vec::new(),
        jury: None,
    })
}
