//! Keys that agents, simulated users and judges echo, in every field and with every kind of failure: none is in
//! anything that gabfest prints, writes, stores, serves or sends.

mod provider;
mod sinks;

use std::process::Command;

use self::{
    provider::{Provider, Seen},
    sinks::{Role, Sinks},
};
use crate::{
    postgres,
    process::{Ended, Place},
};

/// How many keys are planted: one of each role, and the others in headers of the agent.
const KEYS: usize = 50;
const ROLES: [&str; 3] = ["KEY_OF_AGENT", "KEY_OF_USER", "KEY_OF_JUDGE"];

/// The variable and the key of each. The keys have no known shape, so that only knowing them can hide them, and characters
/// that JSON, HTML and addresses encode.
fn planted() -> &'static [(String, String)] {
    static PLANTED: std::sync::OnceLock<Vec<(String, String)>> = std::sync::OnceLock::new();
    PLANTED.get_or_init(|| {
        let headers = (ROLES.len()..KEYS).map(|number| format!("KEY_IN_HEADER_{number}"));
        let names = ROLES.map(str::to_owned).into_iter().chain(headers);
        names.zip(1..).map(|(name, seed)| (name, key(seed))).collect()
    })
}

/// Such as `Qx7Zp2Wm/&"Lr8Vn3Bd`.
fn key(seed: u64) -> String {
    let letters = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let mut state = seed;
    let mut half = || -> String {
        let mut letter = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(letters[usize::try_from((state >> 33) % letters.len() as u64).unwrap()])
        };
        (0..8).map(|_| letter()).collect()
    };
    format!("{}/&\"{}", half(), half())
}

/// Each role's action and its result. A used-up quota ends the run, so it is separate.
const DEEDS: &[(&str, &str, &str)] = &[
    ("agent", "says", ""),
    ("agent", "streams", ""),
    ("agent", "refuses", "agent_refused"),
    ("agent", "refuses_in_words", "misconfigured"),
    ("agent", "redirects", "agent_refused"),
    ("agent", "throttles", "agent_throttled"),
    ("agent", "breaks", "agent_failed"),
    ("agent", "hangs_up", "agent_unreachable"),
    ("agent", "waits", "agent_timeout"),
    ("agent", "shows_a_page", "agent_malformed"),
    ("agent", "stops_half_way", "agent_malformed"),
    ("agent", "says_something_else", "agent_malformed"),
    ("agent", "fails_inside", "agent_malformed"),
    ("agent", "streams_half", "agent_malformed"),
    ("agent", "streams_a_fault", "agent_malformed"),
    ("agent", "streams_and_waits", "agent_timeout"),
    ("agent", "says_nothing", "agent_empty"),
    ("user", "says", ""),
    ("user", "refuses", "simulator_failed"),
    ("user", "throttles", "simulator_failed"),
    ("user", "breaks", "simulator_failed"),
    ("user", "hangs_up", "simulator_failed"),
    ("user", "waits", "simulator_failed"),
    ("user", "says_something_else", "simulator_failed"),
    ("user", "says_nothing", "simulator_failed"),
    ("judge", "says", "check_failed"),
    ("judge", "refuses", "judge_failed"),
    ("judge", "throttles", "judge_failed"),
    ("judge", "breaks", "judge_failed"),
    ("judge", "hangs_up", "judge_failed"),
    ("judge", "waits", "judge_failed"),
    ("judge", "says_something_else", "judge_failed"),
    ("judge", "rambles", "judge_malformed"),
    ("judge", "says_nothing", "judge_malformed"),
];

/// Where the server puts a key, next to a mark that must be found in what is kept of the run.
const ECHOES: [&str; 10] = [
    "in-content [redacted] [redacted]",
    "in-stream [redacted] [redacted]",
    "in-model [redacted] [redacted]",
    "in-streamed-model [redacted] [redacted]",
    "in-call-id [redacted] [redacted]",
    "in-call-name [redacted] [redacted]",
    "in-arguments [redacted] [redacted]",
    "in-action [redacted] [redacted]",
    "in-user-words [redacted]",
    "in-fault [",
];

fn settings(provider: &Provider) -> String {
    let address = &provider.address;
    let in_headers = planted().iter().map(|(name, _)| name).filter(|name| name.contains("HEADER"));
    let headers = in_headers.map(|name| format!("x-tenant-{}: env:{name}", name.to_lowercase().replace('_', "-")));
    let headers = headers.collect::<Vec<_>>().join(", ");
    let patience = "timeout_ms: 700, retries: { tries: 2, deadline_ms: 300 }";
    format!(
        "
endpoints:
  shop: {{ url: '{address}/agent/v1', key: env:KEY_OF_AGENT, headers: {{ {headers} }}, stream: true, {patience} }}
  people: {{ url: '{address}/user/v1', key: env:KEY_OF_USER, {patience} }}
  court: {{ url: '{address}/judge/v1', key: env:KEY_OF_JUDGE, {patience} }}
agents:
  shop: {{ endpoint: shop }}
roles: {{ agent: shop, user_sim: people, judge: court }}
export: {{}}
"
    )
}

