//! Tokens and keys that arrive during a run: an agent that echoes them gets none into anything that is stored.

use serde_json::{Value, json};

use super::{
    process::Place,
    server::{Asked, serve},
};

/// It has no known shape, so that only knowing it can hide it.
const TOKEN: &str = "Vu5Kq8Zr-one-Lm2Xw7Tp";
const SECRET: &str = "Gy3Bd9Hn/&Pf6Sj1Ca";

const SCENARIO: &str = r#"
name: echo
description: the agent says what it was sent
run:
  - name: ask
    input: What do you know?
    evaluations: [{ type: string_contains, value: you sent }]
  - name: ask_again
    input: And now?
    evaluations: [{ type: string_contains, value: you sent }]
judgment: { strategy: all_pass }
"#;

fn guarded(asked: &Asked) -> (u16, Value) {
    let key = asked.header("authorization");
    if key != format!("Bearer {TOKEN}") {
        return (401, json!({ "error": format!("no such token: {key}") }));
    }
    (200, json!({ "text": format!("you sent {key}") }))
}

#[test]
fn a_token_of_a_run_is_in_nothing_that_the_run_keeps() {
    let place = Place::new();
    let agent = serve(guarded);
    // The agent rejects the first token.
    let issued = std::sync::atomic::AtomicU32::new(0);
    let tokens = serve(move |_| {
        let first = issued.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        let token = if first { "Ro4Wz6Ne-old-Qk8Jb3Ty" } else { TOKEN };
        (200, json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 }))
    });
    let oauth = format!("{{ token_url: '{tokens}/token', client_id: c, client_secret: env:CLIENT_SECRET }}");
    place.write(
        "gabfest.yaml",
        &format!(
            "agents:\n  shop:\n    http: {{ url: '{agent}/chat', oauth: {oauth}, reply: {{ text: $.text }} }}\nroles: {{ agent: shop }}\n"
        ),
    );
    place.write("echo.scenario.yaml", SCENARIO);
    let mut command = place.gabfest(&["run", "echo.scenario.yaml", "--out", "out"]);
    let ended = command.env("CLIENT_SECRET", SECRET).output().unwrap();
    let said = [ended.stdout, ended.stderr].concat();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&said));
    let mut kept = vec![("what it printed".to_owned(), said)];
    for file in std::fs::read_dir(place.path().join("out")).unwrap() {
        let file = file.unwrap();
        kept.push((file.file_name().display().to_string(), std::fs::read(file.path()).unwrap()));
    }
    assert!(kept.iter().any(|(name, _)| name == "run.db") && kept.len() > 4);
    for (name, bytes) in kept {
        let text = String::from_utf8_lossy(&bytes);
        for secret in [TOKEN, "Ro4Wz6Ne-old-Qk8Jb3Ty", SECRET] {
            assert!(!text.contains(secret), "{name} holds {secret}");
        }
    }
}

#[test]
fn a_token_server_that_refuses_is_a_fault_of_the_settings_and_not_of_the_agent() {
    let place = Place::new();
    let agent = serve(guarded);
    let tokens = serve(|_| (401, json!({ "error": "invalid_client" })));
    let oauth = format!("{{ token_url: '{tokens}/token', client_id: c, client_secret: env:CLIENT_SECRET }}");
    place.write(
        "gabfest.yaml",
        &format!("agents:\n  shop:\n    http: {{ url: '{agent}/chat', oauth: {oauth}, reply: {{ text: $.text }} }}\nroles: {{ agent: shop }}\n"),
    );
    place.write("echo.scenario.yaml", SCENARIO);
    let mut command = place.gabfest(&["run", "echo.scenario.yaml", "--out", "out"]);
    let ended = command.env("CLIENT_SECRET", SECRET).output().unwrap();
    assert_ne!(ended.status.code(), Some(0));
    let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
    let trial: Value = serde_json::from_str(trials.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&trial["verdict"], &trial["failure_kind"], &trial["blame"]),
        (&json!("ERROR"), &json!("misconfigured"), &json!("config")),
        "{trial}"
    );
    assert!(trial["failure_message"].as_str().unwrap().contains("invalid_client"), "{trial}");
}
