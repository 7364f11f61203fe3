//! One turn as a span, from its first action to its last, including judges.

use opentelemetry::{
    KeyValue,
    trace::{SpanKind, Status},
};
use record::{Role, Scope, Turn, turn::Origin};

use super::{call, played::Played, shared_attributes::SharedAttributes};
use crate::{
    names,
    trace::{
        content, evaluation,
        exported::Exported,
        ids,
        span::{Span, seconds},
    },
};

pub(super) fn span(
    exported: &Exported,
    trace: u128,
    played: &Played<'_>,
    turn: &Turn,
    common: &SharedAttributes,
) -> Span {
    let texts = &exported.texts;
    let agent = texts.known(&played.case.agent);
    let times = played.times_of_turn(turn);
    // Of several calls, the last one answered or failed.
    let agent_call = turn.calls.iter().rfind(|call| call.role == Role::Agent);
    let error = agent_call.and_then(|call| call.error.as_deref());
    let mut attributes = vec![
        common.conversation(played, Some(turn)),
        common.session(),
        KeyValue::new(names::TURN, i64::from(turn.number)),
        KeyValue::new(names::STEP, i64::from(turn.step)),
        KeyValue::new(names::SPEAKER, speaker(turn.speaker)),
        KeyValue::new(names::TURN_LATENCY, seconds(turn.duration_micros)),
    ];
    let state = turn.simulated.as_ref().and_then(|simulated| simulated.state.as_deref());
    attributes.extend(state.map(|state| texts.name(names::USER_STATE, state)));
    let (kind, name) = if turn.speaker == Origin::Program {
        attributes.push(KeyValue::new(names::SPAN_KIND, "TOOL"));
        attributes.push(KeyValue::new(names::OPERATION, "execute_tool"));
        attributes.push(KeyValue::new(names::TOOL_NAME, "program"));
        attributes.extend(turn.exit_code.map(|code| KeyValue::new(names::EXIT_CODE, i64::from(code))));
        (SpanKind::Internal, "execute_tool program".to_owned())
    } else {
        attributes.push(KeyValue::new(names::SPAN_KIND, "AGENT"));
        attributes.push(KeyValue::new(names::OPERATION, "invoke_agent"));
        attributes.push(KeyValue::new(names::AGENT, agent.clone()));
        let place = agent_call.and_then(|call| exported.endpoints.get(&call.endpoint));
        attributes.extend(call::place(place, texts));
        (SpanKind::Client, format!("invoke_agent {agent}"))
    };
    if exported.content {
        attributes.push(KeyValue::new(names::INPUT, texts.long_text(&turn.user)));
        let said = turn.said();
        attributes.extend(said.map(|said| KeyValue::new(names::OUTPUT, texts.long_text(&said))));
        attributes.push(KeyValue::new(names::INPUT_MESSAGES, content::input(turn, texts)));
        if let Some(output) = content::output(turn, agent_call, texts) {
            attributes.push(KeyValue::new(names::OUTPUT_MESSAGES, output));
        }
    }
    let mut status = Status::Unset;
    if let Some(error) = error {
        attributes.push(KeyValue::new(names::ERROR_TYPE, call::error_type(agent_call)));
        status = Status::error(texts.short_text(error));
    }
    let mut events = Vec::new();
    for judgment in &played.trial.judgments {
        if matches!(judgment.scope, Scope::Turn { turn: number, .. } if number == turn.number) {
            events.push(evaluation::event(judgment, times.to, texts));
        }
    }
    Span {
        trace,
        id: ids::turn_span(trace, turn.number),
        parent: ids::trial_span(trace),
        kind,
        name: name.into(),
        times,
        attributes,
        events,
        links: Vec::new(),
        status,
    }
}

fn speaker(speaker: Origin) -> &'static str {
    match speaker {
        Origin::Scripted => "scripted",
        Origin::Simulated => "simulated",
        Origin::Program => "program",
    }
}
