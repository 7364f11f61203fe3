//! Servers that refuse, redirect, or are down: `ping` and the preflight report them with method, address and one fix.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};

use crate::{agents::ASK, process::Place};

struct Server {
    address: String,
    asked: Arc<AtomicU64>,
}

/// A server that answers each call by this: the body in, status, further headers and the body out.
fn server(answer: impl Fn(u64, &Value) -> (u16, &'static str, String) + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (asked, answer) = (Arc::new(AtomicU64::new(0)), Arc::new(answer));
    let counted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (counted, answer) = (Arc::clone(&counted), Arc::clone(&answer));
            std::thread::spawn(move || {
                let stream = stream.unwrap();
                let Some(body) = body(&stream) else { return };
                let (status, headers, body) = answer(counted.fetch_add(1, Ordering::Relaxed), &body);
                let head = format!(
                    "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = (&stream).write_all((head + &body).as_bytes());
            });
        }
    });
    Server { address, asked }
}

fn body(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).unwrap_or_default())
}

const JSON: &str = "content-type: application/json\r\n";

/// A reasoning model's rules: it accepts neither `max_tokens` nor `temperature` nor `seed`.
fn strict() -> Server {
    server(|_, question| {
        if let Some(key) = ["max_tokens", "temperature", "seed"].into_iter().find(|key| question.get(key).is_some()) {
            let error = json!({ "message": format!("Unsupported parameter: '{key}'"), "param": key, "code": "unsupported_parameter" });
            return (400, JSON, json!({ "error": error }).to_string());
        }
        let verdict = json!({ "reasoning": "it does", "quotes": [], "judgment": "yes", "confidence": 0.9 }).to_string();
        let says = if question.to_string().contains("judgment") { verdict } else { "hello to you".to_owned() };
        let choice = json!({ "message": { "role": "assistant", "content": says }, "finish_reason": "stop" });
        let usage = json!({ "prompt_tokens": 5, "completion_tokens": 3 });
        (200, JSON, json!({ "model": "strict", "choices": [choice], "usage": usage }).to_string())
    })
}

const JUDGED: &str = "
name: judged
description: a user and a judge
run:
  - name: talk
    conversation:
      max_turns: 2
      user_simulator: { persona: a customer, objective: a refund }
      final_evaluations:
        - { type: llm_judge, prompt: Was it kind?, expected: 'yes' }
    input: hello
judgment: { strategy: all_pass }
";

fn first_trial(place: &Place) -> Value {
    let lines = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
    serde_json::from_str(lines.lines().next().unwrap()).unwrap()
}

