//! Coordinators whose runs are in PostgreSQL, if `GABFEST_POSTGRES` holds an address.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    sync::mpsc::{self, Receiver},
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

const SCENARIO: &str = "
name: good
description: one question
run:
  - input: hello
    evaluations: [{ type: string_contains, value: you }]
judgment: { strategy: all_pass }
";

/// An empty schema of its own.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn schema(name: &str) -> Option<String> {
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

/// A coordinator on this store. Its lines after the first come through the channel.
fn coordinator(place: &Place, store: &str, more: &[&str]) -> (Process, String, Receiver<String>) {
    let mut command = place.gabfest(&[&["coordinator", "--listen", "127.0.0.1:0"], more].concat());
    // In the environment, where `ps` does not show it.
    let child = command.env("GABFEST_STORE", store).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut process = Process(child.unwrap());
    let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().expect("a line with the address");
    let begin = first.find("http").expect("an address");
    let address = first[begin..].split([',', ' ']).next().unwrap().to_owned();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || lines.try_for_each(|line| sender.send(line)));
    (process, address, receiver)
}

fn says(lines: &Receiver<String>, text: &str) {
    let line = lines.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{text:?} is not printed"));
    assert!(line.contains(text), "{line:?} is not {text:?}");
}

#[test]
fn every_coordinator_serves_and_the_next_one_takes_over_from_a_killed_one() {
    let Some(store) = schema("peers") else { return };
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    let scenarios = scenarios();
    let embedded = place.run(&["run", &scenarios, "--repeats", "4", "--seed", "7", "--out", "embedded"]);
    assert!([0, 1].contains(&embedded.code), "{}", embedded.stderr);

    let (mut first, one, lines) = coordinator(&place, &store, &[]);
    says(&lines, "in charge of the runs");
    let (mut second, two, lines) = coordinator(&place, &store, &[]);
    says(&lines, &format!("at {one}, which is in charge"));
    let both = format!("{one},{two}");
    let _workers: Vec<Process> = [&["--coordinator", &two][..], &["--coordinator", &one, "--coordinator", &two]]
        .map(|to| place.start(&[&["worker", "--slots", "4", "--config", "gabfest.yaml"], to].concat()))
        .into();
    // People come to the one that is not in charge.
    let submit = ["submit", &scenarios, "--repeats", "4", "--seed", "7", "--coordinator", &two, "--run", "night"];
    let submitted = place.run(&submit);
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    let mut watcher = place.start(&["watch", "night", "--coordinator", &both, "--out", "night"]);
    std::thread::sleep(Duration::from_millis(700));
    first.kill();
    let killed = tokio::time::Instant::now();
    says(&lines, "in charge of the runs");
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());

    assert!([0, 1].contains(&watcher.wait(Duration::from_secs(60))));
    let view = place.run(&["report", "night", "--coordinator", &both, "--format", "view"]);
    assert_eq!((view.code, view.stdout), (0, place.view("embedded")), "{}", view.stderr);

    // On SIGTERM it hands over at once.
    let (_third, three, lines) = coordinator(&place, &store, &[]);
    says(&lines, &format!("at {two}, which is in charge"));
    second.signal("TERM");
    let asked = tokio::time::Instant::now();
    says(&lines, "in charge of the runs");
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    assert_eq!(second.wait(Duration::from_secs(20)), 0);
    let runs = place.run(&["runs", "--coordinator", &three]).stdout;
    assert!(runs.contains("night  finished"), "{runs}");
}

/// It was silent for longer than its hold lasts, and finds another one in charge.
#[test]
fn a_coordinator_that_was_replaced_relays_to_the_next_one() {
    let Some(store) = schema("replaced") else { return };
    let place = Place::new();
    let (first, one, first_lines) = coordinator(&place, &store, &[]);
    says(&first_lines, "in charge of the runs");
    let (_second, two, lines) = coordinator(&place, &store, &["--advertise", "localhost:1"]);
    says(&lines, "which is in charge");
    first.signal("STOP");
    says(&lines, "in charge of the runs");
    first.signal("CONT");
    says(&first_lines, "at http://localhost:1, which is in charge");
    let runs = place.run(&["runs", "--coordinator", &two]);
    assert_eq!(runs.code, 0, "{}", runs.stderr);
    // What it advertises is wrong here, and the answer says so.
    let runs = place.run(&["runs", "--coordinator", &one]);
    assert_ne!(runs.code, 0);
    assert!(
        runs.stderr.contains("the coordinator in charge, at http://localhost:1, does not answer"),
        "{}",
        runs.stderr
    );
}

