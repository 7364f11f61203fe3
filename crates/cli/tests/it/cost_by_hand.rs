//! The cost of a run equals the sum computed by hand from the usage that the providers reported.
//!
//! A relay in front of the mock writes usage from its own table into every answer, in the provider's format. The test
//! prices the same table independently and compares the result with the run's report.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use crate::process::Place;

/// Any key will do; a variable that every process of a test has.
const KEY: &str = "env:CARGO_MANIFEST_DIR";

const ROLES: [&str; 3] = ["agent", "user_sim", "judge"];

/// The usage of one call, in parts that do not overlap.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    fresh: u64,
    cached: u64,
    written: u64,
    answer: u64,
    reasoning: u64,
}

/// One after the other and then again: below, at and above the tier, with and without each part.
const TABLE: [Used; 7] = [
    Used { fresh: 1_003, cached: 0, written: 0, answer: 17, reasoning: 0 },
    Used { fresh: 11, cached: 4_096, written: 0, answer: 23, reasoning: 640 },
    Used { fresh: 7, cached: 1_024, written: 2_048, answer: 5, reasoning: 1 },
    Used { fresh: 150_000, cached: 49_000, written: 1_000, answer: 31, reasoning: 8_191 },
    Used { fresh: 150_001, cached: 49_000, written: 1_000, answer: 31, reasoning: 8_191 },
    Used { fresh: 3, cached: 300_000, written: 77, answer: 1, reasoning: 0 },
    Used { fresh: 400_000, cached: 0, written: 9_999, answer: 2_000, reasoning: 2_000 },
];

/// The settings of a price, and the same in nano-dollars per token. `TIER` is where the second row starts.
const TIER: u64 = 200_000;
const PRICES: [(&str, [i64; 4], [i64; 4]); 3] = [
    (
        "{ input_per_million: 1.25, output_per_million: 10, cached_input_per_million: 0.125, cache_write_per_million: 1.5, \
         above: [{ tokens: 200000, input_per_million: 2.5, output_per_million: 15, cached_input_per_million: 0.25 }] }",
        [1_250, 125, 1_500, 10_000],
        [2_500, 250, 1_500, 15_000],
    ),
    (
        "{ input_per_million: 3, output_per_million: 15, cached_input_per_million: 0.3, cache_write_per_million: 3.75 }",
        [3_000, 300, 3_750, 15_000],
        [3_000, 300, 3_750, 15_000],
    ),
    (
        "{ input_per_million: 0.1, output_per_million: 0.4, cached_input_per_million: 0.025, cache_write_per_million: 0.1, \
         per_call: 0.002, above: [{ tokens: 100, output_per_million: 0.5 }, { tokens: 200000, output_per_million: 0.4, cache_write_per_million: 0.2 }] }",
        [100, 25, 100, 500],
        [100, 25, 200, 400],
    ),
];
/// In nano-dollars, of the last price.
const PER_CALL: [i64; 3] = [0, 0, 2_000_000];

impl Used {
    /// Gemini does not count cache writes.
    fn by(self, kind: &str) -> Self {
        if kind == "gemini" { Self { fresh: self.fresh + self.written, written: 0, ..self } } else { self }
    }

    fn input(self) -> u64 {
        self.fresh + self.cached + self.written
    }

    /// In the provider's format.
    fn in_format(self, kind: &str) -> Value {
        let Self { fresh, cached, written, answer, reasoning } = self;
        match kind {
            "anthropic" => json!({
                "input_tokens": fresh, "cache_read_input_tokens": cached, "cache_creation_input_tokens": written,
                "output_tokens": answer + reasoning, "output_tokens_details": { "thinking_tokens": reasoning },
            }),
            "gemini" => json!({
                "promptTokenCount": fresh + cached, "cachedContentTokenCount": cached,
                "candidatesTokenCount": answer, "thoughtsTokenCount": reasoning,
            }),
            _ => json!({
                "prompt_tokens": fresh + cached + written, "completion_tokens": answer + reasoning,
                "prompt_tokens_details": { "cached_tokens": cached, "cache_write_tokens": written },
                "completion_tokens_details": { "reasoning_tokens": reasoning },
            }),
        }
    }

