//! What must hold after every script, whatever failed. The agent's own ledger is the witness.

use std::collections::{BTreeMap, BTreeSet};

use record::{Blame, Verdict};

use crate::{provider::Asked, script::Script, world::Played};

/// Of the limit of calls, in any minute.
const OVER: f64 = 1.02;

/// `expected` is the same script without faults.
pub(crate) fn check(script: &Script, played: &Played, expected: &Played) -> Result<(), String> {
    let trials = &played.seen.trials;
    // Every trial, once.
    let numbers: Vec<u64> = trials.iter().map(|(trial, _)| trial.number).collect();
    let all: Vec<u64> = (0..u64::from(script.repeats)).collect();
    if numbers != all {
        return Err(format!("the trials are {numbers:?}"));
    }
    // The same verdicts, words, judgments and tokens, unless the storm outlasted all tries.
    let storms = script.faults.iter().any(|(_, fault)| fault.kind() == "storm");
    for ((trial, view), (_, of_expected)) in trials.iter().zip(&expected.seen.trials) {
        let is_throttled = storms
            && trial.verdict == Verdict::Error
            && trial.failure.as_ref().is_some_and(|failure| failure.blame != Blame::Agent);
        if view != of_expected && !is_throttled {
            return Err(format!("trial {}: {view:#}\ninstead of {of_expected:#}", trial.number));
        }
    }
    ledger(played)?;
    sums(played)?;
    if let Some(limit) = script.requests_per_minute {
        limited(limit, &played.ledger.calls())?;
    }
    money(played)
}

/// What the winners say of the agent is what the agent answered to that attempt, and no attempt had two workers.
fn ledger(played: &Played) -> Result<(), String> {
    let asked = played.ledger.by_turn();
    let mut players: BTreeMap<(&str, u32), BTreeSet<usize>> = BTreeMap::new();
    for ((trial, attempt, _), calls) in &asked {
        players.entry((trial, *attempt)).or_default().extend(calls.iter().map(|call| call.worker));
    }
    for ((trial, attempt), workers) in players {
        if workers.len() > 1 {
            return Err(format!("workers {workers:?} played attempt {attempt} of {trial}"));
        }
    }
    for (trial, view) in &played.seen.trials {
        for word in view["words"].as_array().into_iter().flatten() {
            let turn = word[0].as_u64().unwrap_or_default() as u32;
            let said = word[2]["text"].as_str().or_else(|| word[2].as_str()).unwrap_or_default();
            let key = (trial.trial_id.to_string(), trial.epoch, turn);
            let answered = |call: &Asked| call.reply.as_deref() == Some(said);
            if !said.is_empty() && !asked.get(&key).is_some_and(|calls| calls.iter().any(answered)) {
                return Err(format!("the agent never said {said:?} in {key:?}"));
            }
        }
    }
    Ok(())
}

fn sums(played: &Played) -> Result<(), String> {
    let totals = &played.seen.summary.summary;
    let trials = played.seen.trials.len() as u64;
    let found = [
        totals.trials.pass,
        totals.trials.fail,
        totals.trials.inconclusive,
        totals.trials.error,
        totals.trials.skipped,
        totals.trials.cancelled,
    ];
    if found.iter().sum::<u64>() != trials {
        return Err(format!("{found:?} do not add up to {trials}"));
    }
    if totals.attempts.total != trials + totals.attempts.lost + totals.attempts.replayed {
        return Err(format!("{:?} do not add up with {trials} trials", totals.attempts));
    }
    Ok(())
}

fn limited(limit: u32, calls: &[Asked]) -> Result<(), String> {
    let most = calls
        .iter()
        .map(|first| {
            let end = first.at + std::time::Duration::from_secs(60);
            calls.iter().filter(|call| (first.at..end).contains(&call.at)).count()
        })
        .max();
    let most = most.unwrap_or(0);
    if most as f64 > f64::from(limit) * OVER + 1.0 {
        return Err(format!("{most} calls in a minute, and the limit is {limit}"));
    }
    Ok(())
}

fn money(played: &Played) -> Result<(), String> {
    for summary in [Some(&played.seen.summary), played.seen.broke.as_ref()].into_iter().flatten() {
        let Some(budget) = &summary.summary.budget else { continue };
        let taken = budget.spent_usd + budget.reserved_usd + budget.unsettled_usd;
        if taken > budget.max_cost_usd + 1e-9 {
            return Err(format!("more was spent than the budget: {budget:?}"));
        }
    }
    Ok(())
}
