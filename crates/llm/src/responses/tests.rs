//! The wire, as OpenAI documents it.

use super::*;
use crate::{
    Message,
    chat::Request,
    wire::{body, line, reasoning, request, streamed, whole},
};

const DIALECT: Responses = Responses;

#[test]
fn a_request_has_these_bytes() {
    let expected = concat!(
        r#"{"model":"m-1","instructions":"Be brief.","input":[{"role":"assistant","content":"Hello!"},"#,
        r#"{"role":"user","content":[{"type":"input_text","text":"What is this?"},"#,
        r#"{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]},"#,
        r#"{"type":"function_call","call_id":"c1","name":"find","arguments":"{\"q\":\"bread\"}"},"#,
        r#"{"type":"function_call_output","call_id":"c1","output":"{\"found\":2}"}],"#,
        r#""temperature":0.5,"max_output_tokens":99,"tools":[{"type":"function","name":"find","#,
        r#""description":"Finds things.","parameters":{"type":"object","properties":{"q":{"type":"string"}},"#,
        r#""required":["q"]},"strict":false}],"text":{"format":{"type":"json_schema","name":"reply","schema":"#,
        r#"{"type":"object","required":["score"],"properties":{"score":{"type":"integer","minimum":0,"maximum":5}}}}},"#,
        r#""include":["reasoning.encrypted_content"],"store":false,"stream":true}"#,
    );
    assert_eq!(body(&DIALECT, &request(), SchemaMode::JsonSchema, true), expected);
    let short = Request { messages: vec![Message::user("hi")], ..Request::default() };
    assert_eq!(
        body(&DIALECT, &short, SchemaMode::None, false),
        r#"{"model":"m-1","input":[{"role":"user","content":"hi"}],"store":false}"#
    );
}

fn response(status: &str, output: &Value) -> Value {
    json!({
        "id": "resp_1", "object": "response", "model": "m-1-2026", "status": status, "output": output, "error": null,
        "incomplete_details": null,
        "usage": { "input_tokens": 20, "input_tokens_details": { "cached_tokens": 8 }, "output_tokens": 35,
            "output_tokens_details": { "reasoning_tokens": 30 }, "total_tokens": 55 },
    })
}

fn incomplete(reason: &str, output: &Value) -> Value {
    let mut response = response("incomplete", output);
    response["incomplete_details"] = json!({ "reason": reason });
    response
}

