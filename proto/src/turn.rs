//! Turns on the wire and in stored segments.

use bytes::Bytes;
use prost::Message as _;
use record::{
    Call, Simulated, Tokens, Turn, Usd,
    named_limits::LimitOf,
    turn::{Note, Said, ToolCall},
    user_fault::{FaultKind, Severity, UserFault},
};

use crate::{
    names::{self, Error},
    v1,
};

#[must_use]
pub fn to_wire(turn: Turn) -> v1::Turn {
    v1::Turn {
        number: turn.number,
        step: turn.step,
        speaker: names::speaker::word(turn.speaker).to_owned(),
        user: turn.user,
        agent: turn.agent,
        exit_code: turn.exit_code,
        tool_calls: turn.tool_calls.into_iter().map(tool_call_to_wire).collect(),
        actions: turn.actions,
        started_micros: turn.started_micros,
        duration_micros: turn.duration_micros,
        response_micros: turn.response_micros,
        calls: turn.calls.into_iter().map(call_to_wire).collect(),
        notes: turn.notes.into_iter().map(|note| v1::Note { kind: note.kind, text: note.text }).collect(),
        messages: turn
            .messages
            .into_iter()
            .map(|said| v1::Said { text: said.text, tool_calls_before: said.tool_calls_before })
            .collect(),
        simulated: turn.simulated.map(|it| simulated_to_wire(*it)),
    }
}

fn tool_call_to_wire(call: ToolCall) -> v1::ToolCall {
    v1::ToolCall { id: call.id, name: call.name, arguments: call.arguments, result: call.result }
}

fn tool_call_from_wire(call: v1::ToolCall) -> ToolCall {
    ToolCall { id: call.id, name: call.name, arguments: call.arguments, result: call.result }
}

fn simulated_to_wire(simulated: Simulated) -> v1::Simulated {
    let Simulated { sent_back, summed_up, parts_done, faults, untyped, state, failed_asks, calls } = simulated;
    let fault = |fault: UserFault| v1::UserFault {
        kind: fault.kind.name().to_owned(),
        critical: fault.severity == Severity::Critical,
        sent: fault.sent,
        evidence: fault.evidence,
    };
    let faults = faults.into_iter().map(fault).collect();
    let calls = calls.into_iter().map(tool_call_to_wire).collect();
    v1::Simulated { sent_back, summed_up, parts_done, faults, untyped, state, failed_asks, calls }
}

fn simulated_from_wire(simulated: v1::Simulated) -> Result<Box<Simulated>, Error> {
    let v1::Simulated { sent_back, summed_up, parts_done, faults, untyped, state, failed_asks, calls } = simulated;
    let fault = |fault: v1::UserFault| {
        let Some(kind) = FaultKind::of(&fault.kind) else {
            return Err(Error::UnknownWord { what: "fault", word: fault.kind });
        };
        let severity = if fault.critical { Severity::Critical } else { Severity::Minor };
        Ok(UserFault { kind, severity, sent: fault.sent, evidence: fault.evidence })
    };
    let faults = faults.into_iter().map(fault).collect::<Result<_, _>>()?;
    let calls = calls.into_iter().map(tool_call_from_wire).collect();
    Ok(Box::new(Simulated { sent_back, summed_up, parts_done, faults, untyped, state, failed_asks, calls }))
}

/// # Errors
/// The bytes are not a [`v1::Turn`], or it has a word that no version knows.
pub fn from_bytes(turn: Bytes) -> Result<Turn, Error> {
    from_wire(v1::Turn::decode(turn).map_err(|error| Error::Undecodable(error.to_string()))?)
}

pub fn from_wire(turn: v1::Turn) -> Result<Turn, Error> {
    Ok(Turn {
        number: turn.number,
        step: turn.step,
        speaker: names::speaker::read(&turn.speaker)?,
        user: turn.user,
        agent: turn.agent,
        exit_code: turn.exit_code,
        tool_calls: turn.tool_calls.into_iter().map(tool_call_from_wire).collect(),
        actions: turn.actions,
        started_micros: turn.started_micros,
        duration_micros: turn.duration_micros,
        response_micros: turn.response_micros,
        calls: turn.calls.into_iter().map(call_from_wire).collect::<Result<_, _>>()?,
        notes: turn.notes.into_iter().map(|note| Note { kind: note.kind, text: note.text }).collect(),
        messages: turn
            .messages
            .into_iter()
            .map(|said| Said { text: said.text, tool_calls_before: said.tool_calls_before })
            .collect(),
        simulated: turn.simulated.map(simulated_from_wire).transpose()?,
    })
}

fn call_to_wire(call: Call) -> v1::Call {
    v1::Call {
        role: names::role::word(call.role).to_owned(),
        endpoint: call.endpoint,
        model: call.model,
        started_micros: call.started_micros,
        wait_micros: call.wait_micros,
        connect_micros: call.connect_micros,
        ttft_micros: call.ttft_micros,
        inter_token_micros: call.inter_token_micros,
        total_micros: call.total_micros,
        input_tokens: call.tokens.input,
        output_tokens: call.tokens.output,
        estimated: call.estimated,
        cost_nanos: call.cost.map(|cost| cost.0),
        tries: call.tries,
        throttled_tries: call.throttled_tries,
        lost_tries: call.lost_tries,
        error: call.error,
        error_kind: call.error_kind.map(|kind| names::error_kind::word(kind).to_owned()),
        retried_micros: call.retried_micros,
        of_trial: call.of_trial,
        cached_input_tokens: call.tokens.cached_input,
        cache_write_tokens: call.tokens.cache_write,
        reasoning_tokens: call.tokens.reasoning,
        finish: call.finish.map(|finish| names::finish::word(finish).to_owned()),
        plain_priced: call.plain_priced,
        reported_cost_nanos: call.reported_cost.map(|cost| cost.0),
        limits: call.limits.into_iter().map(limit_to_wire).collect(),
    }
}

