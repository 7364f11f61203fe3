//! Coordinators whose runs are in PostgreSQL, if `GABFEST_POSTGRES` holds an address.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use crate::process::{Place, Process, scenarios};

/// Slow enough that a coordinator can be killed in the middle.
const SETTINGS: &str = "
endpoints:
  mock:
    kind: mock
    mock:
      latency: { kind: uniform, min_ms: 5, max_ms: 30 }
      pass:
        - probability: 0.97
";

/// An empty schema of its own.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn schema(name: &str) -> Option<String> {
    let Ok(server) = std::env::var("GABFEST_POSTGRES") else {
        eprintln!("SKIPPED: a test on PostgreSQL, GABFEST_POSTGRES is not set");
        return None;
    };
    let schema = format!("{name}_{}", std::process::id());
    let create = format!("create schema {schema}");
    let made = Command::new("psql").args([&server, "-q", "-c", &create]).output().expect("psql");
    assert!(made.status.success(), "{made:?}");
    let more = if server.contains('?') { '&' } else { '?' };
    Some(format!("{server}{more}options[search_path]={schema}"))
}

#[test]
fn a_standby_takes_over_from_a_killed_coordinator() {
    let Some(store) = schema("standby") else { return };
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    let scenarios = scenarios();
    let embedded = place.run(&["run", &scenarios, "--repeats", "4", "--seed", "7", "--out", "embedded"]);
    assert!([0, 1].contains(&embedded.code), "{}", embedded.stderr);

    let (mut first, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--store", &store]);
    let listen = address.strip_prefix("http://").unwrap();
    // In the environment, where `ps` does not show it.
    let mut second = place.gabfest(&["coordinator", "--listen", listen]);
    let mut second = second.env("GABFEST_STORE", &store).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(second.stdout.take().unwrap()).lines();
    let mut second = Process(second);
    let mut line = || lines.next().expect("a line").unwrap();
    let waits = line();
    assert!(waits.starts_with("standby for PostgreSQL at ") && waits.contains("of coordinator"), "{waits}");

    let _workers: Vec<Process> = (0..2)
        .map(|_| place.start(&["worker", "--coordinator", &address, "--slots", "4", "--config", "gabfest.yaml"]))
        .collect();
    let submit = ["submit", &scenarios, "--repeats", "4", "--seed", "7", "--coordinator", &address, "--run", "night"];
    assert_eq!(place.run(&submit).code, 0);
    std::thread::sleep(Duration::from_millis(700));
    first.kill();
    let serves = line();
    assert!(serves.starts_with(&format!("coordinator at {address}, runs in PostgreSQL at ")), "{serves}");

    let watched = place.run(&["watch", "night", "--coordinator", &address, "--out", "night"]);
    assert!([0, 1].contains(&watched.code), "{}", watched.stderr);
    let view = place.run(&["report", "night", "--coordinator", &address, "--format", "view"]);
    assert_eq!((view.code, view.stdout), (0, place.view("embedded")), "{}", view.stderr);
    second.signal("TERM");
    assert_eq!(second.wait(Duration::from_secs(20)), 0);

    // Handed over, so nobody waits for silence.
    let (_third, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--store", &store]);
    let runs = place.run(&["runs", "--coordinator", &address]).stdout;
    assert!(runs.contains("night  finished"), "{runs}");
}

#[test]
fn a_store_that_cannot_be_used_is_refused_with_a_reason() {
    let place = Place::new();
    for (store, code, says) in [
        ("mysql://db/gabfest", 2, "--store does not name a PostgreSQL database"),
        (
            "postgres://canary:canary@127.0.0.1:1/gabfest",
            3,
            "failed to open the store in PostgreSQL at 127.0.0.1:1/gabfest",
        ),
    ] {
        let ended = place.run(&["coordinator", "--listen", "127.0.0.1:0", "--store", store]);
        assert_eq!(ended.code, code, "{}", ended.stderr);
        assert!(ended.stderr.contains(says) && !ended.stderr.contains("canary"), "{}", ended.stderr);
    }
}
