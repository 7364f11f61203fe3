//! One call to the agent or to a model as a span, with the attributes of the GenAI conventions.

use opentelemetry::{
    Array, KeyValue, StringValue, Value,
    trace::{SpanKind, Status},
};
use record::{
    Call, Role, Turn,
    call::{CallTexts, ErrorKind},
};

use super::{played::Played, shared_attributes::SharedAttributes};
use crate::{
    asked::{Asked, Endpoint, UNKNOWN, asked, provider},
    names,
    trace::{
        content,
        exported::Exported,
        ids,
        span::{Span, integer, seconds},
        texts::Texts,
    },
};

pub(super) fn span(
    exported: &Exported,
    trace: u128,
    played: &Played<'_>,
    turn: Option<&Turn>,
    (index, call): (usize, &Call),
    common: &SharedAttributes,
) -> Span {
    let texts = &exported.texts;
    let Asked { operation, model, answered, endpoint, .. } = asked(&exported.endpoints, call);
    let mut attributes = vec![
        KeyValue::new(names::OPERATION, operation),
        texts.name(names::REQUEST_MODEL, model),
        common.conversation(played, turn),
        common.session(),
        KeyValue::new(names::SPAN_KIND, if call.role == Role::Scorer { "EMBEDDING" } else { "LLM" }),
        KeyValue::new(names::ROLE, call.role.name()),
        texts.name(names::ENDPOINT, &call.endpoint),
        KeyValue::new(names::WAIT, seconds(call.wait_micros)),
        KeyValue::new(names::TRIES, i64::from(call.tries)),
    ];
    attributes.extend(answered.map(|model| texts.name(names::RESPONSE_MODEL, model)));
    attributes.extend(place(endpoint, texts));
    if call.tokens.input > 0 || call.tokens.output > 0 {
        attributes.push(KeyValue::new(names::INPUT_TOKENS, integer(call.tokens.input)));
        attributes.push(KeyValue::new(names::OUTPUT_TOKENS, integer(call.tokens.output)));
    }
    let kinds = [
        (names::CACHE_READ_TOKENS, call.tokens.cached_input),
        (names::CACHE_WRITE_TOKENS, call.tokens.cache_write),
        (names::REASONING_TOKENS, call.tokens.reasoning),
    ];
    let kinds = kinds.into_iter().filter(|(_, tokens)| *tokens > 0);
    attributes.extend(kinds.map(|(name, tokens)| KeyValue::new(name, integer(tokens))));
    if let Some(finish) = call.finish {
        let reasons = Array::from(vec![StringValue::from(finish.name())]);
        attributes.push(KeyValue::new(names::FINISH_REASONS, Value::Array(reasons)));
    }
    if let Some(first) = call.ttft_micros {
        attributes.push(KeyValue::new(names::STREAM, true));
        attributes.push(KeyValue::new(names::TIME_TO_FIRST_CHUNK, seconds(first)));
    }
    attributes.extend(call.connect_micros.map(|micros| KeyValue::new(names::CONNECT, seconds(micros))));
    attributes.extend(call.cost.map(|cost| KeyValue::new(names::COST, cost.dollars())));
    if call.retried_micros > 0 {
        attributes.push(KeyValue::new(names::RETRIED, seconds(call.retried_micros)));
    }
    if call.lost_tries > 0 {
        attributes.push(KeyValue::new(names::LOST_TRIES, i64::from(call.lost_tries)));
    }
    if exported.content {
        said(&mut attributes, turn, call, texts);
    }
    let mut status = Status::Unset;
    if let Some(error) = &call.error {
        attributes.push(KeyValue::new(names::ERROR_TYPE, error_type(Some(call))));
        status = Status::error(texts.short_text(error));
    }
    let number = turn.map_or(0, |turn| turn.number);
    let is_agents = turn.is_some_and(|turn| {
        call.role == Role::Agent && turn.calls.iter().position(|one| one.role == Role::Agent) == Some(index)
    });
    Span {
        trace,
        id: if is_agents { ids::agent_span(trace, number) } else { ids::call_span(trace, number, index) },
        parent: if call.of_trial { ids::trial_span(trace) } else { ids::turn_span(trace, number) },
        kind: SpanKind::Client,
        name: format!("{} {operation} {}", call.role.name(), texts.known(model)).into(),
        times: played.times_of_call(call),
        attributes,
        events: Vec::new(),
        links: Vec::new(),
        status,
    }
}

/// What the call sent and got. The only call to an agent in a turn sent the user's message and got all that the agent said
/// and called; other calls have their own texts.
fn said(attributes: &mut Vec<KeyValue>, turn: Option<&Turn>, call: &Call, texts: &Texts) {
    if let Some(CallTexts { input, input_messages, output }) = call.texts.as_deref() {
        attributes.push(KeyValue::new(names::INPUT, input.clone()));
        attributes.push(KeyValue::new(names::INPUT_MESSAGES, input_messages.clone()));
        if let Some((output, messages)) = output {
            attributes.push(KeyValue::new(names::OUTPUT, output.clone()));
            attributes.push(KeyValue::new(names::OUTPUT_MESSAGES, messages.clone()));
        }
        return;
    }
    let is_agents = |one: &&Call| one.role == Role::Agent;
    let Some(turn) = turn.filter(|turn| is_agents(&call) && turn.calls.iter().filter(is_agents).count() == 1) else {
        return;
    };
    attributes.push(KeyValue::new(names::INPUT, texts.long_text(&turn.user)));
    attributes.extend(turn.said().map(|said| KeyValue::new(names::OUTPUT, texts.long_text(&said))));
    attributes.push(KeyValue::new(names::INPUT_MESSAGES, content::input(turn, texts)));
    let output = content::output(turn, Some(call), texts);
    attributes.extend(output.map(|output| KeyValue::new(names::OUTPUT_MESSAGES, output)));
}

/// The provider and its address.
pub(super) fn place(endpoint: Option<&Endpoint>, texts: &Texts) -> Vec<KeyValue> {
    let mut attributes = vec![texts.name(names::PROVIDER, provider(endpoint))];
    let Some(place) = endpoint else { return attributes };
    attributes.extend(place.address.as_deref().map(|address| texts.name(names::SERVER_ADDRESS, address)));
    attributes.extend(place.port.map(|port| KeyValue::new(names::SERVER_PORT, i64::from(port))));
    attributes
}

/// A small number of kinds, as the conventions require.
pub(super) fn error_type(call: Option<&Call>) -> &'static str {
    call.and_then(|call| call.error_kind).map_or(UNKNOWN, ErrorKind::name)
}
