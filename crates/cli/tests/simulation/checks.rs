//! What must hold after every script, whatever failed. The agent's own ledger is the witness.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use invariants::{Findings, Known, Ledger, Limit, Run, Served};
use record::Role;

use crate::{
    provider::{ANSWER_NANOS, Asked, RETRY_AFTER},
    script::{Fault, Script},
    world::{self, Played},
};

/// A worker stops this long after its last answered heartbeat.
const FENCED_WITHIN: Duration = Duration::from_secs(20);

type Check = fn(&Script, &Played, &Played) -> Result<(), String>;

/// Beyond the invariants that all harnesses share, by their names, which `cargo xtask mutants` prints.
const CHECKS: [(&str, Check); 6] = [
    ("verdicts and words", verdicts),
    ("one worker an attempt", owners),
    ("calls are counted", calls),
    ("no batch is missing", batches),
    ("pause", paused),
    ("money", money),
];

/// `expected` is the same script without faults. An error begins with the name of the check.
pub(crate) fn check(script: &Script, played: &Played, expected: &Played) -> Result<(), String> {
    if let Some(broken) = findings(script, played).broken().next() {
        return Err(broken);
    }
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

/// What all harnesses look at, with the agent's ledger as the witness.
fn findings(script: &Script, played: &Played) -> Findings {
    let run = Run {
        planned: script.repeats.into(),
        report: serde_json::to_value(&played.seen.summary).unwrap(),
        trials: played.seen.lines.clone(),
        transcripts: played.seen.transcripts.clone(),
    };
    let served = |call: Asked| Served {
        at: call.at,
        role: "agent".to_owned(),
        trial: call.trial,
        attempt: call.attempt,
        turn: call.turn,
        cost_nanos: if call.reply.is_some() { ANSWER_NANOS } else { 0 },
        said: call.reply,
    };
    let ledger = Ledger(played.ledger.calls().into_iter().map(served).collect());
    // A clock that jumps forward while nobody is in charge ends sessions early, and their workers go on until they notice that
    // nobody answers.
    let jumped = |until: Duration| {
        script.faults.iter().any(|(at, fault)| {
            matches!(fault, Fault::ClockStep(millis) if *millis > 0) && (*at..*at + FENCED_WITHIN).contains(&until)
        })
    };
    let workers = u32::try_from(script.workers.len()).unwrap_or(u32::MAX);
    let late = Duration::ZERO;
    let limit = script.requests_per_minute.map(|requests_per_minute| Limit { requests_per_minute, workers, late });
    let mut findings = Findings::default();
    // Any fault may come between a worker and its coordinator.
    let unheard = u64::from(script.workers.iter().sum::<u32>()) * script.faults.len() as u64;
    findings.look(&run, Some(&ledger), &Known { limit, unheard, excuses: Some(&jumped) });
    findings
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

/// The spending of a winner counts each of its calls, the refused ones too.
fn calls(_: &Script, played: &Played, _: &Played) -> Result<(), String> {
    let asked = played.ledger.by_attempt();
    for (trial, _) in &played.seen.trials {
        let tries = trial.spend.of(Role::Agent).tries;
        let served = asked.get(&(trial.trial_id.to_string(), trial.epoch)).map_or(0, |calls| calls.len() as u64);
        if tries != served {
            return Err(format!("trial {} names {tries} calls, and the agent saw {served}", trial.number));
        }
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
