//! The wire, as OpenAI documents it, and as Azure, OpenRouter and vLLM differ from it.

use std::time::Duration;

use ::http::{HeaderMap, StatusCode};
use proptest::prelude::*;
use tokio::time::Instant;

use super::*;
use crate::{
    Error, Message,
    http::{RequestLine, rejection, secrets::Secrets},
    wire::{body, line, reasoning, request, streamed, whole, with_params},
};

const DIALECT: Chat = Chat;

#[test]
fn a_request_has_these_bytes() {
    let expected = concat!(
        r#"{"model":"m-1","messages":[{"role":"system","content":"Be brief."},{"role":"assistant","content":"Hello!"},"#,
        r#"{"role":"user","content":[{"type":"text","text":"What is this?"},"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","#,
        r#""function":{"name":"find","arguments":"{\"q\":\"bread\"}"}}]},"#,
        r#"{"role":"tool","content":"{\"found\":2}","tool_call_id":"c1"}],"#,
        r#""temperature":0.5,"max_tokens":99,"seed":9223372036854775807,"tools":[{"type":"function","#,
        r#""function":{"name":"find","description":"Finds things.","parameters":{"type":"object","#,
        r#""properties":{"q":{"type":"string"}},"required":["q"]}}}],"#,
        r#""response_format":{"type":"json_schema","json_schema":{"name":"reply","schema":{"type":"object","#,
        r#""required":["score"],"properties":{"score":{"type":"integer","minimum":0,"maximum":5}}}}},"#,
        r#""stream":true,"stream_options":{"include_usage":true}}"#,
    );
    assert_eq!(body(&DIALECT, &request(), SchemaMode::JsonSchema, true), expected);
    let strict = concat!(
        r#""response_format":{"type":"json_schema","json_schema":{"name":"reply","strict":true,"schema":{"type":"object","#,
        r#""required":["score"],"properties":{"score":{"type":"integer","description":"{minimum: 0, maximum: 5}"}},"#,
        r#""additionalProperties":false}}}"#,
    );
    let sent = body(&DIALECT, &request(), SchemaMode::Strict, false);
    assert!(sent.contains(strict) && !sent.contains("stream"), "{sent}");
}

#[test]
fn a_short_request_says_no_more_than_it_must() {
    let short = Request { messages: vec![Message::user("hi")], ..Request::default() };
    assert_eq!(
        body(&DIALECT, &short, SchemaMode::None, false),
        r#"{"model":"m-1","messages":[{"role":"user","content":"hi"}]}"#
    );
    let params = json!({ "temperature": null, "seed": null, "reasoning_effort": "low" });
    let short = Request { temperature: Some(0.0), seed: Some(7), max_tokens: Some(5), ..short };
    assert_eq!(
        with_params(&DIALECT, &short, SchemaMode::None, false, &params),
        r#"{"model":"m-1","messages":[{"role":"user","content":"hi"}],"max_tokens":5,"reasoning_effort":"low"}"#
    );
}

