//! Streams of AG-UI runs, and the replies that they give.

use std::time::Duration;

use super::*;

fn events(text: &str) -> Vec<Value> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

fn play(state: Value, text: &str) -> Result<(Response, LeftBehind), String> {
    let mut heard = HeardRun::new(state);
    let sent = Instant::now();
    let events = events(text);
    for (index, event) in events.iter().enumerate() {
        match heard.event(event, sent + Duration::from_millis(10 * (index as u64 + 1)))? {
            Next::Event => assert!(index + 1 < events.len(), "the run does not end"),
            Next::End => assert_eq!(index + 1, events.len()),
            Next::Failed(message) => return Err(message),
        }
    }
    heard.finish(sent, sent + Duration::from_secs(1))
}

/// As an agent of pydantic-ai streams it.
const WITH_TOOL: &str = r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Let me "}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"look."}
    {"type":"TEXT_MESSAGE_END","messageId":"m1"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"find_order","parentMessageId":"m1"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"id\""}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":": 7}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"TOOL_CALL_RESULT","messageId":"m2","toolCallId":"c1","content":"shipped","role":"tool"}
    {"type":"REASONING_MESSAGE_CONTENT","messageId":"m9","delta":"hm"}
    {"type":"TEXT_MESSAGE_START","messageId":"m3","role":"assistant"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"m3","delta":"It is "}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"m3","delta":"shipped."}
    {"type":"TEXT_MESSAGE_END","messageId":"m3"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"},"usage":[{"inputTokens":9,"outputTokens":2},{"inputTokens":3,"outputTokens":1,"reasoningTokens":1,"cachedInputTokens":2}]}
"#;

#[test]
fn a_run_with_a_tool() {
    let (reply, left) = play(json!({}), WITH_TOOL).expect("a reply");
    assert_eq!(reply.text, "It is shipped.");
    let said: Vec<(&str, u32)> =
        reply.messages.iter().map(|said| (said.text.as_str(), said.tool_calls_before)).collect();
    assert_eq!(said, [("Let me look.", 0), ("It is shipped.", 1)]);
    let call = ToolCall {
        id: "c1".into(),
        name: "find_order".into(),
        arguments: "{\"id\": 7}".into(),
        result: Some("shipped".into()),
    };
    assert_eq!(reply.tool_calls, [call]);
    assert_eq!(reply.receipt.timing.first_token, Some(Duration::from_millis(30)), "the first piece of text");
    let usage = reply.receipt.usage;
    assert_eq!((usage.input, usage.output, usage.cached_input, usage.reasoning), (12, 3, 2, 1));
    let arguments = "{\"id\": 7}";
    assert_eq!(
        json!(left.messages),
        json!([
            { "id": "m1", "role": "assistant", "content": "Let me look.", "toolCalls": [
                { "id": "c1", "type": "function", "function": { "name": "find_order", "arguments": arguments } },
            ] },
            { "id": "m2", "role": "tool", "toolCallId": "c1", "content": "shipped" },
            { "id": "m3", "role": "assistant", "content": "It is shipped." },
        ])
    );
}

#[test]
fn chunks_states_snapshots_and_interrupts() {
    let chunks = r#"
        {"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"One "}
        {"type":"TEXT_MESSAGE_CHUNK","delta":"two."}
        {"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"end","delta":"{"}
        {"type":"TOOL_CALL_CHUNK","toolCallId":"c","delta":"}"}
        {"type":"STATE_SNAPSHOT","snapshot":{"n":1}}
        {"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}
        {"type":"RUN_FINISHED"}
    "#;
    let (reply, left) = play(json!({}), chunks).expect("a reply");
    assert_eq!((reply.text.as_str(), reply.messages.len()), ("One two.", 1), "a call came after the words");
    assert_eq!((reply.tool_calls[0].arguments.as_str(), left.state), ("{}", json!({ "n": 2 })));

    let snapshot = r#"
        {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"0","role":"assistant","content":"Old."},{"id":"1","role":"user","content":"hi"},{"id":"2","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"id":"3","role":"tool","toolCallId":"c","content":"7"},{"id":"4","role":"assistant","content":"Seven."}]}
        {"type":"RUN_FINISHED","outcome":{"type":"success"}}
    "#;
    let (reply, left) = play(json!({}), snapshot).expect("a reply");
    assert_eq!((reply.text.as_str(), reply.tool_calls[0].result.as_deref()), ("Seven.", Some("7")));
    assert_eq!(left.messages.len(), 3);

    let interrupt = r#"
        {"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"approval","message":"Refund 7?"}]}}
    "#;
    let (reply, left) = play(json!({}), interrupt).expect("a reply");
    assert_eq!((reply.text.as_str(), &left.interrupts[..]), ("Refund 7?", &["i1".to_owned()][..]));
}

#[test]
fn runs_that_give_no_reply() {
    let long = format!(r#"{{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"{}"}}"#, "x".repeat(MOST_BYTES + 1));
    let state = format!(r#"{{"type":"STATE_SNAPSHOT","snapshot":"{}"}}"#, "x".repeat(MOST_STATE_BYTES));
    let state = format!("{state}\n{{\"type\":\"RUN_FINISHED\"}}");
    let name = format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"{}"}}"#, "x".repeat(2_000));
    let arguments = format!(
        "{}\n{{\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"c\",\"delta\":\"{}\"}}",
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#,
        "x".repeat(MOST_CALL_BYTES + 1)
    );
    let calls = "{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"c\",\"toolCallName\":\"f\"}\n".repeat(MOST_CALLS + 1);
    for (events, says) in [
        (r#"{"type":"RUN_ERROR","message":"on fire","code":"E7"}"#, "the run failed: on fire (E7)"),
        (r#"{"type":"RUN_FINISHED","outcome":{"type":"cancelled"}}"#, "the run was cancelled"),
        (r#"{"delta":"x"}"#, "an event without a type"),
        (r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/none"}]}"#, "the state has no place"),
        (r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"x"}"#, "a tool call that did not begin"),
        (r#"{"type":"TOOL_CALL_START","toolCallId":"c"}"#, "a tool call without a name"),
        // Rows of docs/limits.md.
        (&long, "a reply of more than 1048576 bytes"),
        (&state, "a state of more than 1048576 bytes"),
        (&name, "an id or a name of more than 1024 bytes"),
        (&arguments, "tool calls of more than 1048576 bytes"),
        (&calls, "more than 128 tool calls"),
    ] {
        let trouble = play(json!({}), events).expect_err("no reply");
        assert!(trouble.contains(says), "{trouble}");
    }
}
