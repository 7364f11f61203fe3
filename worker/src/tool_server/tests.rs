//! The tool server as its callers see it: plain HTTP, and a client of the Model Context Protocol that others wrote.

use std::{sync::Arc, time::Duration};

use agent::Tools;
use record::turn::ToolCall;
use rmcp::{
    ServiceExt as _,
    model::{CallToolRequestParams, ErrorCode, JsonObject},
    service::ServiceError,
    transport::StreamableHttpClientTransport,
};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use super::{Registration, ToolAddress, ToolServer};

fn tools() -> Arc<Tools> {
    let mock = |method: &str, more: Value| {
        let mut mock = json!({ "service": "shop", "method": method, "when": null, "response": null,
            "response_fn": null, "error": null, "delay_ms": 0, "failure_probability": 0.0 });
        mock.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(mock).unwrap()
    };
    let when =
        |input: Value| json!({ "args": null, "input": input, "context": null, "matcher": null, "partial_args": null });
    let error = |status: Option<u16>| json!({ "code": "OOPS", "message": "it broke", "status": status });
    let mocks = vec![
        mock("look", json!({ "when": when(json!({ "id": "1" })), "response": { "status": "shipped" } })),
        mock("look", json!({ "error": error(Some(404)) })),
        mock("text", json!({ "response": "plain words" })),
        mock("odd", json!({ "error": error(None) })),
        mock("fine", json!({ "error": error(Some(200)) })),
        mock("flaky", json!({ "failure_probability": 1.0 })),
        mock("picky", json!({ "when": when(json!({ "id": "1" })), "response": 7 })),
        mock("slow", json!({ "delay_ms": 60_000, "response": "at last" })),
        mock("brief", json!({ "delay_ms": 20, "response": "soon" })),
    ];
    Arc::new(Tools::new(mocks, 7, Map::new(), || 0))
}

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

async fn registration(server: &ToolServer) -> Registration {
    server.register(tools()).await.expect("a registration")
}

async fn post(url: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let answer = client().post(url).body(body).send().await.expect("an answer");
    assert_eq!(answer.headers()["content-type"], "application/json");
    (answer.status().as_u16(), answer.json().await.expect("JSON"))
}

fn written(calls: &[(u64, ToolCall)]) -> Vec<String> {
    let write = |(_, call): &(u64, ToolCall)| {
        format!("{}({}) = {}", call.name, call.arguments, call.result.as_deref().unwrap_or("nothing"))
    };
    calls.iter().map(write).collect()
}

