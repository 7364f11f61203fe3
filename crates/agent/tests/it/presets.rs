//! Presets against real answers of their servers, as documented or recorded.

use serde_json::{Value, json};

use super::{
    bad_server::{Answer, Server},
    house::{connect, open, say},
};

/// A server's answers in two turns, the expected second request, and the replies.
struct Row {
    preset: &'static str,
    with: Value,
    answers: Vec<Answer>,
    second: (&'static str, Value),
    replies: [&'static str; 2],
    /// Name, arguments and result of the tool call in the second turn.
    call: Option<(&'static str, &'static str, &'static str)>,
}

fn stream(events: &[(&str, Value)]) -> Answer {
    let events = events.iter().map(|(name, data)| match *name {
        "" => format!("data: {data}\n\n"),
        // Flowise begins each event with a line that has no meaning.
        "message:" => format!("message:\ndata:{data}\n\n"),
        name => format!("event: {name}\ndata: {data}\n\n"),
    });
    let events: Vec<String> = events.collect();
    Answer::events(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn rows() -> Vec<Row> {
    let shipped = Some(("find_order", r#"{"id":7}"#, "shipped"));
    let adk_part =
        |partial: Value, part: Value| json!({ "content": { "parts": [part], "role": "model" }, "partial": partial });
    let flowise = |event: &str, data: Value| ("message:", json!({ "event": event, "data": data }));
    let graph = |kind: &str, text: &str| json!([{ "content": text, "type": kind, "tool_calls": [] }, { "langgraph_node": "agent" }]);
    vec![
        Row {
            preset: "langgraph",
            with: json!({}),
            answers: vec![
                Answer::json(200, &json!({ "thread_id": "th-1" })),
                stream(&[
                    ("metadata", json!({ "run_id": "r" })),
                    ("messages", graph("AIMessageChunk", "Hi.")),
                    ("messages", graph("human", "hello")),
                ]),
                stream(&[
                    (
                        "updates",
                        json!({ "agent": { "messages": [{ "type": "ai", "content": "", "tool_calls": [{ "name": "find_order", "args": { "id": 7 }, "id": "c" }] }] } }),
                    ),
                    (
                        "updates",
                        json!({ "tools": { "messages": [{ "type": "tool", "name": "find_order", "content": "shipped", "tool_call_id": "c", "id": "x" }] } }),
                    ),
                    ("messages", graph("AIMessageChunk", "Order 7 ")),
                    ("messages", graph("AIMessageChunk", "is shipped.")),
                ]),
            ],
            second: (
                "/v1/threads/th-1/runs/stream",
                json!({ "assistant_id": "agent", "input": { "messages": [{ "role": "user", "content": "order" }] }, "stream_mode": ["updates", "messages-tuple"] }),
            ),
            replies: ["Hi.", "Order 7 is shipped."],
            call: shipped,
        },
        Row {
            preset: "vercel",
            with: json!({}),
            answers: vec![
                stream(&[
                    ("", json!({ "type": "start" })),
                    ("", json!({ "type": "text-delta", "id": "1", "delta": "Hi." })),
                    ("", json!({ "type": "finish" })),
                ]),
                stream(&[
                    ("", json!({ "type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "{" })),
                    (
                        "",
                        json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "find_order", "input": { "id": 7 } }),
                    ),
                    ("", json!({ "type": "tool-output-available", "toolCallId": "c", "output": "shipped" })),
                    ("", json!({ "type": "text-delta", "id": "2", "delta": "Order 7 is " })),
                    ("", json!({ "type": "text-delta", "id": "2", "delta": "shipped." })),
                ]),
            ],
            second: (
                "/v1",
                json!({
                    "id": "t1", "trigger": "submit-message",
                    "messages": [
                        { "id": "t1/1", "role": "user", "parts": [{ "type": "text", "text": "hi \"you\"" }] },
                        { "id": "t1/2", "role": "assistant", "parts": [{ "type": "text", "text": "Hi." }] },
                        { "id": "t1/3", "role": "user", "parts": [{ "type": "text", "text": "order" }] },
                    ],
                }),
            ),
            replies: ["Hi.", "Order 7 is shipped."],
            call: shipped,
        },
        Row {
            preset: "dify",
            with: json!({}),
            answers: vec![
                stream(&[
                    ("", json!({ "event": "message", "answer": "Hi.", "conversation_id": "d-1" })),
                    (
                        "",
                        json!({ "event": "message_end", "conversation_id": "d-1", "metadata": { "usage": { "prompt_tokens": 9, "completion_tokens": 2 } } }),
                    ),
                ]),
                stream(&[
                    (
                        "",
                        json!({ "event": "agent_thought", "id": "1", "tool": "find_order", "tool_input": "{\"find_order\": {\"id\": 7}}", "observation": "" }),
                    ),
                    (
                        "",
                        json!({ "event": "agent_thought", "id": "1", "tool": "find_order", "tool_input": "{\"find_order\": {\"id\": 7}}", "observation": "{\"find_order\": \"shipped\"}" }),
                    ),
                    ("", json!({ "event": "agent_message", "answer": "Order 7 " })),
                    ("", json!({ "event": "agent_message", "answer": "is shipped." })),
                    (
                        "",
                        json!({ "event": "agent_thought", "id": "2", "tool": "", "tool_input": "", "thought": "Order 7 is shipped." }),
                    ),
                    ("", json!({ "event": "message_end", "metadata": {} })),
                ]),
            ],
            second: (
                "/v1/chat-messages",
                json!({ "inputs": {}, "query": "order", "user": "t1", "conversation_id": "d-1", "response_mode": "streaming" }),
            ),
            replies: ["Hi.", "Order 7 is shipped."],
            call: shipped,
        },
        Row {
            preset: "flowise",
            with: json!({ "flow": "f1" }),
            answers: vec![
                stream(&[
                    flowise("start", json!("")),
                    flowise("token", json!("Hi")),
                    flowise("token", json!(".")),
                    flowise("metadata", json!({ "sessionId": "t1" })),
                    flowise("end", json!("[DONE]")),
                ]),
                stream(&[
                    flowise(
                        "usedTools",
                        json!([{ "tool": "find_order", "toolInput": { "id": 7 }, "toolOutput": "shipped" }]),
                    ),
                    flowise("token", json!("Order 7 is shipped.")),
                    flowise("end", json!("[DONE]")),
                ]),
            ],
            second: (
                "/v1/api/v1/prediction/f1",
                json!({ "question": "order", "streaming": true, "overrideConfig": { "sessionId": "t1" } }),
            ),
            replies: ["Hi.", "Order 7 is shipped."],
            call: shipped,
        },
        Row {
            preset: "adk",
            with: json!({ "app": "shop" }),
            answers: vec![
                Answer::json(200, &json!({ "id": "s-1" })),
                // Without streaming, an event has no field for it.
                stream(&[("", json!({ "content": { "parts": [{ "text": "Hi." }], "role": "model" } }))]),
                stream(&[
                    (
                        "",
                        adk_part(
                            Value::Null,
                            json!({ "functionCall": { "id": "c", "name": "find_order", "args": { "id": 7 } } }),
                        ),
                    ),
                    (
                        "",
                        adk_part(
                            Value::Null,
                            json!({ "functionResponse": { "id": "c", "name": "find_order", "response": "shipped" } }),
                        ),
                    ),
                    ("", adk_part(json!(true), json!({ "text": "The user wants", "thought": true }))),
                    ("", adk_part(json!(false), json!({ "text": "The user wants an order.", "thought": true }))),
                    ("", adk_part(json!(true), json!({ "text": "Order 7 " }))),
                    ("", adk_part(json!(true), json!({ "text": "is shipped." }))),
                    ("", adk_part(json!(false), json!({ "text": "Order 7 is shipped." }))),
                ]),
            ],
            second: (
                "/v1/run_sse",
                json!({
                    "appName": "shop", "userId": "t1", "sessionId": "s-1", "streaming": true,
                    "newMessage": { "role": "user", "parts": [{ "text": "order" }] },
                }),
            ),
            replies: ["Hi.", "Order 7 is shipped."],
            call: shipped,
        },
        Row {
            preset: "n8n",
            with: json!({}),
            answers: vec![
                Answer::json(200, &json!({ "output": "Hi." })),
                Answer::json(200, &json!([{ "output": "Order 7." }])),
            ],
            second: ("/v1", json!({ "action": "sendMessage", "sessionId": "t1", "chatInput": "order" })),
            replies: ["Hi.", "Order 7."],
            call: None,
        },
        Row {
            preset: "rasa",
            with: json!({}),
            answers: vec![
                Answer::json(
                    200,
                    &json!([{ "recipient_id": "t1", "text": "Hi." }, { "recipient_id": "t1", "image": "http://h/i.png" }]),
                ),
                Answer::json(
                    200,
                    &json!([{ "recipient_id": "t1", "text": "Order 7" }, { "recipient_id": "t1", "text": "is shipped." }]),
                ),
            ],
            second: ("/v1/webhooks/rest/webhook", json!({ "sender": "t1", "message": "order" })),
            replies: ["Hi.", "Order 7\nis shipped."],
            call: None,
        },
        Row {
            preset: "mcp_tool",
            with: json!({ "tool": "ask", "argument": "question" }),
            answers: vec![
                stream(&[(
                    "message",
                    json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [{ "type": "text", "text": "Hi." }],
                        "isError": false, "structuredContent": { "result": "Hi." } } }),
                )]),
                Answer::json(
                    200,
                    &json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": [{ "type": "text", "text": "Order 7." }] } }),
                ),
            ],
            second: (
                "/v1",
                json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                    "params": { "name": "ask", "arguments": { "question": "order" } } }),
            ),
            replies: ["Hi.", "Order 7."],
            call: None,
        },
        Row {
            preset: "dialogflow_cx",
            with: json!({ "agent": "projects/p/locations/l/agents/a" }),
            answers: vec![
                Answer::json(
                    200,
                    &json!({ "queryResult": { "responseMessages": [{ "text": { "text": ["Hi."] } }, { "payload": {} }] } }),
                ),
                Answer::json(
                    200,
                    &json!({ "queryResult": { "responseMessages": [{ "text": { "text": ["Order 7."] } }] } }),
                ),
            ],
            second: (
                "/v1/v3/projects/p/locations/l/agents/a/sessions/t1:detectIntent",
                json!({ "queryInput": { "text": { "text": "order" }, "languageCode": "en" } }),
            ),
            replies: ["Hi.", "Order 7."],
            call: None,
        },
    ]
}

#[tokio::test]
async fn presets_speak_as_their_servers_do() {
    let rows = rows();
    let mut names: Vec<&str> = rows.iter().map(|row| row.preset).collect();
    names.sort_unstable();
    let all: Vec<&str> = agent::http::presets::Preset::all().map(agent::http::presets::Preset::name).collect();
    assert_eq!(names, all, "every preset has a row");
    for Row { preset, with, answers, second, replies, call } in rows {
        let server = Server::start(answers).await;
        let agent = connect(json!({ "http": { "preset": preset, "url": server.url, "with": with } }));
        let mut session = open(&*agent, "t1").await;
        let first = say(&mut *session, 1, "hi \"you\"").await.unwrap_or_else(|error| panic!("{preset}: {error}"));
        let reply = say(&mut *session, 2, "order").await.unwrap_or_else(|error| panic!("{preset}: {error}"));
        assert_eq!([first.text.as_str(), reply.text.as_str()], replies, "{preset}");
        let made = reply.tool_calls.first();
        let made =
            made.map(|call| (call.name.as_str(), call.arguments.as_str(), call.result.as_deref().unwrap_or("?")));
        assert_eq!((made, reply.tool_calls.len()), (call, usize::from(call.is_some())), "{preset}");
        assert_eq!(reply.timing.first_token.is_some(), call.is_some(), "{preset}: it streams if it shows calls");
        let calls = server.calls.lock().unwrap();
        let last = calls.last().expect("calls");
        assert_eq!((last.path.as_str(), &last.body), (second.0, &second.1), "{preset}");
    }
}
