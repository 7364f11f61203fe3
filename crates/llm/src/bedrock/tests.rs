//! The wire, as Amazon documents it.

use super::*;
use crate::{
    Message,
    chat::Request,
    http::eventstream,
    wire::{body, line, reasoning, request, streamed_by_amazon, whole},
};

const DIALECT: Converse = Converse;

#[test]
fn a_request_has_these_bytes() {
    let expected = concat!(
        r#"{"system":[{"text":"Be brief."}],"messages":["#,
        r#"{"role":"user","content":[{"text":"(The conversation begins.)"}]},"#,
        r#"{"role":"assistant","content":[{"text":"Hello!"}]},"#,
        r#"{"role":"user","content":[{"text":"What is this?"},"#,
        r#"{"image":{"format":"png","source":{"bytes":"AAAA"}}}]},"#,
        r#"{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"find","input":{"q":"bread"}}}]},"#,
        r#"{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"{\"found\":2}"}]}}]}],"#,
        r#""inferenceConfig":{"maxTokens":99,"temperature":0.5},"#,
        r#""toolConfig":{"tools":[{"toolSpec":{"name":"find","description":"Finds things.","#,
        r#""inputSchema":{"json":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}}]},"#,
        r#""outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"reply","#,
        r#""schema":"{\"type\":\"object\",\"required\":[\"score\"],\"properties\":{\"score\":{\"type\":\"integer\","#,
        r#"\"description\":\"{minimum: 0, maximum: 5}\"}},\"additionalProperties\":false}"}}}}}"#,
    );
    assert_eq!(body(&DIALECT, &request(), SchemaMode::JsonSchema, true), expected);
    let short = Request { messages: vec![Message::user("hi")], ..Request::default() };
    assert_eq!(
        body(&DIALECT, &short, SchemaMode::None, false),
        r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}]}"#
    );
}

#[test]
fn each_model_has_its_address_and_an_image_its_bytes() {
    let rows = [
        ("https://h", "m-v1:0", false, "https://h/model/m-v1%3A0/converse"),
        (
            "https://h/",
            "arn:aws:bedrock:x:1:profile/m",
            true,
            "https://h/model/arn%3Aaws%3Abedrock%3Ax%3A1%3Aprofile%2Fm/converse-stream",
        ),
    ];
    for (url, model, stream, expected) in rows {
        assert_eq!(answers(Url::parse(url).expect("a url"), model, stream).as_str(), expected);
    }
    let with = |image: &str| Request {
        messages: vec![Message { images: vec![image.into()], ..Message::user("hi") }],
        ..Request::default()
    };
    assert!(DIALECT.cannot_carry(&with("https://h/a.png")).is_some_and(|why| why.contains("as bytes")));
    assert_eq!(DIALECT.cannot_carry(&with("data:image/jpeg;base64,AAAA")), None);
}

#[test]
fn whole_replies() {
    let answer = |content: Value, reason: &str| {
        json!({ "output": { "message": { "role": "assistant", "content": content } }, "stopReason": reason,
            "usage": { "inputTokens": 10, "outputTokens": 7, "totalTokens": 122, "cacheReadInputTokens": 100,
                "cacheWriteInputTokens": 5 }, "metrics": { "latencyMs": 5 } })
        .to_string()
    };
    let text =
        json!([{ "reasoningContent": { "reasoningText": { "text": "Hm.", "signature": "s" } } }, { "text": "Hi" }]);
    let rows = [
        (answer(text.clone(), "end_turn"), "asked | Hi |  | stop | 115 100 5 7 0"),
        (answer(text.clone(), "max_tokens"), "asked | Hi |  | length | 115 100 5 7 0"),
        (answer(json!([]), "guardrail_intervened"), "asked |  |  | content_filter | 115 100 5 7 0"),
        (answer(json!([]), "content_filtered"), "asked |  |  | content_filter | 115 100 5 7 0"),
        (answer(text, "malformed_model_output"), "asked | Hi |  | other | 115 100 5 7 0"),
        (
            answer(json!([{ "toolUse": { "toolUseId": "t1", "name": "f", "input": { "a": 1 } } }]), "tool_use"),
            r#"asked |  | t1=f({"a":1}) | tool_calls | 115 100 5 7 0"#,
        ),
    ];
    for (answer, expected) in rows {
        assert_eq!(line(&whole(&DIALECT, &answer).expect("a reply")), expected, "{answer}");
    }
    for wrong in ["{}", "[]", r#"{"output":{}}"#, ""] {
        assert!(matches!(whole(&DIALECT, wrong), Err(Trouble::Malformed(_))), "{wrong}");
    }
}

