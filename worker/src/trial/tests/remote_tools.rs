//! Agents that call their tools themselves, over real sockets: every call is recorded in its turn, and checks see it.

use std::collections::{BTreeMap, BTreeSet};

use agent::Surroundings;
use axum::{Json, Router, extract::State, routing::post};
use rmcp::{ServiceExt as _, model::CallToolRequestParams, transport::StreamableHttpClientTransport};
use tokio::{net::TcpListener, time::sleep};

use super::*;
use crate::{Models, environment::Execution, fakes, tool_server::ToolServer};

/// An agent that does what the user says, one action a line: `http TOOL ARGUMENTS`, `mcp TOOL ARGUMENTS`, `reports TOOL
/// ARGUMENTS` (reports a call without making it), `leaves TOOL ARGUMENTS` (does not wait for the answer) and `later
/// TOOL ARGUMENTS` (calls after the reply). It replies with the answers of its calls.
async fn obedient(State(client): State<reqwest::Client>, Json(body): Json<Value>) -> Json<Value> {
    let text = |key: &str| body[key].as_str().unwrap().to_owned();
    let (mut said, mut reported) = (Vec::new(), Vec::new());
    for line in text("message").lines() {
        let mut words = line.splitn(3, ' ');
        let (deed, tool) = (words.next().unwrap(), words.next().unwrap_or_default().to_owned());
        let arguments = words.next().unwrap_or("{}").replace("ME", &text("conversation"));
        let call = {
            let request = client.post(format!("{}/{tool}", text("tools"))).body(arguments.clone());
            async move { request.send().await.unwrap().text().await.unwrap() }
        };
        match deed {
            "http" => said.push(call.await),
            "mcp" => {
                let server = ().serve(StreamableHttpClientTransport::from_uri(text("mcp"))).await.unwrap();
                let arguments = serde_json::from_str(&arguments).unwrap();
                let result =
                    server.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap();
                said.push(result.content[0].as_text().unwrap().text.clone());
            }
            "reports" => reported.push(json!({ "name": tool, "arguments": arguments })),
            "leaves" => {
                tokio::spawn(call);
                // The call has arrived, and its result is not awaited.
                sleep(Duration::from_millis(100)).await;
            }
            "later" => {
                tokio::spawn(async move {
                    sleep(Duration::from_millis(150)).await;
                    call.await
                });
            }
            _ => said.push(format!("tools {:?}", text("tools"))),
        }
    }
    Json(json!({ "text": format!("done {}", said.join(" ")), "calls": reported }))
}

/// A worker whose agent is at the other end of a socket.
async fn resources() -> (Arc<Resources>, ToolServer) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let routes = Router::new().route("/", post(obedient)).with_state(reqwest::Client::new());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let settings = json!({ "http": {
        "url": url,
        "body": {
            "message": "{{ message }}", "tools": "{{ tools_url }}", "mcp": "{{ mcp_url }}",
            "conversation": "{{ trial }}",
        },
        "reply": { "text": "$.text", "tool_calls": "$.calls" },
    } });
    let settings = serde_json::from_value(settings).unwrap();
    let agent = agent::connect("mock", &settings, &Surroundings::default()).unwrap().unwrap();
    // A judge that takes its time, so that something can happen between two messages.
    let judge = Arc::new(FakeModel::saying("judge", YES).after(Duration::ZERO, Duration::from_millis(600)));
    let models = Models {
        user_sim: Arc::clone(&judge) as _,
        judge,
        by_type: BTreeMap::new(),
        scores: Default::default(),
        judge_max_tokens: evaluate::JUDGE_MAX_TOKENS,
    };
    let server = ToolServer::default();
    let resources = Resources { tool_server: server.clone(), ..fakes::resources(agent, models, Execution::Off) };
    (Arc::new(resources), server)
}

fn shop(steps: Value, more: Value) -> Value {
    let mut more = more;
    more["setup"] = json!({ "mocks": [
        { "service": "shop", "method": "look", "responseFn": "(args, input) => input.id" },
        { "service": "shop", "method": "cancel", "response": { "ok": true } },
        { "service": "shop", "method": "slow", "response": "at last", "metadata": { "delay": 300 } },
        { "service": "shop", "method": "flaky", "response": "fine", "metadata": { "probability": 0.5 } },
    ] });
    scenario(steps, more)
}

fn say(input: &str, checks: Value) -> Value {
    json!({ "name": "step", "input": input, "evaluations": checks })
}

fn calls(turn: &Turn) -> Vec<String> {
    let write = |call: &record::turn::ToolCall| {
        format!("{}({}) = {}", call.name, call.arguments, call.result.as_deref().unwrap_or("nothing"))
    };
    turn.tool_calls.iter().map(write).collect()
}

async fn play_steps(steps: Value) -> Played {
    let (resources, server) = resources().await;
    let played = play_one(&plan(&shop(steps, json!({})), 1), 0, 1, resources).await;
    assert_eq!(server.registrations(), Some(0), "the trial is over");
    assert_eq!(played.notes("mocks"), [""; 0]);
    played
}

