//! Faults of a simulated user's states beyond their types.

use std::collections::BTreeSet;

use regex::Regex;
use scenario::{
    check::wording,
    user::{Extras, Named, State, When},
};
use yaml::{Findings, Part, suggest};

/// `part`: the mapping `gabfest` of the user.
pub(super) fn check(part: &Part<'_>, extras: &Extras, findings: &mut Findings) {
    let Some(written) = part.get("states") else { return };
    let entries = written.entries();
    for ((name, state), (_, place)) in extras.states.iter().zip(&entries) {
        check_state(name, state, extras, place, findings);
    }
    let ways = ways(&extras.states);
    let reached = closure(&[0], &ways);
    let back: Vec<Vec<usize>> =
        (0..ways.len()).map(|place| (0..ways.len()).filter(|from| ways[*from].contains(&place)).collect()).collect();
    let ends: Vec<usize> =
        extras.states.iter().enumerate().filter(|(_, (_, state))| state.can_end()).map(|(place, _)| place).collect();
    let can_end = closure(&ends, &back);
    for (place, (name, _)) in extras.states.iter().enumerate() {
        if !reached.contains(&place) {
            findings.error(written.key_spot(name), format!("nothing leads to the state `{name}`"));
            findings.help("the conversation begins in the first state; name this one in `next` of another");
        } else if !can_end.contains(&place) {
            findings.error(written.key_spot(name), format!("no end can be reached from the state `{name}`"));
            findings.help("write `end: done` or `max_visits` in a state that `next` leads to");
        }
    }
}

fn check_state(name: &str, state: &State, extras: &Extras, place: &Part<'_>, findings: &mut Findings) {
    if state.say.is_some() && state.verbatim.is_some() {
        findings.error(place.key_spot("verbatim"), "`verbatim` excludes `say`");
    }
    if !state.speaks() && state.end.is_none() {
        findings.error(place.spot(), format!("the state `{name}` says nothing and ends nothing"));
        findings.help("write `say`, `verbatim` or `end`");
    }
    if state.end.is_some() && !state.next.is_empty() {
        findings.error(place.key_spot("next"), "`next` has no effect beside `end`");
    }
    for (exit, written) in state.next.iter().zip(place.items_of("next")) {
        if extras.states.get(&exit.go).is_none() {
            findings.error(written.spot_of("go"), format!("there is no state `{}`", exit.go));
            findings.help(suggest::known_names(&exit.go, extras.states.iter().map(|(name, _)| name)));
        }
        if let (Some(when), Some(condition)) = (&exit.when, written.get("if")) {
            check_condition(when, extras, &condition, findings);
        }
    }
}

fn check_condition(when: &When, extras: &Extras, place: &Part<'_>, findings: &mut Findings) {
    if *when == When::default() {
        findings.error(place.spot(), "the condition is empty");
        findings.help("known: agent_matches, tool, after_turns, fact_told, ask; without `if`, the exit always applies");
    }
    if when.tool.is_none() && !when.arguments.is_empty() {
        findings.error(place.key_spot("arguments"), "`arguments` belongs to `tool`");
    }
    if let Some(Err(error)) = when.agent_matches.as_deref().map(Regex::new) {
        let error = error.to_string();
        let last = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        findings.error(place.spot_of("agent_matches"), format!("the pattern does not compile: {last}"));
    }
    if let Some(question) = &when.ask {
        wording::check_question("`ask`", question, place.spot_of("ask"), findings);
    }
    // A persona may use the facts of its scenario.
    if let Some(fact) =
        when.fact_told.as_deref().filter(|fact| !extras.facts.is_empty() && extras.facts.get(fact).is_none())
    {
        findings.error(place.spot_of("fact_told"), format!("there is no fact `{fact}`"));
        findings.help(suggest::known_names(fact, extras.facts.iter().map(|(name, _)| name)));
    }
}

/// For each state, the places of the states that it leads to.
fn ways(states: &Named<State>) -> Vec<Vec<usize>> {
    let next = |state: &State| state.next.iter().filter_map(|exit| states.position(&exit.go)).collect();
    states.iter().map(|(_, state)| next(state)).collect()
}

/// All places that can be reached from these.
fn closure(from: &[usize], ways: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = from.to_vec();
    while let Some(place) = open.pop() {
        if found.insert(place) {
            open.extend(ways.get(place).into_iter().flatten());
        }
    }
    found
}
