//! Each requirement's share of passed replies, and how it falls with the level of error.

use record::{
    Finding, Judgment, Jury, Scope,
    battery::{Histogram, Total, count},
};
use scenario::battery::{LEVELS, Requirement};
use serde_json::json;

use super::{conversation::Conversation, row::Row};
use crate::judge_pool::{JudgePool, objection_to_scores};

/// One judgment for each requirement that some reply was examined for.
pub(super) fn judgments(conversation: &Conversation<'_>, rows: &[Row], pool: &dyn JudgePool) -> Vec<Judgment> {
    let requirements = conversation.battery.requirements().into_iter();
    requirements.filter_map(|requirement| judgment(conversation, requirement, rows, pool)).collect()
}

fn judgment(
    conversation: &Conversation<'_>,
    requirement: Requirement,
    rows: &[Row],
    pool: &dyn JudgePool,
) -> Option<Judgment> {
    let mut total: Total = [0, 0];
    let mut levels: Histogram = [[0, 0]; LEVELS];
    let mut undecided: Vec<&Row> = Vec::new();
    let (mut judged, mut words) = (None, 0_u32);
    for row in rows.iter().filter(|row| row.cell.requirement == requirement && row.cell.counted) {
        count(&mut total, row.finding);
        judged = judged.or_else(|| objection_to_scores(pool, &row.ballots));
        words = words.saturating_add(conversation.words(row.turn));
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
    // Replies without a score matter only if they could make the difference.
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
    // A judge that fails counts, measured or not.
    let uncalibrated = judged.filter(|_| failure.is_none()).map(String::from);
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
        required: uncalibrated.is_none(),
        weight: 1.0,
        ballots: Vec::new(),
        jury: uncalibrated.map(|reason| Jury { words, uncalibrated: Some(reason) }),
        custom: None,
    })
}