fn call_from_wire(call: v1::Call) -> Result<Call, Error> {
    Ok(Call {
        role: names::role::read(&call.role)?,
        endpoint: call.endpoint,
        model: call.model,
        started_micros: call.started_micros,
        wait_micros: call.wait_micros,
        connect_micros: call.connect_micros,
        ttft_micros: call.ttft_micros,
        inter_token_micros: call.inter_token_micros,
        total_micros: call.total_micros,
        tokens: Tokens {
            input: call.input_tokens,
            output: call.output_tokens,
            cached_input: call.cached_input_tokens,
            cache_write: call.cache_write_tokens,
            reasoning: call.reasoning_tokens,
        },
        texts: None,
        estimated: call.estimated,
        cost: call.cost_nanos.map(Usd),
        plain_priced: call.plain_priced,
        reported_cost: call.reported_cost_nanos.map(Usd),
        finish: call.finish.as_deref().map(names::finish::read).transpose()?,
        tries: call.tries,
        throttled_tries: call.throttled_tries,
        lost_tries: call.lost_tries,
        error: call.error,
        error_kind: call.error_kind.as_deref().map(names::error_kind::read).transpose()?,
        retried_micros: call.retried_micros,
        of_trial: call.of_trial,
        limits: call.limits.iter().map(limit_from_wire).collect::<Result<_, _>>()?,
    })
}

fn limit_to_wire((of, per_minute): (LimitOf, u64)) -> v1::NamedLimit {
    v1::NamedLimit { of: names::limit_of::word(of).to_owned(), per_minute }
}

fn limit_from_wire(limit: &v1::NamedLimit) -> Result<(LimitOf, u64), Error> {
    Ok((names::limit_of::read(&limit.of)?, limit.per_minute))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::{
        Role,
        call::{ErrorKind, Finish},
        turn::Origin,
    };

    use super::*;

    prop_compose! {
        fn any_turn()(number in 1_u32.., step in any::<u32>(), user in ".*", agent in proptest::option::of(".*"), exit_code in proptest::option::of(any::<i32>()),
            micros in any::<u64>(), ttft in proptest::option::of(any::<u64>()), cost in proptest::option::of(any::<i64>()),
            action in ".*", error in proptest::option::of(".*")) -> Turn {
            Turn {
                number, step, speaker: Origin::Simulated, user, agent, exit_code,
                tool_calls: vec![ToolCall { id: "1".into(), name: action.clone(), arguments: "{}".into(), result: error.clone() }],
                messages: vec![Said { text: action.clone(), tool_calls_before: step }],
                actions: vec![action], started_micros: micros, duration_micros: micros, response_micros: ttft,
                calls: vec![Call {
                    role: Role::Judge, endpoint: "e".into(), model: "m".into(), started_micros: micros, wait_micros: 0,
                    connect_micros: ttft, ttft_micros: ttft, inter_token_micros: ttft, total_micros: micros,
                    tokens: Tokens { input: micros, output: 1, cached_input: 2, cache_write: 3, reasoning: 4 },
                    texts: None,
                    cost: cost.map(Usd), tries: 1, lost_tries: step, plain_priced: exit_code.is_none(), reported_cost: cost.map(Usd),
                    finish: exit_code.map(|code| [Finish::Stop, Finish::Length, Finish::ToolCalls, Finish::Refused, Finish::Other][code.unsigned_abs() as usize % 5]),
                    estimated: exit_code.is_some(), throttled_tries: number,
                    error_kind: error.is_some().then_some(ErrorKind::Throttled), of_trial: error.is_some(), error,
                    retried_micros: micros,
                    limits: cost.map(|_| (LimitOf::InputTokens, micros)).into_iter().collect(),
                }],
                notes: vec![Note { kind: "k".into(), text: "t".into() }],
                simulated: number.is_multiple_of(2).then(|| {
                    Box::new(Simulated {
                        sent_back: 1,
                        summed_up: 2,
                        parts_done: vec!["refund".into()],
                        faults: vec![UserFault {
                            kind: FaultKind::Leak,
                            severity: Severity::Critical,
                            sent: false,
                            evidence: "my persona".into(),
                        }],
                        untyped: exit_code.map(|_| "Helo.".into()),
                        state: exit_code.map(|_| "ask".into()),
                        failed_asks: step,
                        calls: vec![ToolCall { id: "1".into(), name: "toggle".into(), arguments: "{}".into(), result: None }],
                    })
                }),
            }
        }
    }

    proptest! {
        #[test]
        fn a_turn_comes_back_as_it_went(turn in any_turn()) {
            prop_assert_eq!(from_wire(to_wire(turn.clone())), Ok(turn));
        }
    }
}
