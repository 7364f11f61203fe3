//! The client's results for every error of a provider, in that provider's own form.

use llm::{
    Error, Message,
    chat::{Finish, Request},
    endpoint::{Endpoint, Settings},
    retry::Policy,
};
use serde_json::{Value, json};

use super::bad_server::{Answer, Server};

/// Calls the server once in one dialect.
async fn ask(kind: &str, answer: Answer, stream: bool) -> (String, Server) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::start(vec![answer]).await;
    let settings = json!({
        "kind": kind, "url": server.url, "model": "m", "key": "env:CARGO_MANIFEST_DIR", "stream": stream,
        "timeout_ms": 20_000, "retries": { "tries": 1, "deadline_ms": 0 },
    });
    let settings: Settings = serde_json::from_value(settings).expect("settings");
    let model = Endpoint::open("main", &settings).expect("an endpoint").chat(Policy::model());
    let request = Request { messages: vec![Message::user("hi")], max_tokens: Some(50), ..Request::default() };
    let outcome = match model.ask(&request).await {
        Ok(reply) => format!("ok {} {}", reply.text, reply.finish.word()),
        Err(Error::Refused { status, .. }) => format!("refused {status}"),
        Err(Error::Throttled { after, .. }) => format!("throttled {after:?}"),
        Err(Error::Unreachable { status, .. }) => format!("unreachable {status:?}"),
        Err(Error::Exhausted { .. }) => "exhausted".to_owned(),
        Err(Error::Malformed { .. }) => "malformed".to_owned(),
        Err(other) => format!("{other:?}"),
    };
    (outcome, server)
}

fn anthropic(kind: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": "no" }, "request_id": "req_1" })
}

fn google(code: u16, status: &str, details: Value) -> Value {
    json!({ "error": { "code": code, "message": "no", "status": status, "details": details } })
}

fn openai(code: &str) -> Value {
    json!({ "error": { "message": "no", "type": "error", "param": null, "code": code } })
}

#[tokio::test]
async fn every_error_has_its_class() {
    let retry = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "45.8s" }]);
    let daily = json!([{ "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{ "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }]);
    let amazon = json!({ "message": "no" });
    let rows = [
        ("anthropic", 400, anthropic("invalid_request_error"), "refused 400"),
        ("anthropic", 401, anthropic("authentication_error"), "refused 401"),
        ("anthropic", 402, anthropic("billing_error"), "exhausted"),
        ("anthropic", 403, anthropic("permission_error"), "refused 403"),
        ("anthropic", 404, anthropic("not_found_error"), "refused 404"),
        ("anthropic", 413, anthropic("request_too_large"), "refused 413"),
        ("anthropic", 429, anthropic("rate_limit_error"), "throttled None"),
        ("anthropic", 500, anthropic("api_error"), "unreachable Some(500)"),
        ("anthropic", 504, anthropic("timeout_error"), "unreachable Some(504)"),
        ("anthropic", 529, anthropic("overloaded_error"), "unreachable Some(529)"),
        ("gemini", 400, google(400, "INVALID_ARGUMENT", json!([])), "refused 400"),
        ("gemini", 400, google(400, "FAILED_PRECONDITION", json!([])), "refused 400"),
        ("gemini", 401, google(401, "UNAUTHENTICATED", json!([])), "refused 401"),
        ("gemini", 403, google(403, "PERMISSION_DENIED", json!([])), "refused 403"),
        ("gemini", 404, google(404, "NOT_FOUND", json!([])), "refused 404"),
        ("gemini", 429, google(429, "RESOURCE_EXHAUSTED", retry), "throttled Some(45.8s)"),
        ("gemini", 429, google(429, "RESOURCE_EXHAUSTED", daily), "exhausted"),
        ("gemini", 500, google(500, "INTERNAL", json!([])), "unreachable Some(500)"),
        ("gemini", 503, google(503, "UNAVAILABLE", json!([])), "unreachable Some(503)"),
        ("gemini", 504, google(504, "DEADLINE_EXCEEDED", json!([])), "unreachable Some(504)"),
        ("responses", 400, openai("invalid_value"), "refused 400"),
        ("responses", 401, openai("invalid_api_key"), "refused 401"),
        ("responses", 429, openai("rate_limit_exceeded"), "throttled None"),
        ("responses", 429, openai("insufficient_quota"), "exhausted"),
        ("responses", 403, openai("unsupported_country_region_territory"), "refused 403"),
        ("responses", 404, openai("model_not_found"), "refused 404"),
        ("responses", 409, openai("conflict"), "unreachable Some(409)"),
        ("responses", 500, openai("server_error"), "unreachable Some(500)"),
        ("responses", 503, openai("server_error"), "unreachable Some(503)"),
        // Azure's filter.
        ("openai", 400, openai("content_filter"), "refused 400"),
        ("openai", 401, openai("invalid_api_key"), "refused 401"),
        ("openai", 402, openai("billing"), "exhausted"),
        ("openai", 403, openai("unsupported_country_region_territory"), "refused 403"),
        ("openai", 404, openai("model_not_found"), "refused 404"),
        ("openai", 408, openai("timeout"), "unreachable Some(408)"),
        ("openai", 409, openai("conflict"), "unreachable Some(409)"),
        ("openai", 413, openai("request_too_large"), "refused 413"),
        ("openai", 422, openai("invalid_value"), "refused 422"),
        ("openai", 429, openai("rate_limit_exceeded"), "throttled None"),
        ("openai", 429, openai("insufficient_quota"), "exhausted"),
        ("openai", 500, openai("server_error"), "unreachable Some(500)"),
        ("openai", 503, openai("server_error"), "unreachable Some(503)"),
        ("bedrock", 400, amazon.clone(), "refused 400"),
        ("bedrock", 403, amazon.clone(), "refused 403"),
        ("bedrock", 404, amazon.clone(), "refused 404"),
        ("bedrock", 408, amazon.clone(), "unreachable Some(408)"),
        ("bedrock", 424, amazon.clone(), "unreachable Some(424)"),
        ("bedrock", 429, amazon.clone(), "throttled None"),
        ("bedrock", 500, amazon.clone(), "unreachable Some(500)"),
        ("bedrock", 503, amazon, "unreachable Some(503)"),
    ];
    for (kind, status, body, expected) in rows {
        for stream in [false, true] {
            let (outcome, _) = ask(kind, Answer::json(status, &body), stream).await;
            assert_eq!(outcome, expected, "{kind} {status} {body}");
        }
    }
}

