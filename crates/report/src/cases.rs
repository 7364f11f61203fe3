//! The cases of a summary by number, and how a person calls one.

use record::{Summary, summary::CaseSummary};

pub(crate) fn find(summary: &Summary, number: u64) -> Option<&CaseSummary> {
    // Where it stands in a whole plan; a filter may leave some cases out.
    let there = usize::try_from(number).ok().and_then(|index| summary.cases.get(index));
    there.filter(|case| case.number == number).or_else(|| summary.cases.iter().find(|case| case.number == number))
}

/// What a case without a persona is listed under.
pub(crate) fn persona(case: &CaseSummary) -> &str {
    case.persona.as_deref().unwrap_or("–")
}

/// `refund / combo-000-59fc3c / impatient`.
pub(crate) fn name(case: &CaseSummary) -> String {
    let parts = [Some(case.scenario.as_str()), case.combination.as_deref(), case.persona.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" / ")
}

/// [`name`] and the agent: what tells a case from all others of its run.
pub(crate) fn full_name(case: &CaseSummary) -> String {
    format!("{} @ {}", name(case), case.agent)
}
