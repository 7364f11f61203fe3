//! Agents that answer badly: each trial ends in a classified outcome, never in a hang or a false verdict.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
};

use serde_json::Value;

use crate::process::Place;

pub(crate) const ASK: &str = "
name: ask
description: one question
run:
  - input: hello
    evaluations:
      - { type: string_contains, value: hello }
judgment: { strategy: all_pass }
";

/// An agent that sends these bytes to every client and closes the connection.
pub(crate) fn agent(answer: impl Into<String>) -> String {
    let answer = answer.into();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0_u8; 65_536];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}/v1")
}

/// The one trial of a run that exits with `code`.
fn play(url: &str, stream: bool, code: i32) -> Value {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    place.write(
        "gabfest.yaml",
        &format!(
            "endpoints:\n  bad: {{ url: '{url}', stream: {stream}, timeout_ms: 1500, retries: {{ deadline_ms: 1000 }} }}\nagents:\n  bad: {{ endpoint: bad }}\n"
        ),
    );
    let ended = place.run(&["run", "ask.scenario.yaml", "--agent", "bad", "--out", "out"]);
    assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
    let line = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
    serde_json::from_str(line.lines().next().unwrap()).unwrap()
}

#[test]
fn the_hint_for_an_agent_that_is_a_program_names_the_flag_that_starts_it() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    place.write("gabfest.yaml", "agents:\n  mine: { subprocess: { command: [cat] } }\n");
    let ended = place.run(&["run", "ask.scenario.yaml", "--agent", "mine"]);
    let hints: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("hint ")).collect();
    let [hint] = hints.as_slice() else { panic!("{}{}", ended.stdout, ended.stderr) };
    assert!(hint.contains("--allow-exec=host starts it"), "{hint}");
}

#[test]
fn every_bad_answer_is_the_agents_error_with_its_kind() {
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 28\r\nconnection: close\r\n\r\n<html><h1>Welcome</h1></html";
    let broken = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 4\r\nconnection: close\r\n\r\noops";
    let refused = "HTTP/1.1 422 Unprocessable Content\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno";
    let empty = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"\"},\"finish_reason\":\"stop\"}],\"a\":1}";
    let half = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\n\n";
    for (name, answer, stream, kind) in [
        ("html", html, false, "agent_malformed"),
        ("500", broken, false, "agent_failed"),
        ("422", refused, false, "agent_refused"),
        ("nothing", "", false, "agent_unreachable"),
        ("empty", empty, false, "agent_empty"),
        ("half a stream", half, true, "agent_malformed"),
    ] {
        // An agent that collapses fails the gate.
        let trial = play(&agent(answer), stream, 1);
        assert_eq!((&trial["verdict"], &trial["blame"]), (&"ERROR".into(), &"agent".into()), "{name}: {trial}");
        assert_eq!(trial["failure_kind"], kind, "{name}: {trial}");
    }
}

#[test]
fn a_refused_key_is_our_settings_and_not_the_agents_fault() {
    let refused = "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno";
    let trial = play(&agent(refused), false, 3);
    assert_eq!((&trial["verdict"], &trial["blame"]), (&"ERROR".into(), &"config".into()), "{trial}");
    assert_eq!(trial["failure_kind"], "misconfigured", "{trial}");
}

#[test]
fn an_agent_that_is_not_there_is_unreachable() {
    let trial = play("http://127.0.0.1:9/v1", false, 1);
    assert_eq!((&trial["verdict"], &trial["failure_kind"]), (&"ERROR".into(), &"agent_unreachable".into()));
}

#[test]
fn the_mock_server_is_an_agent_like_any_other() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    let (_mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0"]);
    let ended = place.run(&["run", "ask.scenario.yaml", "--agent", &address, "--out", "out", "--repeats", "5"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let report = place.json("out/report.json");
    assert_eq!(report["summary"]["cost"]["complete"], false, "an address has no price, so the total says so");
    assert_eq!(report["summary"]["llm_calls"]["agent"], 5);
}

#[test]
fn a_secret_is_in_no_artifact() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    place.write(
        "gabfest.yaml",
        "endpoints:\n  bad: { url: 'http://127.0.0.1:9/v1', key: 'env:PLANTED', retries: { deadline_ms: 300 } }\nagents:\n  bad: { endpoint: bad }\n",
    );
    let secret = "sk-planted-0123456789abcdef";
    let mut command = place.gabfest(&["-vvv", "run", "ask.scenario.yaml", "--agent", "bad", "--out", "out"]);
    let output = command.env("PLANTED", secret).output().unwrap();
    let mut texts = vec![output.stdout, output.stderr];
    for entry in std::fs::read_dir(place.path().join("out")).unwrap() {
        texts.push(std::fs::read(entry.unwrap().path()).unwrap());
    }
    assert!(texts.len() > 6);
    for text in texts {
        assert!(!text.windows(secret.len()).any(|window| window == secret.as_bytes()), "the key is in an artifact");
    }
    let missing = place.run(&["run", "ask.scenario.yaml", "--agent", "bad"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("PLANTED is not set"), "{}", missing.stderr);
}

#[test]
fn a_missing_person_ends_a_run_before_it_begins() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    place.write("gabfest.yaml", "agents: { me: { interactive: {} } }\n");
    let battery = "name: chat\nconversation_length: 4\ntester: { agent: me }\nrequirements: { ML-I2: true }\n";
    place.write("chat.battery.yaml", battery);
    for (file, agent) in [("ask.scenario.yaml", "me"), ("chat.battery.yaml", "mock")] {
        for (slots, says) in [("1", "there is none here"), ("4", "--slots 1")] {
            let ended = place.run(&["run", file, "--agent", agent, "--slots", slots, "--out", "out"]);
            assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
            assert!(ended.stderr.contains("nothing was played") && ended.stderr.contains(says), "{}", ended.stderr);
            assert!(!place.path().join("out").exists(), "{file} {slots}");
        }
    }
}

/// Says hello and how many tokens that took, or fails.
fn answer(status: &str) -> String {
    let body = r#"{"text":"hello","in":100,"out":7}"#;
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}", body.len());
    format!("{head}\r\nconnection: close\r\n\r\n{body}")
}