#[tokio::test]
async fn requests_follow_the_providers_api() {
    let ok = |body: &Value| Answer::json(200, body);
    let message = json!({ "type": "message", "model": "m", "content": [{ "type": "text", "text": "hi" }], "stop_reason": "end_turn" });
    let (outcome, server) = ask("anthropic", ok(&message), false).await;
    assert_eq!(outcome, "ok hi stop");
    let call = server.calls.lock().unwrap().remove(0);
    assert_eq!((&*call.method, &*call.path), ("POST", "/v1/messages"));
    assert_eq!(call.headers["anthropic-version"], "2023-06-01");
    assert!(call.headers.contains_key("x-api-key") && !call.headers.contains_key("authorization"));
    assert_eq!(call.body["max_tokens"], 50);

    let answer = json!({ "candidates": [{ "content": { "parts": [{ "text": "hi" }] }, "finishReason": "STOP" }] });
    let (outcome, server) = ask("gemini", ok(&answer), false).await;
    assert_eq!(outcome, "ok hi stop");
    let call = server.calls.lock().unwrap().remove(0);
    assert_eq!(call.path, "/v1/models/m:generateContent");
    assert!(call.headers.contains_key("x-goog-api-key") && !call.headers.contains_key("authorization"));

    let response = json!({ "status": "completed", "output": [{ "type": "message",
        "content": [{ "type": "output_text", "text": "hi" }] }] });
    let (outcome, server) = ask("responses", ok(&response), false).await;
    assert_eq!(outcome, "ok hi stop");
    let call = server.calls.lock().unwrap().remove(0);
    assert_eq!(call.path, "/v1/responses");
    assert!(call.headers["authorization"].to_str().unwrap().starts_with("Bearer "));

    let answer = json!({ "output": { "message": { "content": [{ "text": "hi" }] } }, "stopReason": "end_turn" });
    let (outcome, server) = ask("bedrock", ok(&answer), false).await;
    assert_eq!(outcome, "ok hi stop");
    let call = server.calls.lock().unwrap().remove(0);
    assert_eq!(call.path, "/v1/model/m/converse");
    assert!(call.headers["authorization"].to_str().unwrap().starts_with("Bearer "));
}

/// JSON without its content type, or JSON although a stream was requested, is still read.
#[tokio::test]
async fn a_whole_answer_in_place_of_a_stream_is_understood() {
    let message = json!({ "type": "message", "model": "m", "content": [{ "type": "text", "text": "hi" }], "stop_reason": "refusal" });
    let (outcome, _) = ask("anthropic", Answer::json(200, &message), true).await;
    assert_eq!(outcome, format!("ok hi {}", Finish::Refused.word()));
    let (outcome, _) = ask("gemini", Answer::new(200, "text/html", "<html>"), true).await;
    assert_eq!(outcome, "malformed");
}