    /// In nano-dollars, at the price of this role.
    fn cost(self, role: usize) -> i64 {
        let (_, below, above) = PRICES[role];
        let [fresh, cached, written, output] = if self.input() > TIER { above } else { below };
        let parts = [
            (self.fresh, fresh),
            (self.cached, cached),
            (self.written, written),
            (self.answer + self.reasoning, output),
        ];
        PER_CALL[role] + parts.map(|(tokens, price)| i64::try_from(tokens).unwrap() * price).iter().sum::<i64>()
    }
}

/// The usage that the relay reported for each role's calls.
type Said = Arc<Mutex<BTreeMap<String, Vec<Used>>>>;

/// Hands requests to `/ROLE/…` on to the mock, and answers with the usage of the table. Returns its address.
fn relay(mock: &str, kinds: [&'static str; 3], said: &Said) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (mock, said) = (mock.trim_start_matches("http://").to_owned(), Arc::clone(said));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mock, said) = (mock.clone(), Arc::clone(&said));
            std::thread::spawn(move || {
                // A client that disconnects early does not matter.
                let _ = hand_on(&stream.unwrap(), &mock, kinds, &said);
            });
        }
    });
    address
}

fn hand_on(mut client: &TcpStream, mock: &str, kinds: [&str; 3], said: &Said) -> Option<()> {
    let mut reader = BufReader::new(client);
    let mut lines = Vec::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        let small = line.to_ascii_lowercase();
        if let Some(bytes) = small.strip_prefix("content-length: ") {
            length = bytes.parse().ok()?;
        }
        if !small.starts_with("connection:") && !small.starts_with("host:") {
            lines.push(line);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (verb, path) = lines[0].split_once(" /")?;
    let (role, path) = path.split_once('/')?;
    let index = ROLES.iter().position(|known| *known == role)?;
    let head = format!("{verb} /{path}\r\n{}\r\nhost: {mock}\r\nconnection: close\r\n\r\n", lines[1..].join("\r\n"));
    let mut server = TcpStream::connect(mock).ok()?;
    server.write_all(head.as_bytes()).ok()?;
    server.write_all(&body).ok()?;
    let mut answer = String::new();
    server.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let used = {
        let mut said = said.lock().unwrap();
        let calls = said.entry(role.to_owned()).or_default();
        // Each role begins at another row.
        let used = TABLE[(calls.len() + 2 * index) % TABLE.len()].by(kinds[index]);
        calls.push(used);
        used
    };
    let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        unchunked(body)?
    } else {
        body.to_owned()
    };
    let body = with_usage(&body, &used.in_format(kinds[index]));
    let kept = head.lines().filter(|line| {
        let small = line.to_ascii_lowercase();
        !small.starts_with("content-length:") && !small.starts_with("transfer-encoding:")
    });
    let head = kept.collect::<Vec<_>>().join("\r\n");
    write!(client, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).ok()
}

fn unchunked(mut text: &str) -> Option<String> {
    let mut whole = String::new();
    loop {
        let (size, rest) = text.split_once("\r\n")?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        if size == 0 {
            return Some(whole);
        }
        whole.push_str(rest.get(..size)?);
        text = rest.get(size..)?.strip_prefix("\r\n")?;
    }
}