#[test]
fn an_agent_that_is_not_a_chat_model_costs_its_price() {
    let (well, badly) = (agent(answer("200 OK")), agent(answer("500 Internal Server Error")));
    let said = "text: $.text, input_tokens: $.in, output_tokens: $.out";
    // Three calls each: url, paths of the reply, price, dollars in total, whether the total is complete.
    let rows = [
        (&well, said, "", 0.0, false),
        (&well, said, "price: {}", 0.0, true),
        (&well, said, "price: { per_call: 0.25 }", 0.75, true),
        (&well, said, "price: { per_call: 0.25, input_per_million: 1000, output_per_million: 10000 }", 1.26, true),
        (&well, "text: $.text", "price: { per_call: 0.25 }", 0.75, true),
        (&well, "text: $.text", "price: { per_call: 0.25, input_per_million: 1000 }", 0.0, false),
        (&badly, said, "price: { per_call: 0.25 }", 0.0, false),
    ];
    for (url, reply, price, dollars, complete) in rows {
        let place = Place::new();
        place.write("ask.scenario.yaml", ASK);
        let http = format!("http: {{ url: '{url}', reply: {{ {reply} }} }}");
        let written = if price.is_empty() { http } else { format!("{http}, {price}") };
        place.write("gabfest.yaml", &format!("agents: {{ paid: {{ {written} }} }}\n"));
        let args = ["run", "ask.scenario.yaml", "--agent", "paid", "--out", "out", "--repeats", "3"];
        let ended = place.run(&args);
        let report = place.json("out/report.json");
        let cost = &report["summary"]["cost"];
        assert!((cost["total_usd"].as_f64().unwrap() - dollars).abs() < 1e-9, "{written}: {cost}");
        assert_eq!(cost["complete"], complete, "{written}: {cost}");
        assert_eq!(ended.stdout.contains("incomplete"), !complete, "{written}: {}", ended.stdout);
        assert_eq!(report["summary"]["llm_calls"]["agent"], 3, "{written}");
    }
}

#[test]
fn a_price_in_the_wrong_place_is_reported() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    let rows = [
        ("{ kind: mock, price: { per_call: 1 } }", "belongs to the endpoint of an agent that is a chat model"),
        ("{ http: { url: 'http://127.0.0.1:9' }, price: { per_call: -1 } }", "is not an amount of money"),
        ("{ http: { url: 'http://127.0.0.1:9' }, price: { per_cal: 1 } }", "did you mean `per_call`"),
    ];
    for (written, says) in rows {
        place.write("gabfest.yaml", &format!("agents: {{ paid: {written} }}\n"));
        let ended = place.run(&["run", "ask.scenario.yaml", "--agent", "paid", "--strict", "--out", "out"]);
        assert_eq!(ended.code, 2, "{written}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(says), "{written}: {}", ended.stderr);
    }
    let estimated = |written: &str| {
        place.write("gabfest.yaml", &format!("agents: {{ paid: {written} }}\n"));
        let ended = place.run(&["run", "ask.scenario.yaml", "--agent", "paid", "--dry-run", "--repeats", "4"]);
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
        ended.stdout.lines().find(|line| line.starts_with("money")).unwrap().to_owned()
    };
    let priced = estimated("{ http: { url: 'http://127.0.0.1:9' }, price: { per_call: 0.5 } }");
    assert_eq!(priced, "money  $2.00 to $2.00");
    let unpriced = estimated("{ http: { url: 'http://127.0.0.1:9' } }");
    assert_eq!(unpriced, "money  nothing, plus calls without a price: agent");
}

#[test]
fn a_dry_run_names_the_owner_of_each_limit() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    for (limits, said) in [("{ requests_per_minute: 120 }", 1), ("{ concurrency: 3 }", 1), ("{}", 0)] {
        let agent = format!("{{ http: {{ url: 'http://127.0.0.1:9' }}, limits: {limits} }}");
        place.write("gabfest.yaml", &format!("agents: {{ limited: {agent} }}\n"));
        let ended = place.run(&["run", "ask.scenario.yaml", "--agent", "limited", "--dry-run"]);
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.stdout.matches("for all workers together").count(), said, "{limits}: {}", ended.stdout);
    }
}

#[test]
fn a_machine_without_certificates_calls_servers_that_need_none() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    let run = |url: &str| {
        let settings = format!("endpoints:\n  one: {{ url: '{url}' }}\nagents:\n  one: {{ endpoint: one }}\n");
        place.write("gabfest.yaml", &settings);
        let mut command = place.gabfest(&["run", "ask.scenario.yaml", "--agent", "one", "--out", "out"]);
        command.envs([("SSL_CERT_FILE", "/nowhere.pem"), ("SSL_CERT_DIR", "/nowhere")]).output().unwrap()
    };
    let output = run(&crate::server::serve(|_| crate::server::says("hello")));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let output = run("https://127.0.0.1:9/v1");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("read the certificates that this machine trusts"), "{errors}");
}
