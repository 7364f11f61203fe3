//! `gabfest models probe` finds the parameters of servers that refuse some, each as strict as a real one.

use serde_json::{Value, json};

use super::{
    process::Place,
    server::{Asked, says, serve},
};

/// Refuses as OpenAI does for models that reason.
fn openai_reasoning(asked: &Asked) -> (u16, Value) {
    let refuse = |param: &str, code: &str, message: &str| {
        let error = json!({ "message": message, "type": "invalid_request_error", "param": param, "code": code });
        (400, json!({ "error": error }))
    };
    let body = &asked.body;
    if body.get("max_tokens").is_some() {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        return refuse("max_tokens", "unsupported_parameter", message);
    }
    if body.get("temperature").is_some_and(|value| *value != json!(1)) {
        let message = "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.";
        return refuse("temperature", "unsupported_value", message);
    }
    let (status, mut reply) = says("{\"answer\": \"ok\"}");
    reply["usage"] = json!({
        "prompt_tokens": 40, "completion_tokens": 300, "completion_tokens_details": { "reasoning_tokens": 256 },
    });
    (status, reply)
}

/// Refuses like Mistral: unknown parameters are forbidden extra inputs.
fn mistral(asked: &Asked) -> (u16, Value) {
    if asked.body.get("seed").is_some() {
        let detail = json!([{ "type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 1 }]);
        return (422, json!({ "object": "error", "message": { "detail": detail }, "type": "invalid_request_error" }));
    }
    says("{\"answer\": \"ok\"}")
}

/// Refuses as Anthropic's newest models do.
fn anthropic(asked: &Asked) -> (u16, Value) {
    let refuse = |message: &str| {
        (400, json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } }))
    };
    if asked.body.get("temperature").is_some() {
        return refuse("`temperature` is deprecated for this model.");
    }
    for unknown in ["seed", "response_format", "max_completion_tokens"] {
        if asked.body.get(unknown).is_some() {
            return refuse(&format!("{unknown}: Extra inputs are not permitted"));
        }
    }
    if asked.body.get("max_tokens").is_none() {
        return refuse("max_tokens: Field required");
    }
    let reply = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "{\"answer\": \"ok\"}" }], "usage": { "input_tokens": 20, "output_tokens": 9 },
    });
    (200, reply)
}

/// Refuses as Gemini does: by the path in its own schema.
fn gemini(asked: &Asked) -> (u16, Value) {
    let config = &asked.body["generationConfig"];
    if config.get("seed").is_some() {
        let message = "Invalid JSON payload received. Unknown name \"seed\" at 'generation_config': Cannot find field.";
        return (400, json!({ "error": { "code": 400, "message": message, "status": "INVALID_ARGUMENT" } }));
    }
    let parts = json!([{ "text": "{\"answer\": \"ok\"}" }]);
    let reply = json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 20, "candidatesTokenCount": 9, "thoughtsTokenCount": 80 }, "modelVersion": "g",
    });
    (200, reply)
}

/// Refuses like servers of local models without schemas: by the value, and by a name for the system message.
fn local(asked: &Asked) -> (u16, Value) {
    let refuse =
        |message: &str| (400, json!({ "error": { "code": 400, "message": message, "type": "invalid_request_error" } }));
    if asked.body["response_format"]["type"] == "json_schema" {
        return refuse("response_format type must be one of \"text\" or \"json_object\", but got: json_schema");
    }
    if asked.body["messages"][0]["role"] == "developer" {
        return refuse("Unexpected message role.");
    }
    says("{\"answer\": \"ok\"}")
}

/// Refuses without saying what.
fn silent(asked: &Asked) -> (u16, Value) {
    if asked.body.get("response_format").is_some_and(|format| format["type"] == "json_schema") {
        return (400, json!({ "error": { "message": "bad request" } }));
    }
    says("{\"answer\": \"ok\"}")
}

/// The settings of an endpoint and the output of the probe.
fn probed(kind: &str, address: &str) -> (i32, String) {
    let place = Place::new();
    let settings = format!(
        "endpoints:\n  m:\n    kind: {kind}\n    url: {address}\n    model: x\n    price: {{input_per_million: 1, output_per_million: 2}}\n"
    );
    place.write("gabfest.yaml", &settings);
    let ended = place.run(&["models", "probe", "m"]);
    (ended.code, ended.stdout)
}

/// How a server answers a request: status and body.
type Rules = fn(&Asked) -> (u16, Value);

#[test]
fn the_parameters_of_strict_servers_are_found() {
    let block = |lines: &str| format!("endpoints:\n  m:\n{lines}");
    let rows: [(&str, Rules, &str, String); 6] = [
        (
            "openai",
            openai_reasoning,
            "3 calls",
            block(
                "    max_tokens_key: max_completion_tokens\n    params: {temperature: null}\n    reasoning_reserve: 4096\n",
            ),
        ),
        ("openai", mistral, "2 calls", block("    params: {seed: null}\n")),
        ("anthropic", anthropic, "2 calls", block("    params: {temperature: null}\n")),
        (
            "gemini",
            gemini,
            "2 calls",
            block("    params: {generationConfig: {seed: null}}\n    reasoning_reserve: 4096\n"),
        ),
        ("openai", local, "2 calls", block("    schema_mode: json_object\n")),
        ("openai", silent, "4 calls", block("    schema_mode: json_object\n")),
    ];
    for (kind, server, calls, expected) in rows {
        let (code, text) = probed(kind, &serve(server));
        assert_eq!(code, 0, "{text}");
        assert!(text.contains(&expected) && text.contains(calls), "{kind}: {text}");
        assert!(text.contains('$'), "what it cost: {text}");
    }
}

#[test]
fn a_server_that_takes_everything_needs_no_settings() {
    let (code, text) = probed("openai", &serve(|_| says("{\"answer\": \"ok\"}")));
    assert!(code == 0 && text.contains("accepts all parameters") && text.contains("1 call"), "{text}");
}

#[test]
fn no_more_than_ten_calls_are_made_and_a_wrong_key_ends_it_at_once() {
    let (code, text) = probed("openai", &serve(|_| (400, json!({ "error": { "message": "no" } }))));
    assert!(code != 0 && text.contains("5 calls"), "{text}");
    let (code, text) = probed("openai", &serve(|_| (401, json!({ "error": { "message": "bad key" } }))));
    assert!(code != 0 && text.contains("1 call"), "{text}");
}