/// The server's action follows from the text that it receives.
fn scenario(role: &str, deed: &str) -> String {
    let what = match role {
        "agent" => format!("input: agent-{deed}, please\n    evaluations: [{{ type: string_contains, value: in- }}]"),
        "user" => format!(
            "input: agent-says something
    conversation:
      max_turns: 2
      user_simulator: {{ persona: somebody, objective: user-{deed} }}
      debug: {{ export_full_transcript: true, log_simulator_prompts: true }}
    evaluations: [{{ type: string_contains, value: in- }}]"
        ),
        _ => format!(
            "input: agent-says something
    evaluations: [{{ type: llm_judge, prompt: 'judge-{deed}: is it right?', expected: 'yes' }}]"
        ),
    };
    format!(
        "name: {role}-{deed}\ndescription: d\nrun:\n  - name: one\n    {what}\njudgment: {{ strategy: all_pass }}\n"
    )
}

/// Sets up a command; only a process that plays gets the keys.
fn prepared<'a>(command: &'a mut Command, provider: &Provider, with_keys: bool) -> &'a mut Command {
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &provider.address)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        .env("OTEL_TRACES_SAMPLER", "always_on")
        .env("OTEL_BSP_MAX_QUEUE_SIZE", "20000")
        .env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        .envs(planted().iter().map(|(name, key)| (name, key)).filter(|_| with_keys))
}

fn place(provider: &Provider) -> Place {
    let place = Place::new();
    place.write("gabfest.yaml", &settings(provider));
    for (role, deed, _) in DEEDS {
        place.write(&format!("all/{role}-{deed}.scenario.yaml"), &scenario(role, deed));
    }
    for role in ["agent", "user", "judge"] {
        place.write(&format!("poor-{role}/one.scenario.yaml"), &scenario(role, "wants_money"));
    }
    place
}

/// That the server was given every key and did everything that the table says.
fn assert_asked(seen: &Seen) {
    let keys = |role: &str| -> Vec<&str> {
        let of_role = |name: &str| name.contains(&role.to_uppercase()) || (role == "agent" && name.contains("HEADER"));
        planted().iter().filter(|(name, _)| of_role(name)).map(|(_, key)| key.as_str()).collect()
    };
    for (role, deed, _) in DEEDS {
        let of_deed: Vec<_> =
            seen.asked.iter().filter(|(who, what, _)| (who, what) == (&(*role).into(), &(*deed).into())).collect();
        assert!(!of_deed.is_empty(), "{role}-{deed} was not asked for");
        for (_, _, got) in of_deed {
            let mut got: Vec<&str> = got.iter().map(String::as_str).collect();
            let mut expected = keys(role);
            got.sort_unstable();
            expected.sort_unstable();
            assert_eq!(got, expected, "{role}-{deed}");
        }
    }
}

/// That each trial ended as the table says.
fn assert_ended(sinks: &Sinks, folder: &str) {
    let json = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
    let report = json(&sinks.text(&format!("{folder}/report.json")));
    let trials: Vec<_> = sinks.text(&format!("{folder}/trials.jsonl")).lines().map(json).collect();
    assert_eq!(trials.len(), DEEDS.len());
    for (role, deed, kind) in DEEDS {
        let cases = report["cases"].as_array().unwrap();
        let case = cases.iter().find(|case| case["scenario"] == format!("{role}-{deed}")).unwrap();
        let trial = trials.iter().find(|trial| trial["case_id"] == case["id"]).unwrap();
        assert_eq!(trial["failure_kind"].as_str().unwrap_or_default(), *kind, "{role}-{deed}: {trial}");
    }
}

/// Checks that keys were echoed where they had to be hidden: otherwise [`Sinks::assert_clean`] would prove nothing.
fn assert_echoed(sinks: &Sinks, folder: &str, store: &str) {
    for echo in ECHOES {
        sinks.assert_somewhere(&format!("{folder}/transcripts.jsonl"), echo);
        sinks.assert_somewhere(store, echo);
    }
    sinks.assert_somewhere(&format!("{folder}/trials.jsonl"), "in-reasoning [redacted]");
    for (path, echo) in [
        ("sent/v1/traces", "in-content [redacted] [redacted]"),
        ("sent/v1/traces", "in-call-id [redacted] [redacted]"),
        ("sent/v1/traces", "in-model [redacted] [redacted]"),
        ("sent/v1/logs", "in-reasoning [redacted]"),
        ("sent/v1/metrics", "in-model [redacted] [redacted]"),
    ] {
        sinks.assert_somewhere(path, echo);
    }
}

