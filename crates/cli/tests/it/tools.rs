//! Whole runs against an agent that calls its tools itself: it gets their addresses, and the report has the calls.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
};

use crate::process::Place;

const ORDERS: &str = r#"
name: orders
description: the agent looks an order up
setup:
  mocks:
    - { service: shop, method: status, when: { input: { id: '7' } }, response: shipped on Tuesday }
    - { service: shop, method: status, error: { code: GONE, message: no such order, status: 410 } }
run:
  - name: known
    input: "7"
    evaluations:
      - { type: tool_calls, order: exact, calls: [{ name: shop_status, arguments: { id: '7' } }] }
      - { type: string_contains, value: Tuesday }
  - name: unknown
    input: "8"
    evaluations:
      - { type: tool_calls, order: forbidden, calls: [{ name: shop_cancel }] }
      - { type: string_contains, value: no such order }
judgment: { strategy: all_pass }
"#;

const NO_TOOLS: &str = r#"
name: orders
description: the agent has no tools
setup: { mocks: [{ service: shop, method: status, response: shipped }] }
run: [{ input: "7", evaluations: [{ type: string_contains, value: nowhere to ask }] }]
judgment: { strategy: all_pass }
"#;

/// The head of a message and its body.
fn read(stream: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let mut piece = [0_u8; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = header(head, "content-length").map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return (head.to_owned(), body.to_owned());
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return (text, String::new()),
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = head.lines().filter_map(|line| line.split_once(": "));
    pairs.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Asks the tool for the order that the user names, at the address that the call itself says.
fn ask(tools: &str, order: &str) -> String {
    let (host, path) = tools.trim_start_matches("http://").split_once('/').unwrap();
    let body = format!("{{\"id\":\"{order}\"}}");
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "POST /{path}/shop_status HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    read(&mut stream).1
}

fn agent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (head, order) = read(&mut stream);
            let said = header(&head, "x-gabfest-tools-url").map(|tools| ask(tools, &order));
            let said = said.unwrap_or_else(|| "nowhere to ask".to_owned());
            let kind = "content-type: text/plain\r\nconnection: close";
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {}\r\n\r\nIt says: {said}",
                said.len() + 9
            );
        }
    });
    format!("http://{address}/")
}

fn place(scenario: &str) -> Place {
    let place = Place::new();
    place.write("orders.scenario.yaml", scenario);
    let agent = agent();
    place.write(
        "gabfest.yaml",
        &format!("agents:\n  shop:\n    http: {{ url: '{agent}', body: '{{{{ message }}}}' }}\n"),
    );
    place
}

#[test]
fn the_report_has_every_call_with_its_result() {
    let place = place(ORDERS);
    let ended =
        place.run(&["run", "orders.scenario.yaml", "--agent", "shop", "-n", "8", "--slots", "4", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let lines = std::fs::read_to_string(place.path().join("out/transcripts.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 8);
    for line in lines.lines() {
        let trial: serde_json::Value = serde_json::from_str(line).unwrap();
        let calls: Vec<(&str, &str, &str)> = trial["turns"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|turn| turn["tool_calls"].as_array().unwrap())
            .map(|call| {
                (call["name"].as_str().unwrap(), call["arguments"].as_str().unwrap(), call["result"].as_str().unwrap())
            })
            .collect();
        let error = r#"{"error":"GONE: no such order","code":"GONE","status":410}"#;
        let expected =
            [("shop_status", r#"{"id":"7"}"#, "shipped on Tuesday"), ("shop_status", r#"{"id":"8"}"#, error)];
        assert_eq!(calls, expected, "{line}");
    }
}

#[test]
fn live_runs_have_no_mocks() {
    let place = place(NO_TOOLS);
    let ended = place.run(&["run", "orders.scenario.yaml", "--agent", "shop", "--live", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let ended = place.run(&["run", "orders.scenario.yaml", "--agent", "shop", "--out", "again"]);
    assert_eq!(ended.code, 1, "with mocks there is somebody to ask\n{}{}", ended.stdout, ended.stderr);
}

#[test]
fn the_address_of_tools_can_be_set() {
    // A free port, which in theory another process could take first.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://localhost:{}", free.port());
    let place = place(ORDERS);
    let run = |more: &[&str]| {
        let out = format!("out{}", more.join("").replace(['/', ':'], "_"));
        let args = ["run", "orders.scenario.yaml", "--agent", "shop", "--out", &out];
        place.run(&[&args, more].concat())
    };
    let ended = run(&["--tools-listen", &free.to_string(), "--tools-url", &url]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let anywhere = run(&["--tools-listen", "0.0.0.0:0"]);
    assert_eq!(anywhere.code, 2);
    assert!(anywhere.stderr.contains("hint: --tools-url"), "{}", anywhere.stderr);
    let open = run(&["--tools-listen", "0.0.0.0:0", "--tools-url", &url]);
    assert!(open.code == 2 && open.stderr.contains("add --insecure-i-know"), "{}", open.stderr);
    let on_purpose = ["--tools-listen", &format!("0.0.0.0:{}", free.port()), "--tools-url", &url, "--insecure-i-know"];
    let on_purpose = run(&on_purpose);
    assert_eq!(on_purpose.code, 0, "{}{}", on_purpose.stdout, on_purpose.stderr);
    let strange = run(&["--tools-url", "ftp://here"]);
    assert!(strange.code == 2 && strange.stderr.contains("http"), "{}", strange.stderr);
}

#[test]
fn a_used_address_is_reported_before_anything_is_played() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let place = place(ORDERS);
    let played = place.run(&["run", "orders.scenario.yaml", "--agent", "shop", "--out", "played"]);
    assert_eq!(played.code, 0, "{}{}", played.stdout, played.stderr);
    let settings = std::fs::read_to_string(place.path().join("gabfest.yaml")).unwrap();
    place.write("taken.yaml", &format!("{settings}tool_server: {{ listen: '{taken}' }}\n"));
    let rows: [&[&str]; 4] = [
        &["run", "orders.scenario.yaml", "--agent", "shop", "--out", "out", "--tools-listen", &taken],
        &["run", "orders.scenario.yaml", "--agent", "shop", "--out", "out", "--config", "taken.yaml"],
        &["resume", "played", "--tools-listen", &taken],
        &["worker", "--coordinator", "http://127.0.0.1:1", "--tools-listen", &taken],
    ];
    for args in rows {
        let ended = place.run(args);
        assert_eq!(ended.code, 2, "{args:?} {}{}", ended.stdout, ended.stderr);
        for says in [&format!("failed to listen on {taken} for calls of tools"), "in use", "hint: name another address"]
        {
            assert!(ended.stderr.contains(says), "{args:?} {}", ended.stderr);
        }
    }
    assert!(!place.path().join("out").exists(), "nothing was played");
    // Here no tool is called.
    let checked = place.run(&["run", "orders.scenario.yaml", "--agent", "shop", "--dry-run", "--tools-listen", &taken]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
}
