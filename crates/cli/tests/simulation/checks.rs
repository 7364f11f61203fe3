//! What must hold after every script, whatever failed. The agent's own ledger is the witness.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use record::Role;

use crate::{
    provider::{ANSWER_NANOS, Asked, RETRY_AFTER},
    script::{Fault, Script},
    world::{self, Played},
};

/// Of the limit of calls, in any time.
const OVER: f64 = 1.02;

/// A worker stops this long after its last answered heartbeat.
const FENCED_WITHIN: Duration = Duration::from_secs(20);

type Check = fn(&Script, &Played, &Played) -> Result<(), String>;

/// By their names, which `cargo xtask mutants` prints.
const CHECKS: [(&str, Check); 11] = [
    ("every trial is there once", numbers),
    ("verdicts and words", verdicts),
    ("one worker an attempt", owners),
    ("one attempt at a time", attempts),
    ("the agent said it", words),
    ("calls are counted", calls),
    ("no batch is missing", batches),
    ("sums", sums),
    ("limit", limited),
    ("pause", paused),
    ("money", money),
];

/// `expected` is the same script without faults. An error begins with the name of the check.
pub(crate) fn check(script: &Script, played: &Played, expected: &Played) -> Result<(), String> {
    for (name, check) in CHECKS {
        check(script, played, expected).map_err(|violation| format!("{name}: {violation}"))?;
    }
    // The store is the only thing that may stop a run which nobody stops.
    let store_fails = script.faults.iter().any(|(_, fault)| matches!(fault, Fault::StoreErrors(_)));
    if played.seen.interruptions > 0 && !store_fails {
        return Err(format!("nothing interrupts: the run was interrupted {} times", played.seen.interruptions));
    }
    Ok(())
}

fn numbers(script: &Script, played: &Played, _: &Played) -> Result<(), String> {
    let numbers: Vec<u64> = played.seen.trials.iter().map(|(trial, _)| trial.number).collect();
    let all: Vec<u64> = (0..u64::from(script.repeats)).collect();
    if numbers == all { Ok(()) } else { Err(format!("the trials are {numbers:?}")) }
}

/// The same verdicts, words, judgments and tokens. No storm outlasts the tries of a call, so storms change nothing either.
fn verdicts(_: &Script, played: &Played, expected: &Played) -> Result<(), String> {
    for ((trial, view), (_, of_expected)) in played.seen.trials.iter().zip(&expected.seen.trials) {
        if view != of_expected {
            return Err(format!("trial {}: {view:#}\ninstead of {of_expected:#}", trial.number));
        }
    }
    Ok(())
}

/// No attempt had two workers.
fn owners(_: &Script, played: &Played, _: &Played) -> Result<(), String> {
    for ((trial, attempt), calls) in played.ledger.by_attempt() {
        let workers: BTreeSet<usize> = calls.iter().map(|call| call.worker).collect();
        if workers.len() > 1 {
            return Err(format!("workers {workers:?} played attempt {attempt} of {trial}"));
        }
    }
    Ok(())
}

/// Once an attempt has asked the agent something, no earlier attempt of its trial asks anything. A clock that jumps forward while
/// nobody is in charge ends sessions early, and their workers go on until they notice that nobody answers.
fn attempts(script: &Script, played: &Played, _: &Played) -> Result<(), String> {
    let jumped = |until: Duration| {
        script.faults.iter().any(|(at, fault)| {
            matches!(fault, Fault::ClockStep(millis) if *millis > 0) && (*at..*at + FENCED_WITHIN).contains(&until)
        })
    };
    let mut before: BTreeMap<String, (u32, Duration)> = BTreeMap::new();
    for ((trial, attempt), calls) in played.ledger.by_attempt() {
        let times = || calls.iter().map(|call| call.at);
        let (Some(first), Some(last)) = (times().min(), times().max()) else { continue };
        if let Some((earlier, until)) = before.get(&trial).filter(|(_, until)| *until > first && !jumped(*until)) {
            return Err(format!(
                "attempt {earlier} of {trial} went on until {until:?}, and {attempt} began at {first:?}"
            ));
        }
        before.insert(trial, (attempt, last));
    }
    Ok(())
}