#[tokio::test]
async fn checks_see_the_calls_that_came() {
    let made =
        "http look {\"id\":\"7\"}\nmcp shop_cancel {\"id\":\"7\",\"reason\":\"late\"}\nhttp shop.look {\"id\":\"8\"}";
    let look = |id: &str| json!({ "name": "look", "arguments": { "id": id } });
    let cancel = json!({ "name": "shop_cancel", "arguments": { "id": "7" } });
    let (pass, fail) = (Finding::Pass, Finding::Fail);
    let dotted = json!({ "name": "shop.look", "arguments": { "id": "8" } });
    let whole = json!({ "name": "shop_cancel", "arguments": { "id": "7", "reason": "late" } });
    let rows = [
        ("exact", json!([look("7"), whole, dotted]), pass),
        ("exact", json!([look("7"), whole]), fail),
        ("exact_any_order", json!([dotted, look("7"), whole]), pass),
        ("in_order", json!([look("7"), dotted]), pass),
        ("in_order", json!([whole, look("7")]), fail),
        ("any_order", json!([whole, look("7")]), pass),
        ("any_order", json!([look("9")]), fail),
        ("subset", json!([look("7"), whole, dotted, { "name": "other" }]), pass),
        ("subset", json!([look("7"), cancel]), fail),
        ("forbidden", json!([{ "name": "delete" }]), pass),
        ("forbidden", json!([{ "name": "shop_cancel" }]), fail),
        (
            "any_order",
            json!([{ "name": "shop_cancel", "arguments": { "id": "7" }, "argument_checks": { "reason": [{ "type": "contains", "values": ["late"] }] } }]),
            pass,
        ),
        (
            "any_order",
            json!([{ "name": "shop_cancel", "arguments": { "id": "7" }, "argument_checks": { "reason": [{ "type": "contains", "values": ["early"] }] } }]),
            fail,
        ),
    ];
    let checks: Vec<Value> =
        rows.iter().map(|(order, calls, _)| json!({ "type": "tool_calls", "order": order, "calls": calls })).collect();
    let played = play_steps(json!([say(made, checks.into())])).await;
    let expected: Vec<Finding> = rows.iter().map(|row| row.2).collect();
    let reasons: Vec<&str> = played.trial.judgments.iter().map(|judgment| judgment.reason.as_str()).collect();
    assert_eq!(played.findings(), expected, "{reasons:#?}");
    assert_eq!(played.turns[0].agent.as_deref(), Some("done \"7\" {\"ok\":true} \"8\""));
    assert_eq!(
        calls(&played.turns[0]),
        [
            "look({\"id\":\"7\"}) = 7",
            "shop_cancel({\"id\":\"7\",\"reason\":\"late\"}) = {\"ok\":true}",
            "shop.look({\"id\":\"8\"}) = 8",
        ]
    );
}

#[tokio::test]
async fn calls_that_an_agent_also_reports_count_once() {
    let steps = json!([
        say("http look {\"id\":\"1\"}\nreports shop_look {\"id\": \"1\"}\nreports own {\"n\":1}", json!([])),
        say("reports look {\"id\":\"2\"}", json!([])),
        say("http nothing {}\nhttp look {\"id\":\"3\"}", json!([])),
    ]);
    let played = play_steps(steps).await;
    let turns: Vec<Vec<String>> = played.turns.iter().map(calls).collect();
    assert_eq!(turns[0], ["look({\"id\":\"1\"}) = 1", "own({\"n\":1}) = nothing"]);
    assert_eq!(turns[1], ["look({\"id\":\"2\"}) = nothing"], "only reported, and never made");
    assert_eq!(turns[2], ["nothing({}) = nothing", "look({\"id\":\"3\"}) = 3"]);
}

#[tokio::test]
async fn a_call_after_the_reply_belongs_to_its_turn() {
    let steps = json!([
        say("later look {\"id\":\"1\"}\nleaves slow", json!([judged("Is it well?")])),
        say("http look {\"id\":\"2\"}", json!([{ "type": "tool_calls", "calls": [{ "name": "look" }] }])),
    ]);
    let played = play_steps(steps).await;
    let turns: Vec<Vec<String>> = played.turns.iter().map(calls).collect();
    assert_eq!(turns[0], ["slow({}) = at last", "look({\"id\":\"1\"}) = 1"]);
    assert_eq!(turns[1], ["look({\"id\":\"2\"}) = 2"]);
    assert_eq!(played.end(), (Verdict::Pass, None));
}

#[tokio::test]
async fn a_result_that_comes_too_late_is_in_no_turn() {
    let (resources, server) = resources().await;
    let resources = Arc::into_inner(resources).unwrap();
    let execution = Execution::host(Vec::new(), crate::environment::Limits::default());
    let resources = Arc::new(Resources { execution, ..resources });
    let steps = json!([
        say("leaves slow\nhttp look {\"id\":\"1\"}", json!([])),
        { "name": "program", "code": "sleep 0.5" },
        say("http look {\"id\":\"2\"}", json!([])),
    ]);
    let played = play_one(&plan(&shop(steps, json!({})), 1), 0, 1, resources).await;
    let turns: Vec<Vec<String>> = played.turns.iter().map(calls).collect();
    assert_eq!(turns[0], ["slow({}) = nothing", "look({\"id\":\"1\"}) = 1"]);
    assert_eq!((turns[1].len(), &turns[2][..]), (0, &["look({\"id\":\"2\"}) = 2".to_owned()][..]));
    assert_eq!(server.registrations(), Some(0));
}

