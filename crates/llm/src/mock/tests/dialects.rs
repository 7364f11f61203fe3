//! Every provider's API: our client and the mock understand each other, and the mock refuses what the real API refuses.

use serde_json::{Value, json};

use super::{ask, http::Server, request};
use crate::{
    Chat, Message,
    chat::{Finish, Request},
    endpoint::{Endpoint, Retries, Settings},
    mock::Behaviour,
    retry::Policy,
};

/// Of each dialect: its settings, and the bits of a seed that its calls carry.
fn dialects(server: &Server) -> Vec<(Value, Option<u64>)> {
    let at = |path: &str| format!("http://{}{path}", server.address);
    vec![
        (json!({ "kind": "responses", "url": at("/v1") }), None),
        (json!({ "kind": "anthropic", "url": at("/v1") }), None),
        (json!({ "kind": "bedrock", "url": at("") }), None),
        (json!({ "kind": "gemini", "url": at("/v1beta") }), Some(u64::from(u32::MAX >> 1))),
        (json!({ "kind": "openai", "url": at("/openai/v1"), "key_header": "api-key" }), Some(u64::MAX >> 1)),
        (
            json!({ "kind": "openai", "url": at("/openai/deployments/d?api-version=2024-10-21"), "key_header": "api-key" }),
            Some(u64::MAX >> 1),
        ),
    ]
}

fn open(settings: &Value, model: &str, stream: bool) -> std::sync::Arc<dyn Chat> {
    let mut settings = settings.clone();
    settings["model"] = json!(model);
    settings["stream"] = json!(stream);
    // The headers tell the mock its role.
    settings["trace"] = json!(true);
    // Any existing variable is a key for the mock.
    settings["key"] = json!("env:CARGO_MANIFEST_DIR");
    let mut settings: Settings = serde_json::from_value(settings).expect("settings");
    settings.retries = Retries { tries: 1, deadline_ms: 0 };
    Endpoint::open("served", &settings).expect("an endpoint").chat(Policy::model())
}

fn questions() -> Vec<Request> {
    let mut with_tool = request("agent", 4, vec![Message::user("What is the weather in Malmö?")]);
    with_tool.tools = vec![json!({ "type": "function", "function": { "name": "get_weather", "description": "",
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } } } } })];
    let judge = Request {
        schema: Some(json!({ "type": "object", "properties": { "judgment": { "enum": ["yes", "no"] } } })),
        max_tokens: Some(100),
        temperature: Some(0.0),
        ..request("judge", 9, vec![Message::system("You judge."), Message::user("Good? {\"agent\":\"Yes.\"}")])
    };
    let cut = Request {
        max_tokens: Some(16),
        ..request(
            "agent",
            u64::MAX - 3,
            vec![Message::user("Tell me about refunds, and all that I should know of them")],
        )
    };
    vec![with_tool, judge, cut]
}

#[tokio::test]
async fn every_dialect_carries_the_same_conversation() {
    let behaviour: Behaviour =
        serde_json::from_value(json!({ "tokens": { "min": 40, "max": 40 } })).expect("a behaviour");
    let server = Server::start(behaviour.clone()).await;
    for (settings, seed_bits) in dialects(&server) {
        for question in questions() {
            let seed = question.seed.zip(seed_bits).map(|(seed, bits)| seed & bits);
            let expected = ask(&behaviour, &Request { seed, ..question.clone() }).await;
            for stream in [false, true] {
                let reply = open(&settings, "mock", stream).ask(&question).await;
                let reply = reply.unwrap_or_else(|error| panic!("{settings}: {error}"));
                let calls = |reply: &crate::chat::Reply| -> Vec<(String, Value)> {
                    let calls = reply.tool_calls.iter();
                    calls
                        .map(|call| (call.name.clone(), serde_json::from_str(&call.arguments).expect("JSON")))
                        .collect()
                };
                let told = (&*reply.text, calls(&reply), reply.finish, reply.receipt.usage);
                let meant = (&*expected.text, calls(&expected), expected.finish, expected.receipt.usage);
                assert_eq!(told, meant, "{settings}, streamed: {stream}");
                assert_eq!(reply.receipt.timing.first_token.is_some(), stream, "{settings}");
                // Bedrock does not name the model, so it is the requested one.
                assert_eq!(reply.receipt.model, "mock", "{settings}");
            }
        }
    }
    let cut = ask(&behaviour, &questions()[2]).await;
    assert_eq!(cut.finish, Finish::Length, "the rows hold a reply that is cut");
}

