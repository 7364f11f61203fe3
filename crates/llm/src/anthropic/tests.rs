//! The wire, as Anthropic documents it.

use super::*;
use crate::{
    Message,
    chat::Request,
    wire::{body, line, reasoning, request, streamed, whole, with_params},
};

const DIALECT: Messages = Messages { max_tokens: 4_096 };

#[test]
fn a_request_has_these_bytes() {
    let expected = concat!(
        r#"{"model":"m-1","max_tokens":99,"system":"Be brief.","messages":["#,
        r#"{"role":"user","content":[{"type":"text","text":"(The conversation begins.)"}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Hello!"}]},"#,
        r#"{"role":"user","content":[{"type":"text","text":"What is this?"},"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"find","input":{"q":"bread"}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"{\"found\":2}"}]}],"#,
        r#""tools":[{"name":"find","description":"Finds things.","input_schema":{"type":"object","#,
        r#""properties":{"q":{"type":"string"}},"required":["q"]}}],"temperature":0.5,"#,
        r#""output_config":{"format":{"type":"json_schema","schema":{"type":"object","required":["score"],"#,
        r#""properties":{"score":{"type":"integer","description":"{minimum: 0, maximum: 5}"}},"#,
        r#""additionalProperties":false}}},"stream":true}"#,
    );
    assert_eq!(body(&DIALECT, &request(), SchemaMode::JsonSchema, true), expected);
}

#[test]
fn a_short_request_says_no_more_than_it_must() {
    let short = Request { messages: vec![Message::user("hi")], ..Request::default() };
    assert_eq!(
        body(&DIALECT, &short, SchemaMode::None, false),
        r#"{"model":"m-1","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#
    );
    let params =
        json!({ "temperature": null, "output_config": { "effort": "low" }, "thinking": { "type": "adaptive" } });
    let sent = with_params(&DIALECT, &request(), SchemaMode::JsonSchema, false, &params);
    let sent: Value = serde_json::from_str(&sent).expect("JSON");
    assert_eq!(sent.get("temperature"), None);
    assert_eq!((&sent["output_config"]["effort"], &sent["thinking"]["type"]), (&json!("low"), &json!("adaptive")));
    assert!(sent["output_config"]["format"].is_object(), "{sent}");
}

#[test]
fn thinking_goes_back_with_the_calls_that_came_of_it() {
    let answer = json!({ "type": "message", "role": "assistant", "model": "m-1-2026", "content": [
        { "type": "thinking", "thinking": "Hm.", "signature": "sig" }, { "type": "redacted_thinking", "data": "xx" },
        { "type": "tool_use", "id": "c1", "name": "find", "input": { "q": "bread" } }],
        "stop_reason": "tool_use", "usage": { "input_tokens": 1, "output_tokens": 2 } });
    let reply = whole(&DIALECT, &answer.to_string()).expect("a reply");
    assert_eq!(reasoning(&reply), "Hm.");
    let said = Message { echo: reply.echo, tool_calls: reply.tool_calls, ..Message::assistant("") };
    let request = Request { messages: vec![Message::user("hi"), said], ..Request::default() };
    let sent: Value = serde_json::from_str(&body(&DIALECT, &request, SchemaMode::None, false)).expect("JSON");
    assert_eq!(sent["messages"][1]["content"], answer["content"]);
}

#[test]
fn whole_replies() {
    let usage = json!({ "input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 7 });
    let answer = |content: Value, reason: &str| {
        json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1-2026", "content": content,
            "stop_reason": reason, "stop_sequence": null, "usage": usage })
        .to_string()
    };
    let text = json!([{ "type": "text", "text": "Hi " }, { "type": "text", "text": "there" }]);
    let rows = [
        (answer(text.clone(), "end_turn"), "m-1-2026 | Hi there |  | stop | 115 100 5 7 0"),
        (answer(text.clone(), "stop_sequence"), "m-1-2026 | Hi there |  | stop | 115 100 5 7 0"),
        (answer(text.clone(), "max_tokens"), "m-1-2026 | Hi there |  | length | 115 100 5 7 0"),
        (answer(text.clone(), "model_context_window_exceeded"), "m-1-2026 | Hi there |  | length | 115 100 5 7 0"),
        (answer(json!([]), "refusal"), "m-1-2026 |  |  | content_filter | 115 100 5 7 0"),
        (answer(text, "pause_turn"), "m-1-2026 | Hi there |  | other | 115 100 5 7 0"),
        (
            answer(
                json!([{ "type": "tool_use", "id": "t1", "name": "f", "input": {} },
                { "type": "tool_use", "id": "t2", "name": "g", "input": { "a": [1] } }]),
                "tool_use",
            ),
            r#"m-1-2026 |  | t1=f({}) t2=g({"a":[1]}) | tool_calls | 115 100 5 7 0"#,
        ),
    ];
    for (answer, expected) in rows {
        assert_eq!(line(&whole(&DIALECT, &answer).expect("a reply")), expected, "{answer}");
    }
    for wrong in ["{}", "[]", r#"{"type":"message","content":"text"}"#, ""] {
        assert!(matches!(whole(&DIALECT, wrong), Err(Trouble::Malformed(_))), "{wrong}");
    }
}