fn event(kind: &str, data: &Value) -> Vec<u8> {
    eventstream::message(&[(":event-type", kind), (":message-type", "event")], data.to_string().as_bytes())
}

fn begun() -> Vec<u8> {
    let delta = |index: u64, delta: Value| {
        event("contentBlockDelta", &json!({ "contentBlockIndex": index, "delta": delta, "p": "ab" }))
    };
    let stop = |index: u64| event("contentBlockStop", &json!({ "contentBlockIndex": index }));
    let call = json!({ "toolUse": { "toolUseId": "t1", "name": "find" } });
    [
        event("messageStart", &json!({ "role": "assistant" })),
        delta(0, json!({ "reasoningContent": { "text": "H" } })),
        delta(0, json!({ "reasoningContent": { "text": "m" } })),
        delta(0, json!({ "reasoningContent": { "signature": "sig" } })),
        stop(0),
        delta(1, json!({ "text": "Grüß" })),
        delta(1, json!({ "text": "e" })),
        stop(1),
        event("contentBlockStart", &json!({ "contentBlockIndex": 2, "start": call })),
        delta(2, json!({ "toolUse": { "input": "{\"q\":" } })),
        delta(2, json!({ "toolUse": { "input": "1}" } })),
        stop(2),
    ]
    .concat()
}

#[test]
fn a_stream_means_the_same_in_every_split() {
    let end = [
        event("messageStop", &json!({ "stopReason": "tool_use" })),
        event("metadata", &json!({ "usage": { "inputTokens": 10, "outputTokens": 40, "cacheReadInputTokens": 100 } })),
    ];
    let reply = streamed_by_amazon(&DIALECT, &[begun(), end.concat()].concat()).expect("a reply");
    assert_eq!(line(&reply), r#"asked | Grüße | t1=find({"q":1}) | tool_calls | 110 100 0 40 0"#);
    assert_eq!(reasoning(&reply), "Hm");
    let said = Message { echo: reply.echo, tool_calls: reply.tool_calls, ..Message::assistant("") };
    let again = Request { messages: vec![Message::user("hi"), said], ..Request::default() };
    let sent: Value = serde_json::from_str(&body(&DIALECT, &again, SchemaMode::None, false)).expect("JSON");
    assert_eq!(
        sent["messages"][1]["content"][0],
        json!({ "reasoningContent": { "reasoningText": { "text": "Hm", "signature": "sig" } } })
    );
    assert!(matches!(streamed_by_amazon(&DIALECT, &begun()), Err(Trouble::Malformed(_))));
}

#[test]
fn an_exception_in_a_stream_has_its_status() {
    let rows = [
        ("validationException", 400),
        ("modelTimeoutException", 408),
        ("modelStreamErrorException", 424),
        ("throttlingException", 429),
        ("internalServerException", 500),
        ("serviceUnavailableException", 503),
        ("unheardOfException", 500),
    ];
    for (name, status) in rows {
        let headers = [(":exception-type", name), (":message-type", "exception")];
        let stream = [begun(), eventstream::message(&headers, br#"{"message":"no"}"#)].concat();
        assert_eq!(streamed_by_amazon(&DIALECT, &stream), Err(Trouble::Status(status, format!("{name}: no"))));
    }
}
