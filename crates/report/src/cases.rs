//! The cases of a summary by number, and how a person calls one.

use record::{Summary, summary::CaseSummary};

pub(crate) fn find(summary: &Summary, number: u64) -> Option<&CaseSummary> {
    // Its place in a plan without filters. With a filter, some cases are missing before it.
    let there = usize::try_from(number).ok().and_then(|index| summary.cases.get(index));
    there.filter(|case| case.number == number).or_else(|| summary.cases.iter().find(|case| case.number == number))
}

/// The heading of cases without a persona.
pub(crate) fn persona(case: &CaseSummary) -> &str {
    case.persona.as_deref().unwrap_or("–")
}

/// The scenario, with its file if another file has a scenario of the same name.
pub(crate) fn scenario(case: &CaseSummary) -> &str {
    // Summaries of versions before 0.2 have no title.
    if case.title.is_empty() { &case.scenario } else { &case.title }
}

/// What distinguishes a case from others of its scenario and persona: its question, or its combination.
pub(crate) fn variant(case: &CaseSummary) -> Option<&str> {
    case.variant.as_deref().or(case.combination.as_deref())
}

/// The scenario, of a knowledge base with the question that was asked.
pub(crate) fn asked(case: &CaseSummary) -> String {
    if case.variant.is_some() { name_but_persona(case) } else { scenario(case).to_owned() }
}

/// `refund / combo-000-59fc3c`.
pub(crate) fn name_but_persona(case: &CaseSummary) -> String {
    match variant(case).filter(|variant| *variant != scenario(case)) {
        Some(variant) => format!("{} / {variant}", scenario(case)),
        None => scenario(case).to_owned(),
    }
}

/// `refund / combo-000-59fc3c / impatient`.
pub(crate) fn name(case: &CaseSummary) -> String {
    let name = name_but_persona(case);
    case.persona.as_ref().map_or_else(|| name.clone(), |persona| format!("{name} / {persona}"))
}

pub(crate) fn several_agents(cases: &[CaseSummary]) -> bool {
    cases.windows(2).any(|pair| pair[0].agent != pair[1].agent)
}

/// [`name`] and the agent, which identify a case within its run.
pub(crate) fn full_name(case: &CaseSummary) -> String {
    format!("{} @ {}", name(case), case.agent)
}
