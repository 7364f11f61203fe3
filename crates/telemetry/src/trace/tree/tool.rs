//! One tool call of an agent or a simulated user as a span.

use opentelemetry::{
    KeyValue,
    trace::{SpanKind, Status},
};
use record::{Role, Turn, turn::ToolCall};

use super::{played::Played, shared_attributes::SharedAttributes};
use crate::{
    names,
    trace::{
        exported::Exported,
        ids,
        span::{Span, Times},
    },
};

/// `role`: whose call it is. `index`: among the calls of that side in the turn.
pub(super) fn span(
    exported: &Exported,
    trace: u128,
    played: &Played<'_>,
    turn: &Turn,
    (role, index, tool): (Role, usize, &ToolCall),
    common: &SharedAttributes,
) -> Span {
    let texts = &exported.texts;
    let name = texts.short_text(&tool.name);
    let mut attributes = vec![
        KeyValue::new(names::OPERATION, "execute_tool"),
        KeyValue::new(names::TOOL_NAME, name.clone()),
        KeyValue::new(names::TOOL_TYPE, "function"),
        common.conversation(played, Some(turn)),
        common.session(),
        KeyValue::new(names::SPAN_KIND, "TOOL"),
        KeyValue::new(names::ROLE, role.name()),
    ];
    if !tool.id.is_empty() {
        attributes.push(texts.short(names::TOOL_CALL, &tool.id));
    }
    if exported.content {
        let arguments = texts.long_text(&tool.arguments);
        attributes.push(KeyValue::new(names::INPUT, arguments.clone()));
        attributes.push(KeyValue::new(names::TOOL_ARGUMENTS, arguments));
        if let Some(result) = &tool.result {
            let result = texts.long_text(result);
            attributes.push(KeyValue::new(names::OUTPUT, result.clone()));
            attributes.push(KeyValue::new(names::TOOL_RESULT, result));
        }
    }
    // Records do not contain the time of a tool call. The next message is its latest time.
    let (id, at) = match role {
        Role::UserSim => (ids::user_tool_span(trace, turn.number, index), said_at(played, turn)),
        _ => (ids::tool_span(trace, turn.number, index), reply_at(played, turn)),
    };
    Span {
        trace,
        id,
        parent: ids::turn_span(trace, turn.number),
        kind: SpanKind::Internal,
        name: format!("execute_tool {name}").into(),
        times: Times { from: at, to: at },
        attributes,
        events: Vec::new(),
        links: Vec::new(),
        status: Status::Unset,
    }
}

/// The time of the user's message.
fn said_at(played: &Played<'_>, turn: &Turn) -> u64 {
    played.began_micros.saturating_add(turn.started_micros)
}

/// The time of the agent's answer.
fn reply_at(played: &Played<'_>, turn: &Turn) -> u64 {
    let agent = turn.calls.iter().rfind(|call| call.role == Role::Agent);
    agent.map_or_else(|| played.times_of_turn(turn).to, |agent| played.times_of_call(agent).to)
}