/// With tools, the client sends back what the API requires.
#[tokio::test]
async fn every_dialect_continues_after_a_call() {
    let server = Server::start(Behaviour::default()).await;
    for (settings, _) in dialects(&server) {
        for stream in [false, true] {
            let model = open(&settings, "mock-3", stream);
            let mut question = questions().swap_remove(0);
            let reply = model.ask(&question).await.expect("a call");
            assert_eq!(reply.finish, Finish::ToolCalls, "{settings}");
            let results = reply.tool_calls.iter().map(|call| Message {
                tool_call_id: Some(call.id.clone()),
                ..Message::new(crate::MessageRole::Tool, r#"{"celsius":3}"#)
            });
            let results: Vec<Message> = results.collect();
            question.messages.push(Message {
                tool_calls: reply.tool_calls.clone(),
                echo: reply.echo,
                ..Message::assistant(reply.text)
            });
            question.messages.extend(results);
            let answer = model.ask(&question).await.unwrap_or_else(|error| panic!("{settings}: {error}"));
            assert!(!answer.text.is_empty(), "{settings}");
        }
    }
}

#[tokio::test]
async fn requests_that_real_servers_refuse_are_refused() {
    const ANTHROPIC: &str = "x-api-key: k\r\nanthropic-version: 2023-06-01";
    const GEMINI: &str = "x-goog-api-key: k";
    const OPENAI: &str = "authorization: Bearer k";
    let server = Server::start(Behaviour::default()).await;
    let user = json!([{ "role": "user", "content": "hi" }]);
    let anthropic = |more: Value| {
        let mut body = json!({ "model": "m", "max_tokens": 9, "messages": user });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        body
    };
    let gemini = |config: Value| json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }], "generationConfig": config });
    let rows = [
        ("/v1/messages", "x: y", anthropic(json!({})), 401, "authentication_error"),
        ("/v1/messages", "x-api-key: k", anthropic(json!({})), 400, "anthropic-version"),
        ("/v1/messages", ANTHROPIC, json!({ "model": "m", "messages": user }), 400, "max_tokens: Field required"),
        ("/v1/messages", ANTHROPIC, anthropic(json!({ "seed": 1 })), 400, "seed: Extra inputs are not permitted"),
        (
            "/v1/messages",
            ANTHROPIC,
            anthropic(json!({ "model": "newest", "temperature": 0 })),
            400,
            "`temperature` is deprecated",
        ),
        (
            "/v1/messages",
            ANTHROPIC,
            anthropic(json!({ "messages": [{ "role": "assistant", "content": "hi" }] })),
            400,
            "first message",
        ),
        (
            "/v1/messages",
            ANTHROPIC,
            anthropic(json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "" }] }] })),
            400,
            "non-empty",
        ),
        (
            "/v1/messages",
            ANTHROPIC,
            anthropic(json!({ "messages": [{ "role": "user", "content": "hi" },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "f", "input": {} }] }] })),
            400,
            "`tool_use` ids were found without `tool_result`",
        ),
        (
            "/v1/messages",
            ANTHROPIC,
            anthropic(json!({ "output_config": { "format": { "type": "json_schema", "schema": { "type": "object",
                "properties": { "a": { "type": "integer", "minimum": 0 } }, "additionalProperties": false } } } })),
            400,
            "property 'minimum' is not supported",
        ),
        (
            "/v1/messages",
            ANTHROPIC,
            anthropic(
                json!({ "output_config": { "format": { "type": "json_schema", "schema": { "type": "object" } } } }),
            ),
            400,
            "'additionalProperties' must be explicitly set to false",
        ),
        ("/v1beta/models/m:generateContent", "x: y", gemini(json!({})), 403, "PERMISSION_DENIED"),
        ("/v1beta/models/m:generateContent", GEMINI, gemini(json!({ "max_tokens": 1 })), 400, "at 'generation_config'"),
        ("/v1beta/models/m:generateContent", GEMINI, gemini(json!({ "seed": 1_u64 << 40 })), 400, "TYPE_INT32"),
        ("/v1beta/models/m:generateContent", GEMINI, json!({ "contents": [] }), 400, "contents is not specified"),
        (
            "/v1beta/models/m:generateContent",
            GEMINI,
            json!({ "contents": [{ "role": "assistant", "parts": [{ "text": "hi" }] }] }),
            400,
            "valid role",
        ),
        (
            "/v1beta/models/m-3:generateContent",
            GEMINI,
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] },
                { "role": "model", "parts": [{ "functionCall": { "name": "f", "args": {} } }] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "f", "response": {} } }] }] }),
            400,
            "missing a thought_signature",
        ),
        ("/v1/responses", "x: y", json!({ "input": "hi" }), 401, "API key"),
        ("/v1/responses", OPENAI, json!({ "input": "hi", "seed": 1 }), 400, "Unknown parameter: 'seed'"),
        (
            "/v1/responses",
            OPENAI,
            json!({ "model": "gpt-5", "input": "hi", "temperature": 0 }),
            400,
            "Unsupported parameter: 'temperature'",
        ),
        ("/v1/responses", OPENAI, json!({ "input": "hi", "max_output_tokens": 5 }), 400, ">= 16"),
        (
            "/v1/responses",
            OPENAI,
            json!({ "input": [{ "type": "function_call_output", "call_id": "c", "output": "" }] }),
            400,
            "No tool call found",
        ),
        ("/model/m/converse", "x: y", json!({ "messages": [] }), 403, "Missing Authentication Token"),
        ("/model/m/converse", OPENAI, json!({ "messages": [], "seed": 1 }), 400, "Unrecognized field"),
        (
            "/model/m/converse",
            OPENAI,
            json!({ "messages": [{ "role": "assistant", "content": [{ "text": "hi" }] }] }),
            400,
            "must start with a user message",
        ),
        (
            "/model/m/converse",
            OPENAI,
            json!({ "messages": [{ "role": "user", "content": [{ "text": " " }] }] }),
            400,
            "is blank",
        ),
        (
            "/model/m/converse",
            OPENAI,
            json!({ "messages": [{ "role": "user", "content": [{ "toolResult": { "toolUseId": "t", "content": [] } }] }] }),
            400,
            "toolConfig field must be defined",
        ),
        ("/openai/v1/chat/completions", OPENAI, json!({ "messages": user }), 401, "missing subscription key"),
        ("/openai/deployments/d/chat/completions", "api-key: k", json!({ "messages": user }), 404, "not found"),
    ];
    for (path, header, body, status, says) in rows {
        let (body, sent) = (body.to_string(), path);
        let (head, answer) = server
            .raw(format!(
                "POST {sent} HTTP/1.1\r\nhost: x\r\n{header}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            ))
            .await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{path} {body}: {head} {answer}");
        assert!(answer.contains(says), "{path} {body}: {answer}");
    }
}

#[tokio::test]
async fn a_refused_parameter_comes_with_the_line_that_leaves_it_out() {
    let server = Server::start(Behaviour::default()).await;
    let question = Request { temperature: Some(0.0), ..request("judge", 1, vec![Message::user("Good?")]) };
    let at = |path: &str| format!("http://{}{path}", server.address);
    let rows = [
        (json!({ "kind": "anthropic", "url": at("/v1") }), "newest", "write `params: {temperature: null}`"),
        (json!({ "kind": "responses", "url": at("/v1") }), "gpt-5", "write `params: {temperature: null}`"),
        (
            json!({ "kind": "gemini", "url": at("/v1beta"), "params": { "generationConfig": { "frobnicate": 1 } } }),
            "g",
            "write `params: {generationConfig: {frobnicate: null}}`",
        ),
    ];
    for (settings, model, says) in rows {
        let error = open(&settings, model, false).ask(&question).await.expect_err("refused").to_string();
        assert!(error.contains(says), "{error}");
    }
}
