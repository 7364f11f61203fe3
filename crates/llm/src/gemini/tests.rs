//! The wire, as Google documents it.

use super::*;
use crate::{
    Message,
    chat::Request,
    wire::{body, line, reasoning, request, streamed, whole},
};

const DIALECT: GenerateContent = GenerateContent;

#[test]
fn a_request_has_these_bytes() {
    let expected = concat!(
        r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":["#,
        r#"{"role":"user","parts":[{"text":"(The conversation begins.)"}]},"#,
        r#"{"role":"model","parts":[{"text":"Hello!"}]},"#,
        r#"{"role":"user","parts":[{"text":"What is this?"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},"#,
        r#"{"role":"model","parts":[{"functionCall":{"name":"find","args":{"q":"bread"}}}]},"#,
        r#"{"role":"user","parts":[{"functionResponse":{"name":"find","response":{"found":2}}}]}],"#,
        r#""tools":[{"functionDeclarations":[{"name":"find","description":"Finds things.","#,
        r#""parametersJsonSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}]}],"#,
        r#""generationConfig":{"temperature":0.5,"maxOutputTokens":99,"seed":2147483647,"#,
        r#""responseMimeType":"application/json","responseJsonSchema":{"type":"object","required":["score"],"#,
        r#""properties":{"score":{"type":"integer","minimum":0,"maximum":5}}}}}"#,
    );
    assert_eq!(body(&DIALECT, &request(), SchemaMode::JsonSchema, true), expected);
}

#[test]
fn a_short_request_says_no_more_than_it_must() {
    let image = "https://h/a.webp?x=1".to_owned();
    let short =
        Request { messages: vec![Message { images: vec![image], ..Message::user("hi") }], ..Request::default() };
    assert_eq!(
        body(&DIALECT, &short, SchemaMode::None, false),
        concat!(
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"},"#,
            r#"{"fileData":{"mimeType":"image/webp","fileUri":"https://h/a.webp?x=1"}}]}]}"#
        )
    );
}

#[test]
fn each_model_has_its_address() {
    let rows = [
        ("https://h/v1beta", "g-3", false, "https://h/v1beta/models/g-3:generateContent"),
        ("https://h/v1beta/", "models/g-3", true, "https://h/v1beta/models/g-3:streamGenerateContent?alt=sse"),
        ("https://h/v1?key=x", "tunedModels/t", true, "https://h/v1/tunedModels/t:streamGenerateContent?key=x&alt=sse"),
    ];
    for (url, model, stream, expected) in rows {
        assert_eq!(answers(Url::parse(url).expect("a url"), model, stream).as_str(), expected);
    }
}

fn answer(parts: &Value, reason: &str) -> Value {
    json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": reason, "index": 0 }],
        "usageMetadata": { "promptTokenCount": 20, "cachedContentTokenCount": 8, "candidatesTokenCount": 5,
            "thoughtsTokenCount": 30, "totalTokenCount": 55 },
        "modelVersion": "g-3-001",
    })
}

#[test]
fn whole_replies() {
    let text = json!([{ "text": "Hm.", "thought": true }, { "text": "Hi " }, { "text": "there" }]);
    let rows = [
        (answer(&text, "STOP"), "g-3-001 | Hi there |  | stop | 20 8 0 35 30"),
        (answer(&text, "MAX_TOKENS"), "g-3-001 | Hi there |  | length | 20 8 0 35 30"),
        (answer(&json!([]), "SAFETY"), "g-3-001 |  |  | content_filter | 20 8 0 35 30"),
        (answer(&json!([]), "PROHIBITED_CONTENT"), "g-3-001 |  |  | content_filter | 20 8 0 35 30"),
        (answer(&text, "LANGUAGE"), "g-3-001 | Hi there |  | other | 20 8 0 35 30"),
        (
            answer(
                &json!([{ "functionCall": { "name": "find", "args": { "q": 1 } }, "thoughtSignature": "s" },
                    { "functionCall": { "id": "own", "name": "stop" } }]),
                "STOP",
            ),
            r#"g-3-001 |  | call_0=find({"q":1}) own=stop({}) | tool_calls | 20 8 0 35 30"#,
        ),
        (
            json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": { "promptTokenCount": 9 }, "modelVersion": "g" }),
            "g |  |  | content_filter | 9 0 0 0 0 estimated",
        ),
    ];
    for (answer, expected) in rows {
        assert_eq!(line(&whole(&DIALECT, &answer.to_string()).expect("a reply")), expected, "{answer}");
    }
    for wrong in ["{}", "[]", r#"{"candidates":{}}"#, ""] {
        assert!(matches!(whole(&DIALECT, wrong), Err(Trouble::Malformed(_))), "{wrong}");
    }
    let error = json!({ "error": { "code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE" } });
    assert_eq!(whole(&DIALECT, &error.to_string()), Err(Trouble::Status(503, "The model is overloaded.".to_owned())));
}

#[test]
fn parts_of_calls_go_back_unchanged() {
    let parts = json!([{ "text": "Hm.", "thought": true }, { "text": "I look." },
        { "functionCall": { "name": "find", "args": { "q": 1 } }, "thoughtSignature": "s" }]);
    let reply = whole(&DIALECT, &answer(&parts, "STOP").to_string()).expect("a reply");
    let said = Message { echo: reply.echo, tool_calls: reply.tool_calls, ..Message::assistant(reply.text) };
    let request = Request { messages: vec![Message::user("hi"), said], ..Request::default() };
    let sent: Value = serde_json::from_str(&body(&DIALECT, &request, SchemaMode::None, false)).expect("JSON");
    assert_eq!(sent["contents"][1]["parts"], parts);
}

#[test]
fn a_stream_means_the_same_in_every_split() {
    let piece = |value: Value| format!("data: {value}\r\n\r\n");
    let part = |part: Value| {
        json!({ "candidates": [{ "content": { "parts": [part], "role": "model" }, "index": 0 }],
        "modelVersion": "g-3-001", "usageMetadata": { "promptTokenCount": 20, "thoughtsTokenCount": 30 } })
    };
    let stream = [
        piece(part(json!({ "text": "Hm.", "thought": true }))),
        piece(part(json!({ "text": "Grüß" }))),
        piece(part(json!({ "text": "e" }))),
        piece(part(json!({ "functionCall": { "name": "find", "args": { "q": 1 } }, "thoughtSignature": "s" }))),
        piece(answer(&json!([{ "text": "" }]), "STOP")),
    ];
    let reply = streamed(&DIALECT, &stream.concat()).expect("a reply");
    assert_eq!(line(&reply), r#"g-3-001 | Grüße | call_0=find({"q":1}) | tool_calls | 20 8 0 35 30"#);
    assert_eq!(reasoning(&reply), "Hm.");
    let half = stream[..3].concat();
    assert!(matches!(streamed(&DIALECT, &half), Err(Trouble::Malformed(_))));
    for (code, status) in [
        (400, "INVALID_ARGUMENT"),
        (403, "PERMISSION_DENIED"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (503, "UNAVAILABLE"),
    ] {
        let error = piece(json!({ "error": { "code": code, "message": "no", "status": status } }));
        assert_eq!(streamed(&DIALECT, &format!("{half}{error}")), Err(Trouble::Status(code, "no".to_owned())));
    }
    let blocked = piece(json!({ "promptFeedback": { "blockReason": "SAFETY" }, "modelVersion": "g-3-001" }));
    assert_eq!(streamed(&DIALECT, &blocked).expect("a refusal").finish.word(), "content_filter");
}
