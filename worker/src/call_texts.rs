//! The texts of calls for traces with content: of a chat as it was sent, and of an exchange with an agent request by request.

use std::iter::repeat;

use llm::FunctionCall;
use record::{
    Call,
    call::{CallTexts, Finish},
    turn::ToolCall,
};
use scenario::message;
use telemetry::trace::{CallContent, Message};

use crate::recorder::CallLog;

/// Of a call to a model. `answer`: its text and its tool calls.
pub(crate) fn of_chat(
    content: &CallContent,
    sent: &[llm::Message],
    answer: Option<(&str, &[FunctionCall])>,
    finish: Option<Finish>,
) -> CallTexts {
    let calls: Vec<Vec<ToolCall>> = sent.iter().map(|message| recorded(&message.tool_calls)).collect();
    let sent: Vec<Message<'_>> = sent
        .iter()
        .zip(&calls)
        .map(|(message, tool_calls)| Message {
            role: message.role.name(),
            text: &message.content,
            tool_calls,
            answers: message.tool_call_id.as_deref(),
        })
        .collect();
    let answered = answer.map(|(text, calls)| (text, recorded(calls)));
    let answer = answered.as_ref().map(|(text, tool_calls)| said(text, tool_calls));
    content.texts(&sent, answer, finish)
}

/// Of an exchange that took several requests. The text of a single request is the turn's.
pub(crate) fn add_to_exchange(
    log: &CallLog,
    calls: &mut [Call],
    messages: &[scenario::Message],
    reply: Option<&agent::Reply>,
) {
    let Some(reply) = reply.filter(|_| calls.len() > 1 && log.keeps_texts()) else { return };
    let user = message::said(messages);
    let requests = requests(&user, reply, calls.len());
    for (call, (sent, answer)) in calls.iter_mut().zip(requests) {
        call.texts = log.texts(|content| content.texts(&sent, answer, call.finish));
    }
}

/// What each request sent and got. The first one sent the user's words, and each later one the results of the calls before
/// it. A request that failed got nothing.
fn requests<'a>(user: &'a str, reply: &'a agent::Reply, count: usize) -> Vec<(Vec<Message<'a>>, Option<Message<'a>>)> {
    let own_calls = reply.requests().map(|request| Some(request.own_calls)).chain(repeat(None));
    let (mut before, mut begin) = (0..0, 0);
    let mut requests = Vec::with_capacity(count);
    for (index, own_calls) in own_calls.take(count).enumerate() {
        let end = (begin + own_calls.unwrap_or(0)).min(reply.tool_calls.len());
        let sent = if index == 0 {
            vec![Message { role: "user", text: user, ..Message::default() }]
        } else {
            reply.tool_calls[before].iter().map(result).collect()
        };
        let answer = own_calls.map(|_| said(text_before(reply, begin, end), &reply.tool_calls[begin..end]));
        requests.push((sent, answer));
        (before, begin) = (begin..end, end);
    }
    requests
}

/// What the agent said in the request that was answered with these tool calls: its text comes before them.
fn text_before(reply: &agent::Reply, begin: usize, end: usize) -> &str {
    let here = |said: &&record::turn::Said| usize::try_from(said.tool_calls_before).is_ok_and(|before| before == begin);
    match reply.messages.iter().find(here) {
        Some(said) => &said.text,
        // A single message that came last is not listed.
        None if reply.messages.is_empty() && begin == end => &reply.text,
        None => "",
    }
}

fn said<'a>(text: &'a str, tool_calls: &'a [ToolCall]) -> Message<'a> {
    Message { role: "assistant", text, tool_calls, answers: None }
}

fn result(call: &ToolCall) -> Message<'_> {
    Message { role: "tool", text: call.result.as_deref().unwrap_or_default(), tool_calls: &[], answers: Some(&call.id) }
}

fn recorded(calls: &[FunctionCall]) -> Vec<ToolCall> {
    let recorded = |FunctionCall { id, name, arguments }: &FunctionCall| ToolCall {
        id: id.clone(),
        name: name.clone(),
        arguments: arguments.clone(),
        result: None,
    };
    calls.iter().map(recorded).collect()
}

#[cfg(test)]
mod tests {
    use record::turn::Said;

    use super::*;

    fn call(name: &str) -> ToolCall {
        ToolCall {
            id: String::new(),
            name: name.to_owned(),
            arguments: "{}".to_owned(),
            result: Some(format!("{name} done")),
        }
    }

    fn shown(reply: &agent::Reply, count: usize) -> Vec<String> {
        let line = |message: &Message<'_>| {
            let calls = message.tool_calls.iter().map(|call| format!("{}()", call.name));
            let words = [message.text.to_owned()].into_iter().chain(calls);
            words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let requests = requests("Hi", reply, count);
        let sent = |sent: &[Message<'_>]| sent.iter().map(line).collect::<Vec<_>>().join(", ");
        let answer = |answer: &Option<Message<'_>>| answer.as_ref().map_or_else(|| "nothing".to_owned(), line);
        requests.iter().map(|request| format!("{} -> {}", sent(&request.0), answer(&request.1))).collect()
    }

    #[test]
    fn each_request_of_an_exchange_has_what_it_sent_and_got() {
        let earlier = |own_calls| agent::Reply { own_calls, ..agent::Reply::default() };
        let said = |text: &str, tool_calls_before| Said { text: text.to_owned(), tool_calls_before };
        let plain = agent::Reply {
            text: "All done.".to_owned(),
            tool_calls: vec![call("a"), call("b"), call("c")],
            earlier: vec![earlier(2), earlier(1)],
            ..agent::Reply::default()
        };
        assert_eq!(shown(&plain, 3), ["Hi -> a() b()", "a done, b done -> c()", "c done -> All done."]);
        // Words before the calls, and a last request that failed.
        let broken = agent::Reply {
            text: "Wait.".to_owned(),
            messages: vec![said("Wait.", 0)],
            tool_calls: vec![call("a")],
            own_calls: 1,
            ..agent::Reply::default()
        };
        assert_eq!(shown(&broken, 2), ["Hi -> Wait. a()", "a done -> nothing"]);
    }
}