/// What the winners say of the agent is what the agent answered to that attempt.
fn words(_: &Script, played: &Played, _: &Played) -> Result<(), String> {
    let asked = played.ledger.by_turn();
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

/// A winner names each of its calls, the refused ones too. All attempts together name no more calls than there were, but for one of
/// each lost attempt: a call that was given up is named, also if it still waited for its turn.
fn calls(script: &Script, played: &Played, _: &Played) -> Result<(), String> {
    let asked = played.ledger.by_attempt();
    let mut of_winners = 0;
    for (trial, _) in &played.seen.trials {
        let line = trial.spend.of(Role::Agent);
        of_winners += line.calls;
        let served = asked.get(&(trial.trial_id.to_string(), trial.epoch)).map_or(0, |calls| calls.len() as u64);
        if line.tries != served {
            return Err(format!("trial {} names {} calls, and the agent saw {served}", trial.number, line.tries));
        }
    }
    let answered = played.ledger.calls().iter().filter(|call| call.reply.is_some()).count() as u64;
    let named = played.seen.summary.summary.llm_calls.get(Role::Agent.name()).copied().unwrap_or(0);
    // A call that was refused for want of money is named, and was not made.
    let most = if script.budget { u64::MAX } else { answered + played.seen.summary.summary.attempts.lost };
    if !(of_winners..=most).contains(&named) {
        return Err(format!("{named} calls are named: {of_winners} of winners, and the agent answered {answered}"));
    }
    Ok(())
}

/// A worker numbers its batches, and sends each until it is acknowledged. So no coordinator ever misses one.
fn batches(_: &Script, played: &Played, _: &Played) -> Result<(), String> {
    match played.events.all().into_iter().find(|event| event.contains("was due")) {
        Some(event) => Err(event),
        None => Ok(()),
    }
}

fn sums(_: &Script, played: &Played, _: &Played) -> Result<(), String> {
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

fn limited(script: &Script, played: &Played, _: &Played) -> Result<(), String> {
    let Some(limit) = script.requests_per_minute else { return Ok(()) };
    let calls = played.ledger.calls();
    // In a short time, each worker may make a call that it saved up.
    let workers = script.workers.len() as f64;
    for (seconds, more) in [(1, workers), (10, workers), (60, 1.0)] {
        let in_time = |first: &Asked| {
            let end = first.at + Duration::from_secs(seconds);
            calls.iter().filter(|call| (first.at..end).contains(&call.at)).count()
        };
        let most = calls.iter().map(in_time).max().unwrap_or(0);
        if most as f64 > f64::from(limit) * seconds as f64 / 60.0 * OVER + more {
            return Err(format!("{most} calls in {seconds} s, and the limit is {limit} a minute"));
        }
    }
    Ok(())
}

/// After a 429 a worker waits as long as it says. A worker that was restarted meanwhile does not know of it.
fn paused(script: &Script, played: &Played, _: &Played) -> Result<(), String> {
    let starts_again = |worker: usize| {
        let of_it = |fault: &Fault| matches!(fault, Fault::KillWorker(of, _) | Fault::Drain(of, _) if *of == worker);
        script.faults.iter().any(|(_, fault)| of_it(fault))
    };
    let mut refusals: BTreeMap<usize, Duration> = BTreeMap::new();
    for call in played.ledger.calls() {
        let Asked { at, worker, .. } = call;
        if let Some(refused) = refusals.get(&worker).filter(|refused| **refused < at && at < **refused + RETRY_AFTER) {
            return Err(format!("worker {worker} got a 429 at {refused:?} and called at {at:?}"));
        }
        if call.reply.is_none() && !starts_again(worker) {
            refusals.insert(worker, at);
        }
    }
    Ok(())
}

/// By the coordinator's books, and by the agent's ledger while the first budget held.
fn money(script: &Script, played: &Played, _: &Played) -> Result<(), String> {
    let broke = played.seen.broke.as_ref();
    if script.budget {
        let until = broke.map_or(Duration::MAX, |(at, _)| *at);
        let calls = played.ledger.calls();
        let answered = calls.iter().filter(|call| call.reply.is_some() && call.at < until).count();
        let (cost, most) = (ANSWER_NANOS * answered as i64, world::budget(script));
        if cost > most {
            return Err(format!("the agent's {answered} answers cost {cost}, and the budget is {most}"));
        }
    }
    for summary in [Some(&played.seen.summary), broke.map(|(_, summary)| summary)].into_iter().flatten() {
        let Some(budget) = &summary.summary.budget else { continue };
        let taken = budget.spent_usd + budget.reserved_usd + budget.unsettled_usd;
        if taken > budget.max_cost_usd + 1e-9 {
            return Err(format!("more was spent than the budget: {budget:?}"));
        }
    }
    Ok(())
}