#[test]
fn whole_replies() {
    let text = json!([{ "type": "reasoning", "id": "rs_1", "summary": [] }, { "type": "message", "role": "assistant",
        "content": [{ "type": "output_text", "text": "Hi " }, { "type": "output_text", "text": "there" }] }]);
    let refusal = json!([{ "type": "message", "content": [{ "type": "refusal", "refusal": "I will not." }] }]);
    let calls =
        json!([{ "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find", "arguments": "{\"q\":1}" }]);
    let rows = [
        (response("completed", &text), "m-1-2026 | Hi there |  | stop | 20 8 0 35 30"),
        (incomplete("max_output_tokens", &text), "m-1-2026 | Hi there |  | length | 20 8 0 35 30"),
        (incomplete("content_filter", &json!([])), "m-1-2026 |  |  | content_filter | 20 8 0 35 30"),
        (response("completed", &refusal), "m-1-2026 | I will not. |  | content_filter | 20 8 0 35 30"),
        (response("completed", &calls), r#"m-1-2026 |  | c1=find({"q":1}) | tool_calls | 20 8 0 35 30"#),
        (response("cancelled", &text), "m-1-2026 | Hi there |  | other | 20 8 0 35 30"),
    ];
    for (answer, expected) in rows {
        assert_eq!(line(&whole(&DIALECT, &answer.to_string()).expect("a reply")), expected, "{answer}");
    }
    for wrong in ["{}", "[]", r#"{"status":5}"#, ""] {
        assert!(matches!(whole(&DIALECT, wrong), Err(Trouble::Malformed(_))), "{wrong}");
    }
}

#[test]
fn reasoning_goes_back_before_the_calls_that_came_of_it() {
    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xx" });
    let call = json!({ "type": "function_call", "call_id": "c1", "name": "find", "arguments": "{}" });
    let reply = whole(&DIALECT, &response("completed", &json!([reasoning, call])).to_string()).expect("a reply");
    let said = Message { echo: reply.echo, tool_calls: reply.tool_calls, ..Message::assistant("") };
    let request = Request { messages: vec![Message::user("hi"), said], ..Request::default() };
    let sent: Value = serde_json::from_str(&body(&DIALECT, &request, SchemaMode::None, false)).expect("JSON");
    assert_eq!(sent["input"], json!([{ "role": "user", "content": "hi" }, reasoning, call]));
}

fn event(kind: &str, mut data: Value) -> String {
    data["type"] = json!(kind);
    format!("event: {kind}\ndata: {data}\n\n")
}

#[test]
fn a_stream_means_the_same_in_every_split() {
    let text = |delta: &str| {
        event("response.output_text.delta", json!({ "output_index": 1, "content_index": 0, "delta": delta }))
    };
    let arguments = |delta: &str| {
        event("response.function_call_arguments.delta", json!({ "output_index": 2, "item_id": "fc_1", "delta": delta }))
    };
    let call = |arguments: &str| json!({ "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find", "arguments": arguments });
    let thought = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xx" });
    let begun = [
        event("response.created", json!({ "response": { "model": "m-1-2026", "status": "in_progress" } })),
        event("response.reasoning_summary_text.delta", json!({ "output_index": 0, "delta": "Hm." })),
        event("response.output_item.done", json!({ "output_index": 0, "item": thought })),
        event("response.output_item.added", json!({ "output_index": 1, "item": { "type": "message", "content": [] } })),
        text("Grüß"),
        text("e"),
        event("response.output_text.done", json!({ "output_index": 1, "text": "Grüße" })),
        event("response.output_item.added", json!({ "output_index": 2, "item": call("") })),
        arguments("{\"q\":"),
        arguments("1}"),
        event("response.output_item.done", json!({ "output_index": 2, "item": call("{\"q\":1}") })),
    ]
    .concat();
    let done = |kind: &str, response: Value| event(kind, json!({ "response": response }));
    let reply = streamed(&DIALECT, &(begun.clone() + &done("response.completed", response("completed", &json!([])))));
    let reply = reply.expect("a reply");
    assert_eq!(line(&reply), r#"m-1-2026 | Grüße | c1=find({"q":1}) | tool_calls | 20 8 0 35 30"#);
    assert_eq!(reply.echo, Some(Box::new(json!([thought]))));
    assert_eq!(reasoning(&reply), "Hm.");
    let cut = begun.clone() + &done("response.incomplete", incomplete("max_output_tokens", &json!([])));
    assert!(line(&streamed(&DIALECT, &cut).expect("a reply")).contains("| length |"));
    let refused = event("response.refusal.delta", json!({ "delta": "I will not." }))
        + &done("response.completed", response("completed", &json!([])));
    assert_eq!(
        line(&streamed(&DIALECT, &refused).expect("a reply")),
        "m-1-2026 | I will not. |  | content_filter | 20 8 0 35 30"
    );
    assert!(matches!(streamed(&DIALECT, &begun), Err(Trouble::Malformed(_))));
}

#[test]
fn an_error_in_a_stream_has_its_status() {
    let failed = |code: &str| {
        let mut response = response("failed", &json!([]));
        response["error"] = json!({ "code": code, "message": "no" });
        event("response.failed", json!({ "response": response }))
    };
    let rows = [
        (failed("server_error"), Trouble::Status(500, "no".to_owned())),
        (failed("rate_limit_exceeded"), Trouble::Status(429, "no".to_owned())),
        (failed("invalid_prompt"), Trouble::Status(400, "no".to_owned())),
        (failed("insufficient_quota"), Trouble::Exhausted("no".to_owned())),
        (
            event("error", json!({ "code": "server_error", "message": "no", "param": null })),
            Trouble::Status(500, "no".to_owned()),
        ),
    ];
    for (stream, expected) in rows {
        assert_eq!(streamed(&DIALECT, &stream), Err(expected), "{stream}");
    }
}
