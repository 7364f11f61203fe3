//! Whole runs whose agent, user and judge use dialects of three providers, against a mock that refuses what they
//! refuse.

use crate::process::Place;

/// Any key will do; a variable that every process of a test has.
const KEY: &str = "env:CARGO_MANIFEST_DIR";

const SCENARIO: &str = r#"
name: orders
description: the agent asks its tool, a user talks with it and a judge reads along
setup:
  mocks:
    - { service: shop, method: order_status, when: { input: { order_id: '7731' } }, response: Order 7731 left the warehouse on Tuesday. }
run:
  - name: tool
    input: What is the status of my order 7731?
    evaluations:
      - { type: tool_calls, calls: [{ name: shop_order_status, arguments: { order_id: '7731' } }] }
      - { type: string_contains, value: warehouse }
  - name: talk
    input: My parcel has not arrived.
    conversation:
      max_turns: 3
      user_simulator: { persona: A customer who waits for a parcel, objective: Find out where the parcel is }
    evaluations:
      - { type: llm_judge, prompt: Is the agent polite?, expected: "yes" }
judgment: { strategy: all_pass }
"#;

fn settings(mock: &str, agent: &str, user: &str, judge: &str) -> String {
    let endpoint = |name: &str, kind: &str| {
        let (path, header) = match kind {
            "gemini" => ("/v1beta", ""),
            "bedrock" => ("", ""),
            "azure" => ("/openai/deployments/d?api-version=2024-10-21", ", key_header: api-key"),
            _ => ("/v1", ""),
        };
        let wire = if kind == "azure" { "openai" } else { kind };
        format!(
            "  {name}: {{ kind: {wire}, url: '{mock}{path}', key: '{KEY}', model: mock-{name}-3, stream: true{header},\n\
             \x20   price: {{ input_per_million: 1, output_per_million: 2 }} }}\n"
        )
    };
    let endpoints = [endpoint("agent", agent), endpoint("user", user), endpoint("judge", judge)].concat();
    format!(
        "endpoints:\n{endpoints}agents:\n  served: {{ endpoint: agent, system: Be brief. }}\n\
         roles: {{ agent: served, user_sim: user, judge: judge }}\n"
    )
}

#[test]
fn agent_user_and_judge_speak_three_dialects() {
    for (agent, user, judge) in [
        ("anthropic", "gemini", "responses"),
        ("gemini", "responses", "anthropic"),
        ("responses", "anthropic", "gemini"),
        ("azure", "bedrock", "anthropic"),
        ("bedrock", "anthropic", "bedrock"),
    ] {
        let place = Place::new();
        let (_mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0"]);
        let mock = address.trim_end_matches('/').trim_end_matches("/v1");
        place.write("gabfest.yaml", &settings(mock, agent, user, judge));
        place.write("weather.scenario.yaml", SCENARIO);
        let ended = place.run(&["run", "weather.scenario.yaml", "--out", "out", "--seed", "7"]);
        let said = format!("{agent} {user} {judge}: {}\n{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, 0, "{said}");
        let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
        assert!(trials.contains("shop_order_status") && trials.contains("PASS"), "{said}: {trials}");
    }
}