fn usage() -> Value {
    json!({ "prompt_tokens": 20, "completion_tokens": 35, "total_tokens": 55,
        "prompt_tokens_details": { "cached_tokens": 8, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": 30, "accepted_prediction_tokens": 0 } })
}

fn completion(message: &Value, reason: &str) -> String {
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1_773_000_000, "model": "m-1-2026",
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": reason }],
        "usage": usage(), "service_tier": "default", "system_fingerprint": "fp_1" })
    .to_string()
}

#[test]
fn whole_replies() {
    let text = json!({ "role": "assistant", "content": "Hi there", "refusal": null, "annotations": [] });
    let refusal = json!({ "role": "assistant", "content": null, "refusal": "I will not." });
    let calls = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "find", "arguments": "{\"q\":1}" } },
        { "id": "c2", "type": "function", "function": { "name": "stop", "arguments": "{}" } }] });
    let rows = [
        (completion(&text, "stop"), "m-1-2026 | Hi there |  | stop | 20 8 0 35 30"),
        (completion(&text, "length"), "m-1-2026 | Hi there |  | length | 20 8 0 35 30"),
        (completion(&text, "content_filter"), "m-1-2026 | Hi there |  | content_filter | 20 8 0 35 30"),
        (completion(&refusal, "stop"), "m-1-2026 | I will not. |  | content_filter | 20 8 0 35 30"),
        (completion(&calls, "tool_calls"), r#"m-1-2026 |  | c1=find({"q":1}) c2=stop({}) | tool_calls | 20 8 0 35 30"#),
        (completion(&text, "unheard_of"), "m-1-2026 | Hi there |  | other | 20 8 0 35 30"),
    ];
    for (answer, expected) in rows {
        assert_eq!(line(&whole(&DIALECT, &answer).expect("a reply")), expected, "{answer}");
    }
    let thought = json!({ "role": "assistant", "content": "Hi", "reasoning_content": "Hm." });
    assert_eq!(reasoning(&whole(&DIALECT, &completion(&thought, "stop")).expect("a reply")), "Hm.");
    for wrong in ["{}", "[]", r#"{"choices":[]}"#, r#"{"choices":"text"}"#, ""] {
        assert!(matches!(whole(&DIALECT, wrong), Err(Trouble::Malformed(_))), "{wrong}");
    }
}

fn piece(choices: &Value, usage: &Value) -> String {
    let data = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_773_000_000, "model": "m-1-2026",
        "system_fingerprint": "fp_1", "choices": choices, "usage": usage });
    format!("data: {data}\n\n")
}

fn delta(delta: &Value, reason: Option<&str>) -> String {
    piece(&json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }]), &json!(null))
}

fn end(reason: &str) -> String {
    [delta(&json!({}), Some(reason)), piece(&json!([]), &usage()), "data: [DONE]\n\n".to_owned()].concat()
}