#[test]
fn settings_that_cannot_work_are_refused_with_their_key() {
    let rows = [
        (json!({ "kind": "anthropic", "key": "env:KEY" }), "model"),
        (json!({ "kind": "gemini" }), "model"),
        (json!({ "kind": "bedrock", "url": "https://h" }), "model"),
        (json!({ "kind": "anthropic", "model": "m", "schema_mode": "json_object" }), "schema_mode"),
        (json!({ "kind": "anthropic", "model": "m", "params": { "max_tokens": null } }), "params"),
        (json!({ "kind": "gemini", "model": "m", "max_tokens_key": "max_completion_tokens" }), "max_tokens_key"),
        (json!({ "url": "https://h", "key_header": "api-key" }), "key_header"),
        (json!({ "url": "https://h", "key": "env:KEY", "key_header": "content-length" }), "key_header"),
        (json!({ "url": "https://h", "key": "env:KEY", "key_header": "not a name" }), "key_header"),
    ];
    for (settings, key) in rows {
        let read: Settings = serde_json::from_value(settings.clone()).expect("settings");
        assert_eq!(read.fault().map(|(key, _)| key), Some(key), "{settings}");
    }
    for works in [
        json!({ "kind": "anthropic", "model": "m" }),
        json!({ "kind": "gemini", "model": "m", "params": { "generationConfig": { "maxOutputTokens": null } } }),
        json!({ "url": "https://h/openai/v1", "key": "env:KEY", "key_header": "api-key" }),
    ] {
        let read: Settings = serde_json::from_value(works.clone()).expect("settings");
        assert_eq!(read.fault(), None, "{works}");
    }
}

/// The answer comes as the arguments of a tool, in the form of each provider.
#[tokio::test]
async fn a_schema_can_be_asked_for_as_a_tool() {
    let arguments = json!({ "score": 3 });
    let rows = [
        (
            "openai",
            json!({ "choices": [{ "message": { "content": null, "tool_calls": [{ "id": "1", "type": "function",
                "function": { "name": "reply", "arguments": "{\"score\":3}" } }] }, "finish_reason": "tool_calls" }] }),
            "/tool_choice/function/name",
        ),
        (
            "responses",
            json!({ "status": "completed", "output": [{ "type": "function_call", "call_id": "1", "name": "reply",
                "arguments": "{\"score\":3}" }] }),
            "/tool_choice/name",
        ),
        (
            "anthropic",
            json!({ "content": [{ "type": "tool_use", "id": "1", "name": "reply", "input": arguments }], "stop_reason": "tool_use" }),
            "/tool_choice/name",
        ),
        (
            "gemini",
            json!({ "candidates": [{ "content": { "parts": [{ "functionCall": { "name": "reply", "args": arguments } }] },
                "finishReason": "STOP" }] }),
            "/toolConfig/functionCallingConfig/allowedFunctionNames/0",
        ),
        (
            "bedrock",
            json!({ "output": { "message": { "content": [{ "toolUse": { "toolUseId": "1", "name": "reply",
                "input": arguments } }] } }, "stopReason": "tool_use" }),
            "/toolConfig/toolChoice/tool/name",
        ),
    ];
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (kind, answer, forced) in rows {
        let server = Server::start(vec![Answer::json(200, &answer)]).await;
        let settings = json!({ "kind": kind, "url": server.url, "model": "m", "schema_mode": "tool" });
        let settings: Settings = serde_json::from_value(settings).expect("settings");
        let model = Endpoint::open("main", &settings).expect("an endpoint").chat(Policy::model());
        let schema = json!({ "type": "object", "properties": { "score": { "type": "integer" } } });
        let request = Request { messages: vec![Message::user("hi")], schema: Some(schema), ..Request::default() };
        let reply = model.ask(&request).await.expect("a reply");
        assert_eq!((&*reply.text, reply.tool_calls.len(), reply.finish), (r#"{"score":3}"#, 0, Finish::Stop), "{kind}");
        let sent = server.calls.lock().unwrap().remove(0).body;
        assert_eq!(sent.pointer(forced), Some(&json!("reply")), "{kind}: {sent}");
        assert!(sent.to_string().contains(r#""score":{"type":"integer"}"#), "{kind}: {sent}");
    }
}