#[tokio::test]
async fn tools_are_listed_and_called_by_http() {
    let server = ToolServer::default();
    let registration = registration(&server).await;
    let url = registration.tools_url();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/tools"), "{url}");
    let listed: Value = client().get(&url).send().await.unwrap().json().await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["type"]), (8, &json!("function")));
    assert_eq!(tools[0]["function"]["name"], "shop_look");
    assert!(tools[0]["function"]["parameters"]["properties"]["id"].is_object(), "{listed}");

    let oops = |status: Option<u16>| {
        let mut error = json!({ "error": "OOPS: it broke", "code": "OOPS" });
        if let Some(status) = status {
            error["status"] = status.into();
        }
        error
    };
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let rows: Vec<(&str, String, u16, Option<Value>)> = vec![
        ("shop_look", r#"{"id":"1"}"#.into(), 200, Some(json!({ "status": "shipped" }))),
        ("look", r#" { "id" : "1" } "#.into(), 200, Some(json!({ "status": "shipped" }))),
        ("shop/look", r#"{"id":"1"}"#.into(), 200, Some(json!({ "status": "shipped" }))),
        ("shop%2Elook", r#"{"id":"2"}"#.into(), 404, Some(oops(Some(404)))),
        ("text", String::new(), 200, Some(json!("plain words"))),
        ("odd", "{}".into(), 500, Some(oops(None))),
        ("fine", "[1]".into(), 500, Some(oops(Some(200)))),
        ("flaky", "{}".into(), 500, None),
        ("picky", r#"{"id":"2"}"#.into(), 404, None),
        ("nothing", "{}".into(), 404, None),
        ("look", "{".into(), 400, None),
        ("look", deep, 400, None),
        ("look", "x".repeat((256 << 10) + 1), 413, None),
        ("look", format!("[{}1]", "1,".repeat(60_000)), 413, None),
    ];
    for (name, body, status, answer) in rows {
        let (got, said) = post(&format!("{url}/{name}"), body).await;
        assert_eq!(got, status, "{name}: {said}");
        match answer {
            Some(answer) => assert_eq!(said, answer, "{name}"),
            None => assert!(said["error"].is_string(), "{name}: {said}"),
        }
    }
    let (_, said) = post(&format!("{url}/nothing"), "{}").await;
    assert!(said["error"].as_str().unwrap().contains("shop_look") && said["tools"][1] == "shop_text", "{said}");
    let (_, said) = post(&format!("{url}/picky"), "{}").await;
    assert!(said["error"].as_str().unwrap().contains("no mock of picky answers these arguments"), "{said}");
    let (status, said) = post(&format!("{url}/look"), vec![b'"', 0xff, b'"']).await;
    assert!(status == 400 && said["error"].as_str().unwrap().contains("UTF-8"), "{said}");
    let wrong = client().get(format!("{url}/look")).send().await.unwrap();
    assert_eq!(wrong.status().as_u16(), 405);

    // Unreadable arguments are not a call; everything else was recorded as it was written.
    let calls = written(&registration.journal().take().calls);
    assert_eq!(calls.len(), 12, "{calls:?}");
    assert_eq!(calls[1], r#"look({ "id" : "1" }) = {"status":"shipped"}"#);
    assert_eq!(calls[2], r#"shop/look({"id":"1"}) = {"status":"shipped"}"#);
    assert_eq!(calls[4], "text({}) = plain words");
    assert_eq!(calls[9], "nothing({}) = nothing");
}

#[tokio::test]
async fn tools_are_listed_and_called_by_the_model_context_protocol() {
    let server = ToolServer::default();
    let registration = registration(&server).await;
    let _ = client();
    let agent = ().serve(StreamableHttpClientTransport::from_uri(registration.mcp_url())).await.expect("initializes");
    assert_eq!(agent.peer_info().unwrap().server_info.as_ref().unwrap().name, "gabfest");
    let tools = agent.list_all_tools().await.expect("tools");
    assert_eq!((tools.len(), tools[0].name.as_ref()), (8, "shop_look"));
    assert!(tools[0].input_schema["properties"]["id"].is_object(), "{:?}", tools[0]);
    let call = |name: &'static str, arguments: Value| {
        let arguments: JsonObject = arguments.as_object().unwrap().clone();
        agent.call_tool(CallToolRequestParams::new(name).with_arguments(arguments))
    };
    let rows = [
        ("shop_look", json!({ "id": "1" }), false, r#"{"status":"shipped"}"#),
        ("shop_look", json!({ "id": "2" }), true, r#"{"error":"OOPS: it broke","code":"OOPS","status":404}"#),
        ("shop_text", json!({}), false, "plain words"),
        ("shop_flaky", json!({}), true, r#"{"error":"RANDOM_FAILURE: Random mock failure","code":"RANDOM_FAILURE"}"#),
    ];
    for (name, arguments, is_error, text) in rows {
        let result = call(name, arguments).await.expect("a result");
        assert_eq!((result.is_error, result.content[0].as_text().unwrap().text.as_str()), (Some(is_error), text));
    }
    match call("nothing", json!({})).await {
        Err(ServiceError::McpError(error)) => {
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
            assert!(error.message.contains("there is no tool") && error.message.contains("shop_text"), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    let calls = written(&registration.journal().take().calls);
    assert_eq!(calls.len(), 5, "{calls:?}");
    assert_eq!(calls[0], r#"shop_look({"id":"1"}) = {"status":"shipped"}"#);
    // The conversation ends, and its path no longer exists.
    drop(registration);
    assert!(call("shop_text", json!({})).await.is_err());
}

/// A tool, its arguments, and the answer.
type Call = (&'static str, Value, u16, Value);

/// The mocks of real files.
#[tokio::test]
async fn mocks_of_real_cases_answer() {
    let Some(cases) = std::env::var_os("GABFEST_CASES") else {
        println!("SKIPPED: the mocks of real cases (GABFEST_CASES is not set)");
        return;
    };
    let server = ToolServer::default();
    let issue = |title: &str, number: u32| json!([{ "title": title, "number": number }]);
    let files: [(&str, Vec<Call>); 2] = [
        (
            "mock-test",
            vec![
                ("searchIssues", json!(["elizaos/eliza"]), 200, issue("Mocked Issue for Eliza", 123)),
                (
                    "github_service_search_issues",
                    json!({ "repo": "elizaos/eliza" }),
                    200,
                    issue("Mocked Issue for Eliza", 123),
                ),
                ("github-service.searchIssues", json!(["other/repo"]), 200, issue("Generic Mocked Issue", 456)),
                (
                    "database-service_query",
                    json!({ "sql": "…" }),
                    200,
                    json!([{ "id": 1, "name": "Mocked Database Result" }]),
                ),
            ],
        ),
        (
            "legacy-compatibility",
            vec![
                (
                    "authenticate",
                    json!({ "username": "testuser" }),
                    200,
                    json!({ "success": true, "user_id": "user123" }),
                ),
                ("authenticate", json!({ "username": "somebody" }), 404, Value::Null),
            ],
        ),
    ];
    for (file, calls) in files {
        let path = std::path::Path::new(&cases).join(format!("eliza/history/{file}.scenario.yaml"));
        if !path.is_file() {
            println!("SKIPPED: {file} is not among the cases");
            continue;
        }
        let reading = formats::read(&[path]);
        let plan = scenario::plan::build(&reading, &Default::default()).expect("a plan");
        let mocks = plan.scenario(&plan.case(0).expect("a case"), formats::ALL).expect("a scenario").mocks;
        let registration =
            server.register(Arc::new(Tools::new(mocks, 7, Map::new(), || 0))).await.expect("a registration");
        for (tool, arguments, status, answer) in calls {
            let (got, said) = post(&format!("{}/{tool}", registration.tools_url()), arguments.to_string()).await;
            assert_eq!(got, status, "{tool}: {said}");
            assert!(status != 200 || said == answer, "{tool}: {said}");
        }
    }
}

#[tokio::test]
async fn a_call_says_which_of_the_agents_calls_it_is() {
    let server = ToolServer::default();
    let registration = registration(&server).await;
    let url = format!("{}/text", registration.tools_url());
    client().post(url).header("x-tool-call-id", "call_7").send().await.unwrap();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "text", "arguments": {}, "_meta": { "toolCallId": "call_8" } } });
    let (status, said) = raw(&registration.mcp_url(), &body, &[]).await;
    assert_eq!((status, &said["result"]["content"][0]["text"]), (200, &json!("plain words")), "{said}");
    let calls = registration.journal().take().calls;
    let ids: Vec<&str> = calls.iter().map(|(_, call)| call.id.as_str()).collect();
    assert_eq!(ids, ["call_7", "call_8"]);
}

/// A request of the Model Context Protocol with these headers.
async fn raw(url: &str, body: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = client()
        .post(url)
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .body(body.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
}

#[tokio::test]
async fn pages_of_the_web_are_turned_away() {
    let place = ToolAddress::new(None, Some("http://tools.example:7500")).unwrap();
    let server = ToolServer::new(place);
    let told = registration(&server).await;
    assert!(told.mcp_url().starts_with("http://tools.example:7500/t/"), "{}", told.mcp_url());
    let bound = server.bound().unwrap();
    let url = told.mcp_url().replace("tools.example:7500", &bound.to_string());
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let rows: [(&[(&str, &str)], u16); 6] = [
        (&[], 200),
        (&[("host", "localhost")], 200),
        (&[("host", "tools.example")], 200),
        (&[("host", "evil.example")], 403),
        (&[("origin", "http://evil.example")], 403),
        (&[("origin", "http://localhost")], 403),
    ];
    for (headers, status) in rows {
        assert_eq!(raw(&url, &body, headers).await.0, status, "{headers:?}");
    }
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "x": "y".repeat(1 << 20) } });
    assert_eq!(raw(&url, &long, &[]).await.0, 413);
}

#[tokio::test]
async fn tools_of_other_conversations_are_hidden() {
    let server = ToolServer::default();
    assert_eq!(server.registrations(), None, "nothing listens before somebody needs it");
    let (one, two) = (registration(&server).await, registration(&server).await);
    assert_ne!(one.tools_url(), two.tools_url());
    let token = one.tools_url().split('/').nth(4).unwrap().to_owned();
    assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
    post(&format!("{}/text", one.tools_url()), "{}").await;
    assert_eq!((one.journal().take().calls.len(), two.journal().take().calls.len()), (1, 0));
    let guessed = one.tools_url().replace(&token, &"0".repeat(32));
    assert_eq!(post(&format!("{guessed}/text"), "{}").await.0, 404);
    let url = one.tools_url();
    drop(one);
    assert_eq!((post(&format!("{url}/text"), "{}").await.0, server.registrations()), (404, Some(1)));
    assert_eq!(raw(&url.replace("/tools", "/mcp"), &json!({}), &[]).await.0, 404);
}

#[tokio::test]
async fn a_call_that_is_held_ends_with_its_conversation() {
    let server = ToolServer::default();
    let registration = registration(&server).await;
    let began = Instant::now();
    let by_http = tokio::spawn({
        let url = format!("{}/slow", registration.tools_url());
        async move { post(&url, "{}").await }
    });
    let by_mcp = tokio::spawn({
        let url = registration.mcp_url();
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "slow" } });
        async move { raw(&url, &call, &[]).await }
    });
    let mut came = Vec::new();
    while came.len() < 2 {
        sleep(Duration::from_millis(5)).await;
        came.extend(registration.journal().take().calls);
    }
    assert!(came.iter().all(|(_, call)| call.name == "slow" && call.result.is_none()), "{came:?}");
    drop(registration);
    assert_eq!(by_http.await.unwrap(), (410, json!({ "error": "the conversation is over" })));
    assert_ne!(by_mcp.await.unwrap().0, 200);
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_delay_passes_before_the_answer() {
    let server = ToolServer::default();
    let registration = registration(&server).await;
    let began = Instant::now();
    assert_eq!(post(&format!("{}/brief", registration.tools_url()), "").await, (200, json!("soon")));
    assert!(began.elapsed() >= Duration::from_millis(20));
}

#[tokio::test]
async fn a_used_address_is_reported() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = ToolAddress::new(taken.local_addr().ok(), None).unwrap();
    let server = ToolServer::new(place);
    let early = server.open_if_named().await.expect_err("it is taken").to_string();
    let late = server.register(tools()).await.expect_err("it is taken").to_string();
    assert!(early.starts_with("listen on 127.0.0.1:") && early.contains("in use"), "{early}");
    assert_eq!(late, early);
    drop(taken);
    server.open_if_named().await.expect("it is free now");
    assert_eq!(server.registrations(), Some(0));
}

#[tokio::test]
async fn a_free_port_is_taken_only_when_it_is_needed() {
    let server = ToolServer::new(ToolAddress::new(None, Some("http://tools.example:7500")).unwrap());
    server.open_if_named().await.unwrap();
    assert_eq!(server.registrations(), None);
}