#[tokio::test]
async fn real_services_are_not_mocked() {
    let (resources, server) = resources().await;
    for (live, mocks) in [(true, true), (false, false)] {
        let steps = json!([say("where", json!([contains("tools \"\"")]))]);
        let written = if mocks { shop(steps, json!({})) } else { scenario(steps, json!({})) };
        let plan = Plan { live, ..(*plan(&written, 1)).clone() };
        let played = play_one(&Arc::new(plan), 0, 1, Arc::clone(&resources)).await;
        assert_eq!(played.end(), (Verdict::Pass, None), "{played:?}");
    }
    assert_eq!(server.registrations(), None, "nothing listens where nobody needs it");
}

#[tokio::test]
async fn agents_without_addresses_keep_their_tools() {
    let (resources, server) = resources().await;
    let fake: Arc<dyn agent::Agent> = FakeAgent::saying("Hello.");
    let resources =
        Resources { tool_server: server.clone(), ..fakes::resources(fake, resources.models.clone(), Execution::Off) };
    let plan = plan(&shop(json!([say("hello", json!([]))]), json!({})), 1);
    let played = play_one(&plan, 0, 1, Arc::new(resources)).await;
    assert_eq!((played.notes("mocks").len(), server.registrations()), (1, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_conversations_do_not_hear_each_other() {
    let (resources, server) = resources().await;
    let steps = json!([
        say("http look {\"id\":\"ME\"}\nhttp flaky {\"n\":1}\nhttp flaky {\"n\":2}", json!([])),
        say("http flaky {\"n\":1}\nhttp look {\"id\":\"ME\"}", json!([])),
    ]);
    let plan = plan(&shop(steps, json!({})), 200);
    let play_all = || async {
        let mut trials = tokio::task::JoinSet::new();
        for number in 0..200 {
            let (plan, resources) = (Arc::clone(&plan), Arc::clone(&resources));
            trials.spawn(async move { (number, play_one(&plan, number, 1, resources).await) });
        }
        let played: BTreeMap<u64, Played> = trials.join_all().await.into_iter().collect();
        let calls = played.into_iter().map(|(number, played)| {
            let own = format!("look({{\"id\":\"{0}\"}}) = {0}", plan.trial(number).unwrap().id);
            let turns: Vec<Vec<String>> = played.turns.iter().map(calls).collect();
            assert_eq!((turns[0].len(), turns[1].len()), (3, 2), "{turns:?}");
            assert_eq!((&turns[0][0], &turns[1][1]), (&own, &own));
            turns
        });
        calls.collect::<Vec<_>>()
    };
    let first = play_all().await;
    assert_eq!(server.registrations(), Some(0));
    // The order of calls differs each time; the mocks' answers do not.
    assert_eq!(play_all().await, first);
    let answers: BTreeSet<&str> = first
        .iter()
        .flatten()
        .flatten()
        .filter(|call| call.starts_with("flaky"))
        .map(|call| call.split_once(") = ").unwrap().1)
        .collect();
    assert_eq!(answers.len(), 2, "some fail and some do not: {answers:?}");
}

#[tokio::test]
async fn mocks_keep_a_state_for_one_trial_and_checks_see_it() {
    let (resources, _server) = resources().await;
    let mocks = json!([
        { "service": "shop", "method": "look", "response": "{{state.orders[input.id].status}}" },
        { "service": "shop", "method": "refund", "set": { "orders.{{input.id}}.status": "refunded" }, "response": "done" },
    ]);
    let state_is = |path: &str, expected: &str| json!({ "type": "mock_state", "path": path, "equals": expected });
    let steps = json!([
        say("http look {\"id\":\"7\"}", json!([contains("open"), state_is("orders.7.status", "open")])),
        say("mcp shop_refund {\"id\":\"7\"}", json!([state_is("$.orders.7.status", "refunded")])),
        say("http look {\"id\":\"7\"}", json!([contains("refunded"), state_is("orders.8.status", "open")])),
    ]);
    let state = json!({ "state": { "orders": { "7": { "status": "open" }, "8": { "status": "open" } } } });
    let more = json!({ "setup": { "mocks": mocks }, "gabfest": state });
    let plan = plan(&scenario(steps, more), 2);
    for number in 0..2 {
        let played = play_one(&plan, number, 1, Arc::clone(&resources)).await;
        assert_eq!(played.trial.verdict, Verdict::Pass, "trial {number}: {:?}", played.trial.failure);
        let kept = played.notes("end_state");
        assert_eq!(kept.len(), 3, "{kept:?}");
        let last: Value = serde_json::from_str(kept[2]).unwrap();
        assert_eq!(last["of"], "mocks");
        assert_eq!(last["state"]["orders"]["7"]["status"], "refunded");
    }
}
