//! Turns of the attempts that count. A turn whose words are not kept has its times alone.

use std::collections::BTreeMap;

use record::{Call, Role, Trial, Turn, trial::TurnLatency};

use super::table::time;
use crate::{
    Case, Facts, Played,
    value::{Value, json, name},
};

struct It<'a> {
    facts: &'a Facts,
    case: &'a Case,
    trial: &'a Trial,
    number: u32,
    turn: Option<&'a Turn>,
    took: Option<&'a TurnLatency>,
}

super::table::columns! { row(it: It<'_>);
    "run" Text "The run's id." it.facts.id.as_str();
    "trial" Int "The trial's place in the plan, from 0." it.trial.number;
    "case_id" Text "The case's id." &it.trial.case_id;
    "scenario" Text "The scenario's name." it.case.scenario.as_str();
    "persona" Text "The simulated user." it.case.persona.as_deref();
    "agent" Text "The agent under test." it.case.agent.as_str();
    "epoch" Int "The number of the attempt that counts." it.trial.epoch;
    "turn" Int "The turn in its trial, from 1." it.number;
    "step" Int "The step it belongs to, from 1." it.turn.map(|it| it.step);
    "speaker" Text "`scripted`, `simulated` or `program`." it.turn.map(|it| name(&it.speaker));
    "user_text" Text "The user's message; null if the words are not kept." it.turn.map(|it| it.user.as_str());
    "agent_text" Text "Everything that the agent said; null without an answer." it.turn.and_then(Turn::said).map(std::borrow::Cow::into_owned);
    "tool_calls" Json "Calls of tools: id, name, arguments, result." it.turn.map(|it| json(&it.tool_calls));
    "actions" Json "Actions that the agent reports." it.turn.map(|it| json(&it.actions));
    "user_state" Text "The state of the simulated user." it.turn.and_then(|it| it.simulated.as_ref()?.state.clone());
    "started_at" Time "When it began, by the worker's clock." began(it);
    "duration_micros" Int "From the message to the whole reply, without rate-limit waits." it.turn.map(|it| it.duration_micros);
    "response_micros" Int "From the moment it was due to the whole reply, with waits and repeated tries." it.took.and_then(|it| it.response_micros);
    "latency_micros" Int "The agent's own time for the whole reply; null if it did not answer." it.took.map(|it| it.total_micros);
    "ttft_micros" Int "To the first byte of content, of a streamed reply." it.took.and_then(|it| it.ttft_micros);
    "inter_token_micros" Int "The mean time between two pieces of a streamed reply." it.took.and_then(|it| it.inter_token_micros);
    "per_token_micros" Int "(last byte - first token) / (output tokens - 1) of a streamed reply." it.took.and_then(|it| it.per_token_micros);
    "wait_micros" Int "Rate-limit waits of the calls to the agent." it.took.map(|it| it.wait_micros);
    "model" Text "The model that answered, as its endpoint names it." agent_calls(it.turn).last().map(|call| call.model.as_str());
    "input_tokens" Int "Tokens that the agent's model read." it.turn.map(|_| sum(it.turn, |call| call.tokens.input));
    "output_tokens" Int "Tokens that the agent's model wrote." it.turn.map(|_| sum(it.turn, |call| call.tokens.output));
    "cost_nanos" Int "What the calls of all roles cost, in billionths of a dollar." it.turn.map(cost);
    "calls" Json "Every call: role, endpoint, model, times, tokens, cost." it.turn.map(|it| json(&it.calls));
}

/// Its turns in order: those with words, and those of which only the times are kept.
pub(crate) fn turns<'a>(
    facts: &'a Facts,
    case: &'a Case,
    played: &Played<'a>,
) -> impl Iterator<Item = Vec<Value>> + use<'a> {
    let trial = played.trial;
    let mut all: BTreeMap<u32, (Option<&Turn>, Option<&TurnLatency>)> = BTreeMap::new();
    for turn in played.turns {
        all.entry(turn.number).or_default().0 = Some(turn);
    }
    // Times of before the number was kept are those of the answered turns, in order.
    let mut answered = played.turns.iter().filter(|turn| turn.agent.is_some()).map(|turn| turn.number);
    for (took, place) in trial.latencies.iter().zip(1_u32..) {
        let next = answered.next();
        let number = if took.number > 0 { took.number } else { next.unwrap_or(place) };
        all.entry(number).or_default().1 = Some(took);
    }
    all.into_iter().map(move |(number, (turn, took))| row(&It { facts, case, trial, number, turn, took }))
}

fn began(it: &It<'_>) -> Option<i64> {
    let since = it.turn?.started_micros;
    Some(time(it.trial.began_at_ms)?.saturating_add(i64::try_from(since).unwrap_or(i64::MAX)))
}

fn agent_calls(turn: Option<&Turn>) -> impl DoubleEndedIterator<Item = &Call> {
    turn.map(|turn| turn.calls.as_slice()).unwrap_or_default().iter().filter(|call| call.role == Role::Agent)
}

fn sum(turn: Option<&Turn>, of: impl Fn(&Call) -> u64) -> u64 {
    agent_calls(turn).map(of).fold(0, u64::saturating_add)
}

fn cost(turn: &Turn) -> i64 {
    turn.calls.iter().filter_map(|call| call.cost).fold(0_i64, |sum, cost| sum.saturating_add(cost.0))
}
