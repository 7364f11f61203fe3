//! `trials.jsonl`: one line for each trial, with its verdict and figures, without messages.

use std::collections::BTreeMap;

use record::{
    Blame, FailureKind, Judgment, Role, Stop, Tokens, Trial, Verdict, battery::Examined, compact_json,
    trial::TurnLatency, user_fault::UserConduct, visible,
};
use scenario::{CaseId, Strategy, TrialId};
use serde::Serialize;

use crate::form::{Form, Make};

pub const FORM: Form = Form {
    name: "trials",
    about: "One line for each trial",
    file: Some("trials.jsonl"),
    make: Make::Lines(|played| Some(line(played.trial))),
};

/// The size of a line without judgments, and of a judgment. A good guess saves copies.
const FRAME_BYTES: usize = 1024;
const JUDGMENT_BYTES: usize = 256;

/// A line of JSON with its line end.
#[must_use]
pub fn line(trial: &Trial) -> String {
    let failure = trial.failure.as_ref();
    let line = Line {
        trial_id: &trial.trial_id,
        case_id: &trial.case_id,
        number: trial.number,
        repeat: trial.repeat,
        epoch: trial.epoch,
        seed: trial.seed,
        verdict: trial.verdict,
        failure_kind: failure.map(|failure| failure.kind),
        blame: failure.map(|failure| failure.blame),
        failure_message: failure.map(|failure| failure.message.as_str()),
        failure_step: failure.and_then(|failure| failure.step),
        failure_turn: failure.and_then(|failure| failure.turn),
        strategy: trial.strategy,
        termination_reason: trial.termination_reason.as_deref(),
        stop: trial.stop.as_ref(),
        conversations: trial.conversations,
        turns: trial.turns,
        duration_ms: trial.duration_ms,
        response_micros: times(trial, |turn| Some(turn.response())),
        ttft_micros: times(trial, |turn| turn.ttft_micros),
        unanswered: trial.unanswered,
        llm_calls: by_role(|role| trial.spend.of(role).calls),
        tokens: by_role(|role| trial.spend.of(role).tokens),
        cost_usd: trial.spend.cost().dollars(),
        unpriced_calls: trial.spend.unpriced_calls(),
        estimated_calls: trial.spend.estimated_calls(),
        past_failures: trial.past.failed,
        past_breaks: trial.past.broken,
        judgments: &trial.judgments,
        user: trial.user.as_deref(),
        examined: trial.examined.as_deref(),
    };
    let mut text = Vec::with_capacity(FRAME_BYTES + trial.judgments.len() * JUDGMENT_BYTES);
    compact_json::append(&line, &mut text).expect("a trial's line has only string keys");
    text.push(b'\n');
    visible::json_owned(String::from_utf8(text).expect("JSON is UTF-8"))
}

#[derive(Serialize)]
struct Line<'a> {
    trial_id: &'a TrialId,
    case_id: &'a CaseId,
    number: u64,
    repeat: u32,
    epoch: u32,
    seed: u64,
    verdict: Verdict,
    failure_kind: Option<FailureKind>,
    blame: Option<Blame>,
    failure_message: Option<&'a str>,
    failure_step: Option<u32>,
    failure_turn: Option<u32>,
    strategy: Strategy,
    termination_reason: Option<&'a str>,
    /// Who ended the last conversation with a simulated user, how, and after which turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<&'a Stop>,
    conversations: u32,
    turns: u32,
    duration_ms: u64,
    /// Response times of the turns that the agent answered.
    response_micros: Vec<u64>,
    /// Of those whose answer was streamed.
    ttft_micros: Vec<u64>,
    /// Turns in which the agent gave no answer.
    unanswered: u32,
    llm_calls: BTreeMap<&'static str, u64>,
    tokens: BTreeMap<&'static str, Tokens>,
    /// A lower bound if `unpriced_calls` is not 0.
    cost_usd: f64,
    unpriced_calls: u64,
    /// Calls whose tokens are estimated, and so their cost.
    estimated_calls: u64,
    /// Earlier attempts that failed and were played again on request. The trial counts as failed.
    past_failures: u32,
    /// Earlier attempts that our side broke.
    past_breaks: u32,
    judgments: &'a [Judgment],
    /// The conduct of the simulated user.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a UserConduct>,
    /// Of quality batteries.
    #[serde(skip_serializing_if = "Option::is_none")]
    examined: Option<&'a Examined>,
}

fn times(trial: &Trial, of: impl Fn(&TurnLatency) -> Option<u64>) -> Vec<u64> {
    trial.latencies.iter().filter_map(of).collect()
}

fn by_role<T>(of: impl Fn(Role) -> T) -> BTreeMap<&'static str, T> {
    Role::ALL.into_iter().map(|role| (role.name(), of(role))).collect()
}