fn add_sent(sinks: &mut Sinks, seen: &Seen) {
    for (number, (path, body)) in seen.received.iter().enumerate() {
        sinks.add(format!("sent{path} {number}"), body.clone());
    }
}

fn add_printed(sinks: &mut Sinks, name: &str, ended: &Ended) {
    sinks.add(format!("{name}/stdout"), ended.stdout.clone());
    sinks.add(format!("{name}/stderr"), ended.stderr.clone());
}

const FORMATS: [&str; 8] = ["text", "json", "junit", "markdown", "html", "trials", "transcripts", "view"];

#[test]
fn a_run_shows_no_key_whatever_is_sent_and_whatever_fails() {
    let provider = Provider::start();
    let place = place(&provider);
    let mut sinks = Sinks::default();
    let play = |from: &str| {
        let args = ["-vvv", "run", from, "--out", &format!("out-{from}"), "--log", "skunit"];
        Ended::from(prepared(&mut place.gabfest(&args), &provider, true).output().unwrap())
    };
    let ended = play("all");
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    add_printed(&mut sinks, "all", &ended);
    for role in ["agent", "user", "judge"] {
        let from = format!("poor-{role}");
        let ended = play(&from);
        // A used-up quota stops the run, even in its last trial.
        assert_eq!(ended.code, 4, "{from}: {}", ended.stdout);
        add_printed(&mut sinks, &from, &ended);
        sinks.add_folder(&place, &format!("out-{from}"));
        sinks.assert_somewhere(&format!("out-{from}/trials.jsonl"), "provider_exhausted");
    }
    for format in FORMATS {
        let args = ["report", "out-all", "--format", format];
        add_printed(&mut sinks, format, &place.run(&args));
    }
    sinks.add_folder(&place, "out-all");
    let seen = provider.seen();
    add_sent(&mut sinks, &seen);
    sinks.assert_clean();
    assert_asked(&seen);
    assert_ended(&sinks, "out-all");
    assert_echoed(&sinks, "out-all", "out-all/run.db");
    for echo in ["in-content", "in-model", "in-call-id", "in-arguments"] {
        sinks.assert_somewhere("out-all/export", &format!("{echo} [redacted] [redacted]"));
    }
}

#[test]
fn a_fleet_shows_no_key_whatever_is_sent_and_whatever_fails() {
    fleet(None);
}

#[test]
fn a_fleet_on_postgresql_shows_no_key_whatever_is_sent_and_whatever_fails() {
    if let Some(store) = postgres::schema("keys") {
        fleet(Some(&store));
    }
}

/// `store`: on PostgreSQL.
fn fleet(store: Option<&str>) {
    let provider = Provider::start();
    let place = place(&provider);
    let mut sinks = Sinks::default();
    let mut command = place.gabfest(&["-vvv", "coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    command.envs(store.map(|store| ("GABFEST_STORE", store)));
    let coordinator = Role::start(&place, "coordinator", prepared(&mut command, &provider, false));
    let address = coordinator.address.clone();
    let mut command = place.gabfest(&["-vvv", "worker", "--coordinator", &address]);
    let worker = Role::start(&place, "worker", prepared(&mut command, &provider, true));
    let args = ["-vvv", "submit", "all", "--coordinator", &address, "--run", "night", "--watch", "--out", "out"];
    let ended = Ended::from(prepared(&mut place.gabfest(&args), &provider, false).output().unwrap());
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    add_printed(&mut sinks, "submit", &ended);
    for format in FORMATS {
        let args = ["report", "night", "--coordinator", &address, "--format", format];
        add_printed(&mut sinks, format, &place.run(&args));
    }
    add_printed(&mut sinks, "runs", &place.run(&["runs", "--coordinator", &address]));
    worker.look(&mut sinks);
    coordinator.look(&mut sinks);
    match store {
        Some(store) => sinks.add_tables(store),
        // Includes the temporary log, which disappears in the end.
        None => sinks.add_folder(&place, "data"),
    }
    worker.stop(&place, &mut sinks);
    coordinator.stop(&place, &mut sinks);
    sinks.add_folder(&place, "out");
    let seen = provider.seen();
    add_sent(&mut sinks, &seen);
    sinks.assert_clean();
    assert_asked(&seen);
    assert_ended(&sinks, "out");
    assert_echoed(&sinks, "out", if store.is_some() { "table/" } else { "data/" });
    sinks.assert_somewhere("worker/metrics", "in-model [redacted] [redacted]");
}