fn event(kind: &str, data: &Value) -> String {
    let mut data = data.clone();
    data["type"] = json!(kind);
    format!("event: {kind}\ndata: {data}\n\n")
}

fn start() -> String {
    event(
        "message_start",
        &json!({ "message": { "id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "model": "m-1-2026", "stop_reason": null, "usage": { "input_tokens": 10, "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 100, "output_tokens": 1 } } }),
    )
}

fn end(reason: &str) -> String {
    event(
        "message_delta",
        &json!({ "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": 40, "output_tokens_details": { "thinking_tokens": 30 } } }),
    ) + &event("message_stop", &json!({}))
}

#[test]
fn a_stream_means_the_same_in_every_split() {
    let block =
        |index: u64, block: Value| event("content_block_start", &json!({ "index": index, "content_block": block }));
    let delta = |index: u64, delta: Value| event("content_block_delta", &json!({ "index": index, "delta": delta }));
    let stop = |index: u64| event("content_block_stop", &json!({ "index": index }));
    let stream = [
        start(),
        event("ping", &json!({})),
        block(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "H" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "m" })),
        delta(0, json!({ "type": "signature_delta", "signature": "sig" })),
        stop(0),
        block(1, json!({ "type": "text", "text": "" })),
        delta(1, json!({ "type": "text_delta", "text": "Grüß" })),
        delta(1, json!({ "type": "text_delta", "text": "e" })),
        stop(1),
        block(2, json!({ "type": "tool_use", "id": "t1", "name": "find", "input": {} })),
        delta(2, json!({ "type": "input_json_delta", "partial_json": "" })),
        delta(2, json!({ "type": "input_json_delta", "partial_json": "{\"q\": " })),
        delta(2, json!({ "type": "input_json_delta", "partial_json": "1}" })),
        stop(2),
        block(3, json!({ "type": "tool_use", "id": "t2", "name": "stop", "input": {} })),
        stop(3),
        event("some_new_event", &json!({ "x": 1 })),
        end("tool_use"),
    ];
    let reply = streamed(&DIALECT, &stream.concat()).expect("a reply");
    assert_eq!(line(&reply), r#"m-1-2026 | Grüße | t1=find({"q": 1}) t2=stop({}) | tool_calls | 115 100 5 40 30"#);
    assert_eq!(reply.echo, Some(Box::new(json!([{ "type": "thinking", "thinking": "Hm", "signature": "sig" }]))));
    assert_eq!(reasoning(&reply), "Hm");
    assert_eq!(
        line(&streamed(&DIALECT, &(start() + &end("max_tokens"))).expect("a reply")),
        "m-1-2026 |  |  | length | 115 100 5 40 30"
    );
    let half = [start(), block(0, json!({ "type": "text", "text": "Hi" }))].concat();
    assert!(matches!(streamed(&DIALECT, &half), Err(Trouble::Malformed(_))));
}

#[test]
fn an_error_in_a_stream_has_its_status() {
    let rows = [
        ("overloaded_error", 529),
        ("api_error", 500),
        ("rate_limit_error", 429),
        ("invalid_request_error", 400),
        ("authentication_error", 401),
        ("billing_error", 402),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("request_too_large", 413),
        ("timeout_error", 504),
        ("unheard_of", 500),
    ];
    for (kind, status) in rows {
        let stream = start() + &event("error", &json!({ "error": { "type": kind, "message": "no" } }));
        assert_eq!(streamed(&DIALECT, &stream), Err(Trouble::Status(status, format!("{kind}: no"))));
    }
}