#[test]
fn a_stream_means_the_same_in_every_split() {
    let call = |index: u64, call: Value| {
        let mut call = call;
        call["index"] = json!(index);
        delta(&json!({ "tool_calls": [call] }), None)
    };
    let begun = [
        // Azure's first piece has no choice, OpenRouter sends comments.
        "data: {\"choices\":[],\"model\":\"\",\"prompt_filter_results\":[{\"prompt_index\":0}]}\n\n".to_owned(),
        ": OPENROUTER PROCESSING\n\n".to_owned(),
        delta(&json!({ "role": "assistant", "content": "", "refusal": null }), None),
        delta(&json!({ "reasoning_content": "H" }), None),
        delta(&json!({ "reasoning_content": "m." }), None),
        delta(&json!({ "content": "Grüß" }), None),
        delta(&json!({ "content": "e" }), None),
        call(0, json!({ "id": "c1", "type": "function", "function": { "name": "find", "arguments": "" } })),
        call(0, json!({ "function": { "arguments": "{\"q\":" } })),
        call(1, json!({ "id": "c2", "type": "function", "function": { "name": "stop", "arguments": "{}" } })),
        call(0, json!({ "function": { "arguments": "1}" } })),
    ]
    .concat();
    let reply = streamed(&DIALECT, &(begun.clone() + &end("tool_calls"))).expect("a reply");
    assert_eq!(line(&reply), r#"m-1-2026 | Grüße | c1=find({"q":1}) c2=stop({}) | tool_calls | 20 8 0 35 30"#);
    assert_eq!(reasoning(&reply), "Hm.");
    assert!(matches!(streamed(&DIALECT, &begun), Err(Trouble::Malformed(_))), "it breaks off");

    let said = delta(&json!({ "role": "assistant", "content": "Hi" }), None);
    let rows = [
        (said.clone() + &end("stop"), "m-1-2026 | Hi |  | stop | 20 8 0 35 30"),
        (said.clone() + &end("length"), "m-1-2026 | Hi |  | length | 20 8 0 35 30"),
        (said.clone() + &end("content_filter"), "m-1-2026 | Hi |  | content_filter | 20 8 0 35 30"),
        (
            delta(&json!({ "refusal": "I will not." }), None) + &end("stop"),
            "m-1-2026 | I will not. |  | content_filter | 20 8 0 35 30",
        ),
        // Servers that end without `[DONE]`, and with CRLF.
        (said.clone() + &delta(&json!({}), Some("stop")), "m-1-2026 | Hi |  | stop | 0 0 0 1 0 estimated"),
        ((said + &end("stop")).replace('\n', "\r\n"), "m-1-2026 | Hi |  | stop | 20 8 0 35 30"),
    ];
    for (stream, expected) in rows {
        assert_eq!(line(&streamed(&DIALECT, &stream).expect("a reply")), expected, "{stream}");
    }
}

#[test]
fn an_error_in_a_stream_has_its_status() {
    let failed = |error: Value| {
        let begun = delta(&json!({ "role": "assistant", "content": "Hi" }), None);
        streamed(&DIALECT, &format!("{begun}data: {}\n\n", json!({ "error": error })))
    };
    let status = |status: u16| Err(Trouble::Status(status, "no".to_owned()));
    let rows = [
        (json!({ "message": "no", "type": "server_error", "param": null, "code": null }), status(500)),
        (json!({ "message": "no", "type": "tokens", "param": null, "code": "rate_limit_exceeded" }), status(429)),
        (json!({ "message": "no", "type": "invalid_request_error", "param": "seed", "code": null }), status(400)),
        (json!({ "message": "no", "type": "invalid_request_error", "code": "context_length_exceeded" }), status(400)),
        (json!({ "message": "no", "type": "authentication_error", "code": "invalid_api_key" }), status(401)),
        // OpenRouter and vLLM.
        (json!({ "message": "no", "code": 502, "metadata": { "provider_name": "x" } }), status(502)),
        (json!({ "message": "no", "type": "NotFoundError", "code": 404 }), status(404)),
        (
            json!({ "message": "no", "type": "insufficient_quota", "code": "insufficient_quota" }),
            Err(Trouble::Exhausted("no".to_owned())),
        ),
        (json!({ "message": "no", "type": "unheard_of" }), Err(Trouble::Malformed("no".to_owned()))),
    ];
    for (error, expected) in rows {
        assert_eq!(failed(error.clone()), expected, "{error}");
    }
}

/// OpenAI's table of error codes: what a caller may do after each.
#[test]
fn every_status_has_its_class() {
    let class = |status: u16, error: Value| {
        let place = RequestLine { method: ::http::Method::POST, uri: ::http::Uri::from_static("http://h/v1") };
        let code = StatusCode::from_u16(status).expect("a status");
        let body = json!({ "error": error }).to_string();
        match rejection::error("gpt", &place, code, &HeaderMap::new(), body.as_bytes(), &Secrets::default()) {
            Error::Refused { .. } => "refused",
            Error::Throttled { .. } => "throttled",
            Error::Unreachable { .. } => "unreachable",
            Error::Exhausted { .. } => "exhausted",
            _ => "other",
        }
    };
    let error = |kind: &str, code: Value| json!({ "message": "no", "type": kind, "param": null, "code": code });
    let rows = [
        (400, error("invalid_request_error", json!("unsupported_parameter")), "refused"),
        (400, error("invalid_request_error", json!("content_filter")), "refused"),
        (401, error("invalid_request_error", json!("invalid_api_key")), "refused"),
        (402, error("billing", json!(null)), "exhausted"),
        (403, error("request_forbidden", json!("unsupported_country_region_territory")), "refused"),
        (404, error("invalid_request_error", json!("model_not_found")), "refused"),
        (408, error("timeout", json!(null)), "unreachable"),
        (409, error("conflict", json!(null)), "unreachable"),
        (413, error("invalid_request_error", json!(null)), "refused"),
        (422, error("invalid_request_error", json!(null)), "refused"),
        (429, error("requests", json!("rate_limit_exceeded")), "throttled"),
        (429, error("insufficient_quota", json!("insufficient_quota")), "exhausted"),
        (429, error("insufficient_quota", json!("billing_hard_limit_reached")), "exhausted"),
        (500, error("server_error", json!(null)), "unreachable"),
        (502, error("server_error", json!(null)), "unreachable"),
        (503, error("server_error", json!(null)), "unreachable"),
        (504, error("server_error", json!(null)), "unreachable"),
    ];
    for (status, error, expected) in rows {
        assert_eq!(class(status, error.clone()), expected, "{status} {error}");
    }
}

/// The usual piece of a stream, and others.
fn any_piece() -> impl Strategy<Value = String> {
    const USUAL: &str = r#"{"model":"m","choices":[{"delta":{"content":"TEXT"},"finish_reason":null}]}"#;
    const OTHERS: [&str; 15] = [
        r#"{"model":"n","choices":[{"delta":{"content":"TEXT"},"finish_reason":null}]}"#,
        r#"{"model":"m","choices":[{"delta":{"content":"TEXT"},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"delta":{"content":"TEXT","reasoning":"TEXT"}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"TEXT"}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"text":"TEXT"},{"text":"b"}]}}]}"#,
        r#"{"choices":[{"delta":{"content":{"type":"text","text":"TEXT"}}}]}"#,
        r#"{"choices":[{"delta":{"refusal":"TEXT"}}]}"#,
        r#"{"choices":[{"delta":{"content":"TEXT"}}],"usage":{"completion_tokens":3}}"#,
        r#"{"choices":[{"message":{"content":"TEXT"}}]}"#,
        r#"{"choices":[{"delta":{"content":"TEXT","tool_calls":[{"id":"a","function":{"name":"TEXT"}}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"TEXT","actions":["TEXT"]}}]}"#,
        r#"{"choices":[{"delta":{"content":"TEXT"}},{"delta":{"content":"b"}}]} "#,
        r#"{"model":null,"choices":[{"delta":{"content":"TEXT","refusal":null}}],"usage":null}"#,
        r#"{"choices":[],"error":"TEXT"}"#,
        "TEXT",
    ];
    const TEXTS: [&str; 8] = [
        "",
        "\u{e9}\u{1F600}",
        r"a\nb\u00e9",
        r#"a","content":"b"#,
        r#"a","reasoning":"b"#,
        "<think>",
        "</think>",
        "\t",
    ];
    let around = prop_oneof![3 => Just(USUAL), 1 => prop::sample::select(&OTHERS[..])];
    let text = prop_oneof![2 => "[a-z ]{0,6}", 1 => prop::sample::select(&TEXTS[..]).prop_map(str::to_owned)];
    (around, text).prop_map(|(around, text)| around.replace("TEXT", &text))
}

proptest! {
    #[test]
    fn each_piece_of_a_stream_says_what_it_says_alone(pieces in prop::collection::vec(any_piece(), 0..12)) {
        let sent = Instant::now();
        let reply = |alone: bool| {
            let mut gather = Gather::default();
            let mut outcome = Ok(());
            for (n, piece) in (1_u32..).zip(&pieces) {
                outcome = gather.take(sent + Duration::from_millis(10) * n, |gather| match alone {
                    true => DIALECT.whole(piece.as_bytes(), gather),
                    false => DIALECT.event(b"", piece.as_bytes(), gather).map(|_| ()),
                });
                if outcome.is_err() {
                    break;
                }
            }
            (outcome, gather.finish(&request(), "asked", sent, sent + Duration::from_secs(1), true))
        };
        prop_assert_eq!(reply(false), reply(true));
    }
}

#[test]
fn a_piece_like_an_earlier_one_is_not_parsed() {
    let plain = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let rows = [
        (plain, true),
        (r#"{"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}"#, false),
        (r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#, false),
        (r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":1}}"#, false),
        (r#"{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}"#, false),
        (r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"id":"a"}]}}]}"#, false),
        (r#"{"choices":[{"message":{"content":"a"}}]}"#, false),
    ];
    for (piece, is_plain) in rows {
        let mut gather = Gather::default();
        DIALECT.event(b"", piece.as_bytes(), &mut gather).expect("a piece");
        let next = piece.replace(":\"a\"}", ":\"b c\"}");
        assert_eq!(gather.stencil.text(next.as_bytes()), is_plain.then_some("b c"), "{piece}");
    }
}
