//! Malicious agents of every kind: floods, endless and huge answers, crowds of values, slow drips. Each of their trials
//! ends with blame on the agent, and the process stays below a memory limit.
//!
//! `bench/hostile.sh` plays the same agents for longer.

mod server;

use std::{fmt::Write as _, time::Duration};

use serde_json::Value;
use tokio::time::Instant;

use crate::process::{Place, Process};

/// The peak of the gabfest process, with the usual number of trials. `bench/hostile.sh` measures more of them.
const MOST_MB: u64 = 200;
/// A trial without a bound would take longer.
const WITHIN: Duration = Duration::from_secs(120);

/// The agent's name, its settings, and how its trials may end: ERROR of these kinds, or PASS.
type Row = (&'static str, String, &'static [&'static str]);

const PASS: &str = "PASS";

/// Eight messages, for agents that are hostile little by little.
const SCENARIO: &str = "
name: hostile
description: the agent means harm
setup:
  mocks: [{ service: shop, method: look, response: 'RESPONSE' }]
run:
  - { input: one, evaluations: [{ type: regex_match, pattern: '' }] }
  - { input: two }
  - { input: three }
  - { input: four }
  - { input: five }
  - { input: six }
  - { input: seven }
  - { input: eight }
judgment: { strategy: all_pass }
";

/// So many trials of each agent.
fn repeats() -> u32 {
    std::env::var("GABFEST_HOSTILE_REPEATS").map_or(2, |text| text.parse().unwrap())
}

/// Plays all of them in one process, at the same time.
#[expect(clippy::print_stdout, reason = "bench/hostile.sh reads the peak")]
fn play(name: &str, endpoints: &str, rows: &[Row]) {
    let place = Place::new();
    let mut settings = format!("{endpoints}agents:\n");
    let mut args: Vec<String> =
        ["run", "s.scenario.yaml", "--no-preflight", "--quiet", "--out", "out"].map(str::to_owned).into();
    if name == "subprocess" {
        args.push("--allow-exec=host".to_owned());
    }
    args.extend(["--repeats".to_owned(), repeats().to_string()]);
    for (agent, written, kinds) in rows {
        // Trials that end at a bound get plenty of time to reach it on a busy machine.
        let timeout_ms = if kinds.contains(&"agent_timeout") { "2500" } else { "60000" };
        settings = settings.replace(&format!("TIMEOUT_OF_{agent} "), &format!("{timeout_ms} "));
        let written = written.replace("TIMEOUT", timeout_ms);
        writeln!(settings, "  {agent}: {written}").unwrap();
        args.extend(["--agent".to_owned(), (*agent).to_owned()]);
    }
    place.write("gabfest.yaml", &settings);
    place.write("s.scenario.yaml", &SCENARIO.replace("RESPONSE", &"mock ".repeat(12_000)));
    let began = Instant::now();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let log = std::fs::File::create(place.path().join("log")).unwrap();
    let mut process = Process(place.gabfest(&args).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
    let mut peak_kb = 0;
    let code = loop {
        peak_kb = peak_kb.max(peak_of(process.0.id()));
        if let Some(status) = process.0.try_wait().unwrap() {
            break status.code().unwrap_or(-1);
        }
        assert!(began.elapsed() < WITHIN * repeats().div_ceil(2), "{name}: the run does not end");
        std::thread::sleep(Duration::from_millis(5));
    };
    let said = std::fs::read_to_string(place.path().join("log")).unwrap();
    println!("{name}: peak {} MB, {:.1} s", peak_kb >> 10, began.elapsed().as_secs_f64());
    assert!([1, 3].contains(&code), "{name}: exit code {code}: {said}");
    let trials = std::fs::read_to_string(place.path().join("out/trials.jsonl")).unwrap();
    assert_eq!(trials.lines().count(), rows.len() * repeats() as usize);
    for trial in trials.lines() {
        let trial: Value = serde_json::from_str(trial).unwrap();
        let (agent, _, kinds) = &rows[trial["number"].as_u64().unwrap() as usize % rows.len()];
        let how = trial["failure_kind"].as_str().unwrap_or(trial["verdict"].as_str().unwrap());
        assert!(kinds.contains(&how), "{agent}: {how}: {}", trial["failure_message"]);
        let blame = trial["blame"].as_str().unwrap_or("agent");
        assert_eq!(blame, "agent", "{agent}: {}", trial["failure_message"]);
        let message = trial["failure_message"].as_str().unwrap_or("");
        assert!(message.len() <= 8 << 10, "{agent}: a message of {} bytes", message.len());
    }
    let peak_mb = peak_kb >> 10;
    assert!(peak_mb < MOST_MB || repeats() > 2, "{name}: {peak_mb} MB at its peak");
    let report = std::fs::metadata(place.path().join("out/report.html")).unwrap().len();
    assert!(report < 64 << 20, "{name}: a report of {report} bytes");
}

/// Its largest resident size so far; 0 once it has ended.
fn peak_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}

#[test]
fn http_agents() {
    let address = server::start();
    let agent = |path: &str, reply: &str| {
        format!(
            "{{ timeout_ms: TIMEOUT, retries: {{ tries: 1 }}, http: {{ url: 'http://{address}/{path}', reply: {reply} }} }}"
        )
    };
    let (text, events) = ("{ text: $.reply }", "{ delta: $.delta, done: $.over }");
    let calls = "{ text: $.reply, tool_calls: $.calls, session: $.session }";
    play(
        "http",
        "",
        &[
            ("endless", agent("endless", text), &["agent_malformed"]),
            ("endless_head", agent("endless-head", text), &["agent_unreachable", "agent_malformed", "agent_timeout"]),
            ("huge_length", agent("huge-length", text), &["agent_malformed"]),
            ("crowd", agent("crowd", text), &["agent_malformed"]),
            ("deep", agent("deep", text), &["agent_malformed"]),
            ("pieces", agent("pieces", events), &["agent_malformed"]),
            ("comments", agent("comments", events), &["agent_malformed", "agent_timeout"]),
            ("long_line", agent("long-line", events), &["agent_malformed"]),
            ("calls", agent("calls", calls), &["agent_malformed", "agent_excessive"]),
            ("session", agent("session", calls), &["agent_malformed"]),
            ("drip", agent("drip", text), &["agent_timeout"]),
            ("silent", agent("silent", text), &["agent_timeout"]),
            // A reply may have a megabyte. Eight of them are more than a trial stores.
            ("large", agent("large", text), &["agent_excessive"]),
        ],
    );
}

#[test]
fn chat_models() {
    let address = server::start();
    let (mut endpoints, mut rows) = ("endpoints:\n".to_owned(), Vec::<Row>::new());
    let all: [(&str, &[&str]); 7] = [
        // Seventy-five calls side by side in each of sixteen replies, each answered with sixty kilobytes: this hung.
        ("loops", &["agent_excessive"]),
        ("endless", &["agent_malformed"]),
        ("crowd", &["agent_malformed"]),
        ("chat-calls", &["agent_malformed"]),
        ("chat-error", &["agent_malformed"]),
        ("chat-names", &[PASS]),
        ("drip", &["agent_timeout", "agent_malformed"]),
    ];
    for (path, kinds) in all {
        writeln!(
            endpoints,
            "  {path}: {{ url: 'http://{address}/{path}', model: m, timeout_ms: TIMEOUT_OF_{path} , retries: {{ tries: 1 }} }}"
        )
        .unwrap();
        rows.push((path, format!("{{ endpoint: {path} }}"), kinds));
    }
    play("chat", &endpoints, &rows);
}

#[test]
fn websocket_agents() {
    let address = server::start();
    let agent = |path: &str| {
        format!(
            "{{ timeout_ms: TIMEOUT, retries: {{ tries: 1 }}, websocket: {{ url: 'ws://{address}/{path}', reply: {{ delta: $.delta, text: $.text, done: $.over, tool_calls: $.calls }} }} }}"
        )
    };
    play(
        "websocket",
        "",
        &[
            // Two hundred megabytes a second, this was.
            ("pings", agent("ws-pings"), &["agent_malformed"]),
            ("pongs", agent("ws-pongs"), &["agent_malformed"]),
            ("fragments", agent("ws-fragments"), &["agent_timeout", "agent_malformed"]),
            ("huge_frame", agent("ws-huge-frame"), &["agent_malformed"]),
            ("pieces", agent("ws-pieces"), &["agent_malformed"]),
            ("idle", agent("ws-idle"), &["agent_malformed"]),
            ("crowd", agent("ws-crowd"), &["agent_malformed"]),
            ("calls", agent("ws-calls"), &["agent_malformed"]),
            ("garbage", agent("ws-garbage"), &["agent_unreachable", "agent_malformed"]),
            ("drip", agent("ws-drip"), &["agent_timeout"]),
            ("no_handshake", agent("endless-head"), &["agent_unreachable", "agent_malformed", "agent_timeout"]),
            ("large", agent("ws-large"), &["agent_excessive"]),
        ],
    );
}

#[test]
fn programs() {
    let agent = |script: &str| {
        format!("{{ timeout_ms: TIMEOUT, retries: {{ tries: 1 }}, subprocess: {{ command: [sh, -c, '{script}'] }} }}")
    };
    let x = "x".repeat(1_000);
    play(
        "subprocess",
        "",
        &[
            ("endless_line", agent("cat /dev/zero"), &["agent_unreachable"]),
            ("idle", agent("exec yes \"{\\\"other\\\":1}\""), &["agent_timeout", "agent_malformed"]),
            ("pieces", agent(&format!("exec yes \"{{\\\"delta\\\":\\\"{x}\\\"}}\"")), &["agent_malformed"]),
            ("stderr", agent("yes flood >&2 & exec sleep 100"), &["agent_timeout"]),
            ("no_json", agent("exec yes no"), &["agent_malformed"]),
            ("silent", agent("exec sleep 100"), &["agent_timeout"]),
            ("gone", agent("exit 3"), &["agent_unreachable"]),
            (
                "crowd",
                agent(
                    "printf %s \"[\"; yes \"{\\\"\\\":0},\" | head -n 120000 | tr -d \"\\n\"; echo \"1]\"; exec sleep 100",
                ),
                &["agent_malformed"],
            ),
        ],
    );
}