#[test]
fn a_model_that_reasons_can_be_user_and_judge() {
    let strict = strict();
    let place = Place::new();
    place.write("judged.scenario.yaml", JUDGED);
    let settings = |more: &str| {
        format!(
            "endpoints:\n  strict: {{ url: '{}', model: strict, {more} }}\nroles: {{ user_sim: strict, judge: strict }}\n",
            strict.address
        )
    };
    // A refusal is the settings' fault, and the hint has the line to write.
    for (more, line) in [
        ("retries: { tries: 1 }", "max_tokens_key: max_completion_tokens"),
        ("max_tokens_key: max_completion_tokens", "params: {temperature: null}"),
    ] {
        place.write("gabfest.yaml", &settings(more));
        let ended = place.run(&["run", "judged.scenario.yaml", "--out", "out"]);
        let trial = first_trial(&place);
        assert_eq!((&trial["verdict"], &trial["blame"]), (&"ERROR".into(), &"config".into()), "{more}: {trial}");
        assert!(trial.to_string().contains(line), "{line} is missing in {trial}");
        assert_eq!(ended.code, 3, "{}", ended.stderr);
        std::fs::remove_dir_all(place.path().join("out")).unwrap();
    }
    place.write("gabfest.yaml", &settings("retries: { tries: 1 }"));
    let pinged = place.run(&["ping", "strict"]);
    assert_eq!(pinged.code, 2, "{}{}", pinged.stdout, pinged.stderr);
    for line in ["max_tokens_key: max_completion_tokens", "params: {temperature: null}", "params: {seed: null}"] {
        assert!(pinged.stdout.contains(line), "{line}: {}", pinged.stdout);
    }
    place.write(
        "gabfest.yaml",
        &settings("max_tokens_key: max_completion_tokens, params: { temperature: null, seed: null }"),
    );
    let ended = place.run(&["run", "judged.scenario.yaml", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let pinged = place.run(&["ping", "strict"]);
    assert!(pinged.code == 0 && pinged.stdout.contains("ok  "), "{}{}", pinged.stdout, pinged.stderr);
    // A window in which a judge's answer does not fit is found before anything is sent.
    let cramped =
        "max_tokens_key: max_completion_tokens, params: { temperature: null, seed: null }, context_tokens: 2000";
    place.write("gabfest.yaml", &settings(cramped));
    let pinged = place.run(&["ping", "strict"]);
    assert!(pinged.code == 2 && pinged.stdout.contains("`context_tokens` of 2000"), "{}", pinged.stdout);
    std::fs::remove_dir_all(place.path().join("out")).unwrap();
    place.run(&["run", "judged.scenario.yaml", "--out", "out"]);
    let trial = first_trial(&place);
    assert_eq!((&trial["failure_kind"], &trial["blame"]), (&"misconfigured".into(), &"config".into()), "{trial}");
    // Faults that no setting can fix.
    for (more, key) in [
        ("params: { messages: [] }", "params"),
        ("max_tokens_key: model", "max_tokens_key"),
        ("reasoning_reserve: 4096, context_tokens: 4096", "context_tokens"),
        ("key: env:A, oauth: { token_url: 'http://h', client_id: c, client_secret: env:B }", "oauth"),
        ("oauth: { token_url: 'http://h', client_id: c, client_secret: env:B, scopes: x }", "scopes"),
        ("aws: { access_key_id: env:A, secret_access_key: env:B }", "aws"),
    ] {
        place.write("gabfest.yaml", &settings(more));
        let ended = place.run(&["check", "judged.scenario.yaml"]);
        assert_eq!(ended.code, 2, "{more}");
        assert!(ended.stderr.contains("gabfest.yaml:2") && ended.stderr.contains(key), "{}", ended.stderr);
    }
}

#[test]
fn each_way_of_being_unreachable_is_reported_with_its_fix() {
    let page = "content-type: text/html\r\n";
    let html = "<!doctype html><title>Welcome</title>";
    // (the answer, the message, the fix, the exit code of ping)
    type Row = ((u16, &'static str, &'static str), &'static str, &'static str, i32);
    let rows: Vec<Row> = vec![
        (
            (404, JSON, r#"{"detail":"Not Found"}"#),
            r#"status 404: POST URL/chat?key=…: {"detail":"Not Found"}"#,
            "check the path of `url`",
            2,
        ),
        ((302, "location: /login?t=secret\r\n", ""), "redirects to URL/login?t=…", "write URL/login?t=… in `url`", 2),
        ((200, page, html), "its content type is text/html: <!doctype html>", "write the address of the API", 2),
        (
            (200, JSON, r#"{"answer":"hi"}"#),
            r#"POST URL/chat?key=…: nothing at $.reply: {"answer":"hi"}"#,
            "reply: { text: $.answer }",
            2,
        ),
        ((401, JSON, r#"{"error":"bad key sk-hidden"}"#), "bad key [key]", "check `key`", 2),
        ((502, JSON, "bad gateway"), "failed with status 502: POST URL/chat", "check that server", 3),
    ];
    for ((status, headers, answer), said, mend, code) in rows {
        let server = server(move |_, _| (status, headers, answer.to_owned()));
        let place = Place::new();
        place.write(
            "gabfest.yaml",
            &format!(
                "agents:\n  shop:\n    retries: {{ tries: 1 }}\n    http: {{ url: '{}/chat?key=sk-hidden', key: env:DOOR_KEY, reply: {{ text: $.reply }} }}\n",
                server.address
            ),
        );
        let mut command = place.gabfest(&["ping", "shop"]);
        let output = command.env("DOOR_KEY", "sk-hidden").output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{stdout}{stderr}");
        for part in [said, mend] {
            let part = part.replace("URL", &server.address);
            assert!(stdout.contains(&part), "{part:?} is missing in\n{stdout}{stderr}");
        }
        assert!(stdout.contains("\n          hint: ") && !stdout.contains("sk-hidden"), "{stdout}");
    }
}

#[test]
fn a_long_run_plays_nothing_if_the_preflight_reaches_no_agent() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    place.write(
        "gabfest.yaml",
        "agents:\n  gone: { retries: { tries: 1 }, http: { url: 'http://127.0.0.1:9/chat' } }\n",
    );
    let run = |more: &[&str]| {
        place.run(&[&["run", "ask.scenario.yaml", "--agent", "gone", "-n", "280", "--out", "out"], more].concat())
    };
    let ended = run(&[]);
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    for part in ["nothing was played", "nothing listens at 127.0.0.1:9", "\nhint: start the server", "--no-preflight"] {
        assert!(ended.stderr.contains(part), "{part:?} is missing in\n{}", ended.stderr);
    }
    assert!(!place.path().join("out").exists());
    let ended = run(&["--no-preflight"]);
    assert_eq!(ended.code, 1, "every trial is played: {}{}", ended.stdout, ended.stderr);
    let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
    assert_eq!(trials.lines().count(), 280);
}

#[test]
fn the_preflight_is_part_of_the_cost() {
    let reply = r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"model":"m","usage":{"prompt_tokens":30,"completion_tokens":7}}"#;
    let shop = server(move |_, _| (200, JSON, reply.to_owned()));
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    place.write(
        "gabfest.yaml",
        &format!(
            "endpoints:\n  shop: {{ url: '{}/v1', price: {{ input_per_million: 10.0, output_per_million: 100.0 }} }}\nagents:\n  shop: {{ endpoint: shop }}\n",
            shop.address
        ),
    );
    // (flags, calls in all, calls before the first trial)
    for (flags, calls, before) in [(&["--no-preflight"][..], 20, None), (&[], 21, Some(1))] {
        let run = ["run", "ask.scenario.yaml", "--agent", "shop", "-n", "20", "--out", "out"];
        let ended = place.run(&[&run, flags].concat());
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
        let report = place.json("out/report.json");
        let summary = &report["summary"];
        assert_eq!(summary["llm_calls"]["agent"], calls, "{summary}");
        assert_eq!(summary["tokens"]["agent"]["input"], 30 * calls, "{summary}");
        let dollars = summary["cost"]["total_usd"].as_f64().expect("a number");
        assert!((dollars - f64::from(calls) * 0.001).abs() < 1e-9, "{summary}");
        assert_eq!(summary["cost"]["complete"], true, "{summary}");
        assert_eq!(summary["preflight"]["calls"].as_u64(), before, "{summary}");
        let line = "the preflight, before the first trial, is a part of it: 1 call, 30 tokens in, 7 out, $0.001";
        let pages = ["out/report.md", "out/report.html"].map(|page| std::fs::read_to_string(place.path().join(page)));
        for page in pages.map(|page| page.expect("a page")).iter().chain([&ended.stdout]) {
            let words = page.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "");
            assert_eq!(words.contains(line), before.is_some(), "{page}");
        }
        std::fs::remove_dir_all(place.path().join("out")).unwrap();
    }
}

#[test]
fn a_run_stops_if_the_first_trials_of_an_agent_all_fail_alike() {
    // It answers the preflight, and nothing afterwards.
    let answer = |asked: u64, _: &Value| match asked {
        0 => (200, JSON, r#"{"reply":"hello"}"#.to_owned()),
        _ => (500, JSON, r#"{"error":"boom"}"#.to_owned()),
    };
    let broken = server(answer);
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    let settings = |address: &str| {
        format!(
            "slots: 4\nagents:\n  shop: {{ retries: {{ tries: 1 }}, http: {{ url: '{address}/chat', reply: {{ text: $.reply }} }} }}\n"
        )
    };
    place.write("gabfest.yaml", &settings(&broken.address));
    let run = ["run", "ask.scenario.yaml", "--agent", "shop", "-n", "2000", "--out", "out"];
    let ended = place.run(&run);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    for part in [
        "the run stopped: the first 20 trials of agent \"shop\" all failed in the same way",
        "status 500",
        "gabfest resume",
    ] {
        assert!(ended.stderr.contains(part), "{part:?} is missing in\n{}", ended.stderr);
    }
    let asked = broken.asked.load(Ordering::Relaxed);
    // Some trials end before the news reaches the worker.
    assert!((21..1_000).contains(&asked), "asked {asked} times");
    // An agent that is only partly down is played to the end.
    let partly = server(|asked, _| match asked % 10 {
        0 => (200, JSON, r#"{"reply":"hello"}"#.to_owned()),
        _ => (500, JSON, r#"{"error":"boom"}"#.to_owned()),
    });
    place.write("gabfest.yaml", &settings(&partly.address));
    std::fs::remove_dir_all(place.path().join("out")).unwrap();
    let ended = place.run(&run);
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    assert!(!ended.stderr.contains("the run stopped"), "{}", ended.stderr);
    assert_eq!(partly.asked.load(Ordering::Relaxed), 2001);
}

#[test]
fn the_estimate_uses_limits_and_measurements() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    let slow = server(|_, _| {
        std::thread::sleep(std::time::Duration::from_millis(300));
        (200, JSON, r#"{"reply":"hello"}"#.to_owned())
    });
    place.write(
        "gabfest.yaml",
        &format!("agents:\n  slow: {{ limits: {{ concurrency: 1 }}, http: {{ url: '{}/chat', reply: {{ text: $.reply }} }} }}\n", slow.address),
    );
    let dry = || place.run(&["run", "ask.scenario.yaml", "--agent", "slow", "-n", "1000", "--dry-run"]).stdout;
    let guess = dry();
    assert!(guess.contains("assumed: 0.5 to 5 s per call") && guess.contains("`concurrency: 1` of slow"), "{guess}");
    // 1,000 calls of at least half a second, one at a time.
    assert!(guess.contains("time   8 minutes to "), "{guess}");
    assert_eq!(place.run(&["ping", "slow"]).code, 0);
    let measured = dry();
    assert!(measured.contains("measured: agent slow 0.3") && measured.contains("time   5 minutes"), "{measured}");
    assert!(!measured.contains("assumed"), "{measured}");
}

#[test]
fn the_estimate_knows_the_limits_and_prices_of_all_agents() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    let endpoint = |more: &str| format!("{{ url: 'http://127.0.0.1:9/v1', {more} }}");
    place.write(
        "gabfest.yaml",
        &format!(
            "endpoints:\n  slow: {}\n  dear: {}\nagents:\n  slow: {{ endpoint: slow }}\n  other: {{ endpoint: slow }}\n  dear: {{ endpoint: dear }}\n",
            endpoint("limits: { requests_per_minute: 6 }, price: { input_per_million: 0, output_per_million: 0 }"),
            endpoint("price: { per_call: 3, input_per_million: 0, output_per_million: 0 }"),
        ),
    );
    let dry = |agents: &[&str]| {
        let agents: Vec<&str> = agents.iter().flat_map(|name| ["--agent", name]).collect();
        let ended = place.run(&[&["run", "ask.scenario.yaml", "-n", "60", "--dry-run"], &agents[..]].concat());
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
        ended.stdout
    };
    // 60 calls at 6 a minute, for each agent on that endpoint.
    for (agents, time, money) in [
        (&["slow"][..], "time   10 minutes; the limit is `requests_per_minute: 6` of slow", "money  nothing\n"),
        (&["other"], "time   10 minutes; the limit is `requests_per_minute: 6` of slow", "money  nothing\n"),
        (&["slow", "other"], "time   20 minutes; the limit is `requests_per_minute: 6` of slow", "money  nothing\n"),
        (
            &["slow", "dear"],
            "time   10 minutes; the limit is `requests_per_minute: 6` of slow",
            "money  $180.00 to $180.00\n",
        ),
        (
            &["dear", "slow"],
            "time   10 minutes; the limit is `requests_per_minute: 6` of slow",
            "money  $180.00 to $180.00\n",
        ),
    ] {
        let text = dry(agents);
        assert!(text.contains(time) && text.contains(money), "{agents:?}\n{text}");
    }
}