#[test]
fn coordinators_with_certificates_relay_who_calls() {
    let Some(store) = schema("tls") else { return };
    let place = Place::new();
    assert_eq!(place.run(&["pki", "init", "--pki", "pki"]).code, 0);
    for role in ["view", "submit"] {
        let made = place.run(&["pki", "issue", "--pki", "pki", "--role", role, "--out", role]);
        assert_eq!(made.code, 0, "{}", made.stderr);
    }
    place.write("good.scenario.yaml", SCENARIO);
    let (_first, _, lines) = coordinator(&place, &store, &["--tls", "pki"]);
    says(&lines, "in charge of the runs");
    let (_second, two, lines) = coordinator(&place, &store, &["--tls", "pki"]);
    says(&lines, "which is in charge");
    assert!(two.starts_with("https://"), "{two}");
    let by = |role, args: &[&str]| place.run(&[args, &["--coordinator", &two, "--identity", role]].concat());
    let submitted = by("submit", &["submit", "good.scenario.yaml", "--run", "one"]);
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    let refused = by("view", &["submit", "good.scenario.yaml"]);
    assert!(refused.stderr.contains("the role view may not call Submit"), "{}", refused.stderr);
    let listed = by("view", &["runs"]);
    assert!(listed.code == 0 && listed.stdout.contains("one"), "{}{}", listed.stdout, listed.stderr);
}

#[test]
fn a_token_is_good_after_the_coordinator_that_made_it_was_killed() {
    let Some(store) = schema("tokens") else { return };
    let place = Place::new();
    assert_eq!(place.run(&["pki", "init", "--pki", "pki"]).code, 0);
    let (mut first, one, lines) = coordinator(&place, &store, &["--tls", "pki"]);
    says(&lines, "in charge of the runs");
    let (_second, two, lines) = coordinator(&place, &store, &["--tls", "pki"]);
    says(&lines, "which is in charge");
    let made = place.run(&["pki", "token", "--role", "view", "--coordinator", &one, "--identity", "pki/admin"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    place.write("token", &made.stdout);
    first.kill();
    says(&lines, "in charge of the runs");
    let join = |identity| {
        place.run(&["pki", "join", "--coordinator", &two, "--identity", identity, "--join-token-file", "token"])
    };
    let joined = join("newcomer");
    assert_eq!(joined.code, 0, "{}", joined.stderr);
    assert_eq!(place.run(&["runs", "--coordinator", &two, "--identity", "newcomer"]).code, 0);
    let replayed = join("thief");
    assert_eq!(replayed.code, 2, "{}", replayed.stderr);
    assert!(replayed.stderr.contains("the join token was used already"), "{}", replayed.stderr);
}

/// Somebody who asks while nobody is in charge gets an answer.
#[test]
fn who_reads_runs_waits_for_the_next_coordinator_in_charge() {
    let Some(store) = schema("reads") else { return };
    let place = Place::new();
    place.write("good.scenario.yaml", SCENARIO);
    let (mut first, one, lines) = coordinator(&place, &store, &[]);
    says(&lines, "in charge of the runs");
    let (_second, two, lines) = coordinator(&place, &store, &[]);
    says(&lines, "which is in charge");
    let both = format!("{one},{two}");
    let _worker = place.start(&["worker", "--coordinator", &both]);
    let played = place.run(&["submit", "good.scenario.yaml", "--run", "one", "--coordinator", &one, "--watch"]);
    assert_eq!(played.code, 0, "{}", played.stderr);
    let reader = Place::new();
    first.kill();
    let killed = tokio::time::Instant::now();
    let commands: [&[&str]; 5] = [
        &["runs"],
        &["workers"],
        &["watch", "one", "--out", "watched"],
        &["report", "one", "--format", "markdown"],
        &["export", "one", "--out", "exported"],
    ];
    let asked = commands.map(|command| {
        let asked = reader.gabfest(&[command, &["--coordinator", &two]].concat()).stdout(Stdio::piped()).spawn();
        (command, asked.unwrap())
    });
    for (command, asked) in asked {
        let ended = asked.wait_with_output().unwrap();
        assert!(ended.status.success(), "{command:?}: {ended:?}");
        assert!(killed.elapsed() < Duration::from_secs(10), "{command:?}: {:?}", killed.elapsed());
    }
    says(&lines, "in charge of the runs");
}

#[test]
fn an_address_for_others_must_be_one() {
    let place = Place::new();
    let alone = place.run(&["coordinator", "--advertise", "h:1"]);
    assert!(alone.code == 2 && alone.stderr.contains("--store"), "{}", alone.stderr);
    let Some(store) = schema("advertise") else { return };
    let wrong = place.run(&["coordinator", "--listen", "127.0.0.1:0", "--store", &store, "--advertise", "host"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("--advertise \"host\" is not HOST:PORT"), "{}", wrong.stderr);
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
