//! The part of a run that does not depend on how it was played: equal for any number of workers, kills and restarts.

use serde_json::{Value, json};

use crate::{Role, Trial};

/// Cases, verdicts, judgments, turns and winning tokens of a trial; no times, attempts or money of lost attempts.
#[must_use]
pub fn verdict_view(trial: &Trial) -> Value {
    let tokens: serde_json::Map<String, Value> =
        Role::ALL.iter().map(|role| (role.name().to_owned(), json!(trial.spend.of(*role).tokens))).collect();
    let judgments: Vec<Value> = trial
        .judgments
        .iter()
        .map(|judgment| {
            json!({
                "check": judgment.check, "scope": judgment.scope, "finding": judgment.finding,
                "score": judgment.score, "failure": judgment.failure,
            })
        })
        .collect();
    json!({
        "trial": trial.number, "trial_id": trial.trial_id, "case_id": trial.case_id, "repeat": trial.repeat,
        "seed": trial.seed, "verdict": trial.verdict,
        "failure_kind": trial.failure.as_ref().map(|failure| failure.kind),
        "blame": trial.failure.as_ref().map(|failure| failure.blame),
        "termination_reason": trial.termination_reason, "turns": trial.turns,
        "tokens": tokens, "judgments": judgments,
    })
}