/// An answer, or each event of a stream, with its usage replaced.
fn with_usage(body: &str, replacement: &Value) -> String {
    let event = |text: &str| {
        let mut value: Value = serde_json::from_str(text).ok()?;
        for place in ["/usage", "/usageMetadata", "/message/usage"] {
            if let Some(usage) = value.pointer_mut(place).filter(|usage| usage.is_object()) {
                usage.clone_from(replacement);
            }
        }
        Some(value.to_string())
    };
    if let Some(whole) = event(body) {
        return whole;
    }
    let line = |line: &str| match line.strip_prefix("data: ").and_then(event) {
        Some(data) => format!("data: {data}"),
        None => line.to_owned(),
    };
    body.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

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
  - name: talk
    input: My parcel has not arrived.
    conversation:
      max_turns: 4
      user_simulator: { persona: A customer who waits for a parcel, objective: Find out where the parcel is }
    evaluations:
      - { type: llm_judge, prompt: Is the agent polite?, expected: "yes" }
      - { type: llm_judge, prompt: Is the agent brief?, expected: "yes" }
judgment: { strategy: all_pass }
"#;

fn settings(relay: &str, kinds: [&str; 3], stream: bool) -> String {
    let endpoint = |index: usize| {
        let (role, kind, (price, ..)) = (ROLES[index], kinds[index], PRICES[index]);
        let version = if kind == "gemini" { "v1beta" } else { "v1" };
        format!(
            "  {role}: {{ kind: {kind}, url: '{relay}/{role}/{version}', key: '{KEY}', model: mock-{role}, stream: {stream}, price: {price} }}\n"
        )
    };
    format!(
        "endpoints:\n{}agents:\n  served: {{ endpoint: agent, system: Be brief. }}\n\
         roles: {{ agent: served, user_sim: user_sim, judge: judge }}\n",
        (0..ROLES.len()).map(endpoint).collect::<String>()
    )
}

/// Exact: amounts are whole nano-dollars, far below the precision of a double.
fn nanos(dollars: &Value) -> i64 {
    (dollars.as_f64().unwrap_or_else(|| panic!("an amount: {dollars}")) * 1e9).round() as i64
}

/// As `report.json` and `trials.jsonl` write the tokens of a role: parts that are zero are absent.
fn tokens(calls: &[Used]) -> BTreeMap<String, u64> {
    let sum = |of: fn(&Used) -> u64| calls.iter().map(of).sum::<u64>();
    let all = [
        ("input", sum(|used| used.input())),
        ("output", sum(|used| used.answer + used.reasoning)),
        ("cached_input", sum(|used| used.cached)),
        ("cache_write", sum(|used| used.written)),
        ("reasoning", sum(|used| used.reasoning)),
    ];
    all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
}

#[test]
fn the_cost_of_a_run_equals_the_sum_by_hand_for_three_providers() {
    let orders = [
        (["openai", "anthropic", "gemini"], false),
        (["gemini", "openai", "anthropic"], true),
        (["anthropic", "gemini", "openai"], true),
    ];
    for (kinds, stream) in orders {
        let place = Place::new();
        let (_mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0"]);
        let said = Said::default();
        let relay = relay(address.trim_end_matches('/').trim_end_matches("/v1"), kinds, &said);
        place.write("gabfest.yaml", &settings(&relay, kinds, stream));
        place.write("orders.scenario.yaml", SCENARIO);
        let ended = place.run(&["run", "orders.scenario.yaml", "--out", "out", "--seed", "7", "--repeats", "3"]);
        let shown = format!("{kinds:?}: {}\n{}", ended.stdout, ended.stderr);
        let said = said.lock().unwrap();

        let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
        let trials: Vec<Value> = trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let report = place.json("out/report.json");
        let mut total = 0;
        for (index, role) in ROLES.iter().enumerate() {
            let calls = &said[*role];
            assert!(calls.len() >= 6, "{role} {}: {shown}", calls.len());
            let cost: i64 = calls.iter().map(|used| used.cost(index)).sum();
            total += cost;
            assert_eq!(report["summary"]["llm_calls"][role], json!(calls.len()), "{role}: {shown}");
            let reported: BTreeMap<String, u64> =
                serde_json::from_value(report["summary"]["tokens"][role].clone()).unwrap();
            assert_eq!(reported, tokens(calls), "{role}: {shown}");
            let lines = report["summary"]["models"].as_array().unwrap().iter().filter(|line| line["role"] == *role);
            assert_eq!(lines.map(|line| nanos(&line["cost_usd"])).sum::<i64>(), cost, "{role}: {shown}");
            let of_trials = trials.iter().map(|trial| &trial["tokens"][role]);
            let input: u64 = of_trials.map(|tokens| tokens["input"].as_u64().unwrap()).sum();
            assert_eq!(input, calls.iter().map(|used| used.input()).sum::<u64>(), "{role}: {shown}");
        }
        let cost = &report["summary"]["cost"];
        assert_eq!(nanos(&cost["total_usd"]), total, "{cost}: {shown}");
        assert_eq!(trials.iter().map(|trial| nanos(&trial["cost_usd"])).sum::<i64>(), total, "{shown}");
        assert_eq!((&cost["complete"], &cost["unpriced_calls"]), (&json!(true), &json!(0)), "{cost}: {shown}");
    }
}
