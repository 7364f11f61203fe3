//! I4, I7 and I12: what the agent's own ledger says of the transcripts and of the attempts.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use crate::{Ledger, Run, Served, number, some};

/// I4: in that attempt and that turn, the agent answered what the transcript says.
#[must_use]
pub fn words(run: &Run, ledger: &Ledger) -> Vec<String> {
    let winners = winners(run);
    let mut served: BTreeSet<(&str, u32, u32, &str)> = BTreeSet::new();
    for call in ledger.of_agent() {
        if let Some(said) = &call.said {
            served.insert((&call.trial, call.attempt, call.turn, said));
        }
    }
    let mut unsaid = Vec::new();
    for line in &run.transcripts {
        let trial = line["trial_id"].as_str().unwrap_or_default();
        let attempt = winners.get(trial).copied().unwrap_or_default();
        for turn in line["turns"].as_array().into_iter().flatten() {
            let (Some(number), Some(said)) = (turn["number"].as_u64(), said(turn)) else { continue };
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            if !served.contains(&(trial, attempt, number, said)) {
                unsaid.push(format!("{said:?} in turn {number} of attempt {attempt} of {trial}"));
            }
        }
    }
    match unsaid.as_slice() {
        [] => Vec::new(),
        [one] => vec![format!("the agent never said {one}")],
        several => vec![format!("the agent never said {} replies: {}", several.len(), some(several))],
    }
}

/// I7: a winner names each of its calls, no attempt follows it, and each earlier attempt that the agent saw is one that the report
/// counts. `unheard`: so many may have begun without the coordinator's knowledge, because their workers were killed or cut off.
#[must_use]
pub fn calls(run: &Run, ledger: &Ledger, unheard: u64) -> Vec<String> {
    let winners = winners(run);
    let asked = ledger.by_attempt();
    let mut broken = Vec::new();
    for line in &run.transcripts {
        let trial = line["trial_id"].as_str().unwrap_or_default();
        let Some(attempt) = winners.get(trial) else { continue };
        let served = asked.get(&(trial, *attempt)).map_or(0, |calls| calls.len() as u64);
        let named = tries(line);
        if named != served {
            broken.push(format!("{trial} names {named} calls, and the agent saw {served}"));
        }
    }
    let others: Vec<String> = asked
        .keys()
        .filter(|(trial, attempt)| winners.get(trial) != Some(attempt))
        .map(|(trial, attempt)| format!("attempt {attempt} of {trial}"))
        .collect();
    let counted = counted_others(run);
    if others.len() as u64 > counted.saturating_add(unheard) {
        broken.push(format!(
            "the agent saw {} attempts that did not win; the report counts {counted}, and {unheard} may be unknown: {}",
            others.len(),
            some(&others)
        ));
    }
    let late: Vec<String> = asked
        .keys()
        .filter(|(trial, attempt)| winners.get(trial).is_some_and(|winner| winner < attempt))
        .map(|(trial, attempt)| format!("attempt {attempt} of {trial}"))
        .collect();
    if !late.is_empty() {
        broken.push(format!("the agent saw attempts after the one that won: {}", some(&late)));
    }
    let strangers: Vec<&str> =
        asked.keys().map(|(trial, _)| *trial).filter(|trial| !winners.contains_key(trial)).collect();
    if !strangers.is_empty() {
        broken.push(format!("the agent was asked by trials that the report does not have: {}", some(&strangers)));
    }
    let named = number(run, "/llm_calls/agent");
    let all: u64 = asked.values().map(|calls| answered(calls)).sum();
    // A call that was given up is named, also if it still waited for its turn: one of each lost attempt. With a budget, a call may
    // have been refused before it was made.
    let has_budget = !run.report["summary"]["budget"].is_null();
    if !has_budget && named > all.saturating_add(counted) {
        broken.push(format!("the report names {named} calls, and the agent answered {all}"));
    }
    broken
}

/// I12: once an attempt has asked the agent something, no earlier attempt of its trial asks anything. `excused`: what happened at
/// that time allows it.
#[must_use]
pub fn owners(ledger: &Ledger, excused: impl Fn(Duration) -> bool) -> Vec<String> {
    let mut before: BTreeMap<&str, (u32, Duration)> = BTreeMap::new();
    let mut broken = Vec::new();
    for ((trial, attempt), calls) in ledger.by_attempt() {
        let times = || calls.iter().map(|call| call.at);
        let (Some(first), Some(last)) = (times().min(), times().max()) else { continue };
        if let Some((earlier, until)) = before.get(trial).filter(|(_, until)| *until > first && !excused(*until)) {
            broken.push(format!(
                "attempt {earlier} of {trial} went on until {until:?}, and {attempt} began at {first:?}"
            ));
        }
        let (_, until) = before.get(trial).copied().unwrap_or_default();
        before.insert(trial, (attempt, last.max(until)));
    }
    broken
}

/// The attempts that the report counts and that did not win; 0 if it has no such figure.
fn counted_others(run: &Run) -> u64 {
    let figures = ["/attempts/lost", "/attempts/replayed"].map(|pointer| number(run, pointer));
    figures.into_iter().filter(|figure| *figure != u64::MAX).sum()
}

/// The attempt of each trial that counts.
fn winners(run: &Run) -> BTreeMap<&str, u32> {
    let winner = |line: &'_ Value| Some(u32::try_from(line["epoch"].as_u64()?).unwrap_or(u32::MAX));
    run.trials.iter().filter_map(|line| Some((line["trial_id"].as_str()?, winner(line)?))).collect()
}

/// The calls of the agent in a transcript, repeated ones too.
fn tries(transcript: &Value) -> u64 {
    let turns = transcript["turns"].as_array().into_iter().flatten();
    let calls = turns.flat_map(|turn| turn["calls"].as_array().into_iter().flatten());
    calls.filter(|call| call["role"] == "agent").filter_map(|call| call["tries"].as_u64()).sum()
}

/// What the agent said last in a turn.
fn said(turn: &Value) -> Option<&str> {
    turn["agent"].as_str().filter(|said| !said.is_empty())
}

fn answered(calls: &[&Served]) -> u64 {
    calls.iter().filter(|call| call.said.is_some()).count() as u64
}
