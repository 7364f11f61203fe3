//! Ctrl-C: the first drains and reports the results so far, the second stops.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::Stdio,
    sync::mpsc,
    time::Duration,
};

use crate::process::{Place, Process, scenarios};

fn start(place: &Place, latency_ms: u32) -> Process {
    place.write(
        "gabfest.yaml",
        &format!(
            "endpoints:\n  mock:\n    kind: mock\n    mock:\n      latency: {{ ms: {latency_ms} }}\n\
             gates: {{ pass_rate: 0.1, max_unjudged: 0.99, max_unjudged_cases: 1000 }}\n"
        ),
    );
    let eliza = format!("{}/eliza", scenarios());
    let mut command =
        place.gabfest(&["run", &eliza, "--repeats", "200", "--slots", "4", "--out", "out", "--log", "skunit"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let run = Process(child);
    // A run listens for signals before it opens its store; a busy machine is given its time.
    let store = place.path().join("out/run.db");
    for _ in 0..600 {
        if store.exists() {
            return run;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the run has not opened its store within a minute");
}

#[test]
fn one_interrupt_finishes_running_trials_and_reports() {
    let place = Place::new();
    let mut run = start(&place, 40);
    let said = BufReader::new(run.0.stdout.take().unwrap());
    let (sender, first) = mpsc::channel();
    // Read to its end: a full pipe would block the run.
    std::thread::spawn(move || said.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
    first.recv_timeout(Duration::from_secs(60)).expect("a trial is played and reported");
    run.signal("INT");
    assert_eq!(run.wait(Duration::from_secs(30)), 130);
    let report = place.json("out/report.json");
    assert_eq!(report["run"]["state"], "interrupted");
    assert_eq!(report["verdict"], "INCONCLUSIVE", "nothing forgives what was not played: {}", report["gates"]);
    let trials = &report["summary"]["trials"];
    assert!(trials["pass"].as_u64().unwrap() > 0);
    assert!(trials["not_started"].as_u64().unwrap() > 0);
    assert_eq!(report["summary"]["attempts"]["lost"], 0, "a drain loses nothing");
    assert!(run.stderr().contains("gabfest resume"));
}

#[test]
fn two_interrupts_stop_at_once() {
    let place = Place::new();
    let agent = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings =
        |endpoint: &str| format!("endpoints: {{ slow: {{ {endpoint} }} }}\nagents: {{ slow: {{ endpoint: slow }} }}\n");
    place.write("gabfest.yaml", &settings(&format!("url: 'http://{}/v1'", agent.local_addr().unwrap())));
    let eliza = format!("{}/eliza", scenarios());
    let arguments = ["run", &eliza, "--agent", "slow", "--no-preflight", "--repeats", "5", "--out", "out"];
    let mut run = Process(place.gabfest(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    // The agent was called, so a conversation has begun. The agent never answers.
    let asked = agent.accept().unwrap();
    run.signal("INT");
    // The system merges two signals that a process has not handled yet.
    let mut said = BufReader::new(run.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line.starts_with("interrupted: finishing")));
    run.signal("INT");
    assert_eq!(run.wait(Duration::from_secs(30)), 130);
    drop(asked);
    let report = place.json("out/report.json");
    assert_eq!(report["run"]["state"], "interrupted", "a partial report is written");
    let lost = report["summary"]["attempts"]["lost"].as_u64().unwrap();
    assert!(lost > 0, "{}", report["summary"]["attempts"]);
    let page = std::fs::read_to_string(place.path().join("out/report.md")).unwrap();
    assert!(page.contains(" unfinished: given up, or lost with their workers"), "{page}");
    assert!(!page.contains("played again"), "nobody plays them: {page}");
    // Abandoned trials are played again.
    place.write("gabfest.yaml", &settings("kind: mock"));
    let resumed = place.run(&["resume", "out", "--quiet"]);
    assert!(resumed.code < 2, "{}", resumed.stderr);
    assert_eq!(place.json("out/report.json")["summary"]["trials"]["not_started"], 0);
}

#[test]
fn a_coordinator_that_is_stopped_while_it_opens_its_store_has_done_nothing_wrong() {
    let place = Place::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("postgres://anybody@{}/gabfest", silent.local_addr().unwrap());
    let mut coordinator = place.start(&["coordinator", "--listen", "127.0.0.1:0", "--store", &store]);
    let asked = silent.accept().unwrap();
    coordinator.signal("TERM");
    assert_eq!(coordinator.wait(Duration::from_secs(30)), 0);
    drop(asked);
}
