//! One plan, one seed: the same answer in one process, with one worker, with three, and with one of them killed.

use std::{
    fs::{self, File},
    time::Duration,
};

use crate::{
    agents::ASK,
    process::{Place, Process, scenarios},
};

/// Slow enough that a worker can be killed in the middle, flaky enough that verdicts differ.
const SETTINGS: &str = "
endpoints:
  mock:
    kind: mock
    mock:
      latency: { kind: uniform, min_ms: 2, max_ms: 12 }
      pass:
        - probability: 0.97
";

const REPEATS: &str = "4";

#[test]
fn the_same_plan_and_seed_give_the_same_verdicts_however_they_are_played() {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    let scenarios = scenarios();
    let embedded = place.run(&["run", &scenarios, "--repeats", REPEATS, "--seed", "7", "--out", "embedded"]);
    assert!([0, 1].contains(&embedded.code), "{}", embedded.stderr);
    let expected = place.view("embedded");
    for (name, workers, killed) in [("one", 1, false), ("three", 3, false), ("killed", 3, true)] {
        assert_eq!(on_a_fleet(&place, &scenarios, name, workers, killed), expected, "{name}");
    }
}

fn on_a_fleet(place: &Place, scenarios: &str, name: &str, workers: usize, killed: bool) -> String {
    let data = format!("data-{name}");
    let (mut coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", &data]);
    let worker = || place.start(&["worker", "--coordinator", &address, "--slots", "4", "--config", "gabfest.yaml"]);
    let mut fleet: Vec<Process> = (0..workers).map(|_| worker()).collect();
    let submitted = place.run(&[
        "submit",
        scenarios,
        "--repeats",
        REPEATS,
        "--seed",
        "7",
        "--coordinator",
        &address,
        "--run",
        name,
    ]);
    assert_eq!((submitted.code, submitted.stdout.trim()), (0, name), "{}", submitted.stderr);
    if killed {
        std::thread::sleep(Duration::from_millis(700));
        fleet[0].kill();
    }
    let watched = place.run(&["watch", name, "--coordinator", &address, "--out", name]);
    assert!([0, 1].contains(&watched.code), "{}", watched.stderr);
    let report = place.json(&format!("{name}/report.json"));
    assert_eq!(report["summary"]["trials"]["not_started"], 0);
    if killed {
        assert!(report["summary"]["attempts"]["lost"].as_u64().unwrap() > 0, "the killed worker held nothing");
    }
    let view = place.run(&["report", name, "--coordinator", &address, "--format", "view"]);
    assert_eq!(view.code, 0, "{}", view.stderr);
    for worker in fleet.iter_mut().skip(usize::from(killed)) {
        worker.signal("TERM");
    }
    for worker in fleet.iter_mut().skip(usize::from(killed)) {
        assert_eq!(worker.wait(Duration::from_secs(20)), 0, "a drained worker exits with 0");
    }
    coordinator.signal("TERM");
    assert_eq!(coordinator.wait(Duration::from_secs(20)), 0);
    view.stdout
}

#[test]
fn a_run_can_be_listed_cancelled_and_resumed_on_a_coordinator() {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    let (_coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0"]);
    let submit =
        |run: &str| place.run(&["submit", &scenarios(), "--coordinator", &address, "--run", run, "--repeats", "3"]);
    assert_eq!(submit("a").code, 0);
    assert_eq!(submit("a").code, 0, "the same run twice is one run");
    let other = place.run(&["submit", &scenarios(), "--coordinator", &address, "--run", "a", "--repeats", "9"]);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert_eq!(place.run(&["cancel", "a", "--drain", "--coordinator", &address]).code, 0);
    let list = place.run(&["runs", "--coordinator", &address]).stdout;
    assert!(list.contains("\na    interrupted  ") && list.starts_with("RUN  STATE        TRIALS"), "{list}");
    assert_eq!(place.run(&["resume", "a", "--coordinator", &address]).code, 0);
    let _worker = place.start(&["worker", "--coordinator", &address]);
    let watched = place.run(&["watch", "a", "--coordinator", &address, "--quiet", "--out", "out"]);
    assert!([0, 1].contains(&watched.code), "{}", watched.stderr);
    // The files of `watch` are read without the coordinator.
    let read = |format: &str| place.run(&["report", "out", "--format", format]);
    let there = |name: &str| std::fs::read_to_string(place.path().join("out").join(name)).unwrap();
    assert_eq!(read("json").stdout, there("report.json"));
    assert_eq!(read("transcripts").stdout, there("transcripts.jsonl"));
    let asked = place.run(&["report", "a", "--coordinator", &address, "--format", "text"]);
    assert_eq!(read("text").stdout, asked.stdout, "the same, of files and of the coordinator");
    assert!(place.run(&["report", "out"]).stdout.ends_with("out/report.html\n"));
    let view = read("view");
    assert!(view.code == 2 && view.stderr.contains("hint: name the coordinator"), "{}", view.stderr);
    let again = place.run(&["resume", "a", "--coordinator", &address]);
    assert!(again.stderr.contains("run a has nothing left to play"), "{}", again.stderr);
    for command in ["cancel", "resume", "watch", "report"] {
        let unknown = place.run(&[command, "nothing", "--coordinator", &address]);
        assert_eq!(unknown.code, 2, "{command}: {}", unknown.stderr);
        assert!(unknown.stderr.contains("run nothing is unknown"), "{command}: {}", unknown.stderr);
    }
}

#[test]
fn a_coordinator_that_is_started_again_is_waited_for() {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    let (mut coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    let _worker = place.start(&["worker", "--coordinator", &address, "--slots", "4", "--config", "gabfest.yaml"]);
    let eliza = format!("{}/eliza", scenarios());
    let mut submit =
        place.start(&["submit", &eliza, "--coordinator", &address, "--repeats", "4", "--watch", "--out", "out"]);
    std::thread::sleep(Duration::from_secs(2));
    coordinator.signal("TERM");
    assert_eq!(coordinator.wait(Duration::from_secs(20)), 0);
    let listed = place.run(&["runs", "--coordinator", &address]);
    assert_eq!(listed.code, 3, "nobody answers in between");
    let listen = address.trim_start_matches("http://");
    let (_coordinator, _) = place.serve(&["coordinator", "--listen", listen, "--data", "data"]);
    let code = submit.wait(Duration::from_secs(90));
    assert!([0, 1].contains(&code), "{code}");
    let report = place.json("out/report.json");
    assert_eq!(report["run"]["state"], "finished");
    assert_eq!(report["summary"]["trials"]["not_started"], 0);
    assert_eq!(report["summary"]["attempts"]["lost"], 0, "the worker kept what it held");
}

#[test]
fn a_coordinator_that_does_not_answer_is_a_clear_error() {
    let place = Place::new();
    let submitted = place.run(&["submit", &scenarios(), "--coordinator", "http://127.0.0.1:9"]);
    assert_eq!(submitted.code, 3);
    assert!(submitted.stderr.contains("no coordinator answers at http://127.0.0.1:9"), "{}", submitted.stderr);
    assert!(submitted.stderr.contains("hint:"), "{}", submitted.stderr);
    let worker = place.run(&["worker", "--coordinator", "http://127.0.0.1:9", "--patience", "1"]);
    assert_eq!(worker.code, 3);
    assert!(worker.stderr.contains("the coordinator was not reached within 1 s"), "{}", worker.stderr);
    assert!(worker.stderr.contains("refused"), "it says why: {}", worker.stderr);
    assert_eq!(place.run(&["coordinator", "--listen", "0.0.0.0:0"]).code, 2, "open to the world only when asked for");
}

#[test]
fn workers_are_listed_and_a_lost_one_is_logged() {
    let place = Place::new();
    place.write("gabfest.yaml", "endpoints: { mock: { kind: mock, mock: { latency: { ms: 60000 } } } }");
    let mut command = place.gabfest(&["coordinator", "--listen", "127.0.0.1:0"]);
    let log = place.path().join("coordinator.log");
    let (mut coordinator, address) = Process::serve_logging(&mut command, File::create(&log).unwrap().into());
    let list = || {
        let listed = place.run(&["workers", "--coordinator", &address]);
        assert_eq!(listed.code, 0, "{}", listed.stderr);
        listed.stdout
    };
    assert_eq!(list(), "no worker is connected\n");
    let start = |name: &str| {
        let at = ["--coordinator", &address, "--name", name, "--slots", "3", "--config", "gabfest.yaml"];
        place.start(&[&["worker"], &at[..]].concat())
    };
    let (mut rack, _other) = (start("rack-1"), start("rack-2"));
    let submit = ["submit", &scenarios(), "--coordinator", &address, "--run", "slow"];
    assert_eq!(place.run(&submit).code, 0);
    let shown = eventually(|| Some(list()).filter(|shown| shown.matches(" of slow").count() == 2));
    assert!(
        shown.contains("rack-1") && shown.contains(env!("CARGO_PKG_VERSION")) && shown.contains("s ago"),
        "{shown}"
    );
    rack.kill();
    eventually(|| Some(list()).filter(|shown| !shown.contains("rack-1")));
    coordinator.signal("TERM");
    assert_eq!(coordinator.wait(Duration::from_secs(20)), 0);
    let log = fs::read_to_string(log).unwrap();
    let line = log.lines().find(|line| line.contains("worker lost")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("WARN") && line.contains("rack-1") && line.contains("trials="), "{line}");
}

/// One of two workers has no route to the agent, and breaks in a moment what the other one plays in half a second.
#[test]
fn a_worker_that_breaks_what_others_play_is_quarantined() {
    let place = Place::new();
    place.write("ask.scenario.yaml", ASK);
    place.write(
        "well.yaml",
        "endpoints: { m: { kind: mock, mock: { latency: { ms: 100 } } } }\nagents: { shop: { endpoint: m } }\n",
    );
    place.write("broken.yaml", "agents: { shop: { http: { url: 'http://127.0.0.1:9/' }, retries: { tries: 1 } } }\n");
    let mut command = place.gabfest(&["coordinator", "--listen", "127.0.0.1:0"]);
    let log = place.path().join("coordinator.log");
    let (_coordinator, address) = Process::serve_logging(&mut command, File::create(&log).unwrap().into());
    let start = |name: &str| {
        let settings = format!("{name}.yaml");
        place.start(&["worker", "--coordinator", &address, "--name", name, "--slots", "4", "--config", &settings])
    };
    let _workers = (start("well"), start("broken"));
    let list = || place.run(&["workers", "--coordinator", &address]).stdout;
    eventually(|| Some(list()).filter(|shown| shown.lines().count() == 3));
    let submit = place.run(&[
        "submit",
        "ask.scenario.yaml",
        "--agent",
        "shop",
        "--config",
        "well.yaml",
        "--coordinator",
        &address,
        "--run",
        "r",
        "--repeats",
        "2000",
    ]);
    assert_eq!(submit.code, 0, "{}", submit.stderr);
    let shown = eventually(|| Some(list()).filter(|shown| shown.contains("in quarantine")));
    let broken = |line: &str| line.starts_with("broken") && line.ends_with("in quarantine");
    assert!(shown.lines().any(broken) && shown.matches("quarantine").count() == 1, "{shown}");
    let said = fs::read_to_string(&log).unwrap();
    let line = said.lines().find(|line| line.contains("worker quarantined")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("WARN") && line.contains("broken"), "{line}");
    // Nothing new is played there.
    let ended = || place.run(&["runs", "--coordinator", &address]).stdout;
    let first = ended();
    eventually(|| Some(ended()).filter(|now| *now != first));
    let idles = |line: &str| line.starts_with("broken") && line.ends_with("nothing, in quarantine");
    assert!(list().lines().any(idles), "{}", list());
    assert_eq!(place.run(&["cancel", "r", "--drain", "--coordinator", &address]).code, 0);
}

pub(crate) fn eventually<T>(mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..200 {
        if let Some(found) = found() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("not within 20 s")
}
