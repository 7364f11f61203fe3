//! People steer a load while it plays: pause, slots, rate, resume, and a coordinator that is killed in between.

use std::{thread::sleep, time::Duration};

use serde_json::Value;
use tokio::time::Instant;

use crate::process::Place;

const SETTINGS: &str = "
endpoints: {mock: {kind: mock, mock: {latency: {ms: 30}}}}
load:
  shop:
    duration: 8s
    groups:
      public: {rate: 20/s}
      team: {slots: 1}
";

/// The line of the run in `gabfest runs`.
fn line(place: &Place, address: &str) -> String {
    let listed = place.run(&["runs", "--coordinator", address]);
    listed.stdout.lines().find(|line| line.starts_with("load ")).unwrap_or_default().to_owned()
}

#[test]
fn a_load_is_paused_given_slots_and_a_rate_and_resumed() {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    place.write(
        "a.scenario.yaml",
        "name: a\ndescription: d\nrun:\n  - input: hello\n    evaluations: [{type: string_contains, value: hello}]\njudgment: {strategy: all_pass}\n",
    );
    let (mut coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    let _worker = place.start(&["worker", "--coordinator", &address, "--slots", "40", "--config", "gabfest.yaml"]);
    let said = |command: &[&str]| {
        let ended = place.run(&[command, &["--coordinator", address.as_str()][..]].concat());
        assert_eq!(ended.code, 0, "{command:?}: {}", ended.stderr);
        ended.stdout
    };
    said(&["submit", ".", "--pace", "shop", "--run", "load"]);
    let deadline = Instant::now() + Duration::from_secs(30);
    while line(&place, &address).contains(" 0/") {
        assert!(Instant::now() < deadline, "no conversation has ended");
    }
    // Slots are filled a moment before the time of the load begins.
    sleep(Duration::from_millis(400));
    assert!(said(&["pause", "load"]).starts_with("load is paused"));
    assert!(line(&place, &address).contains("  paused  "), "{}", line(&place, &address));
    said(&["slots", "load", "3", "--group", "team"]);
    let rate = said(&["rate", "load", "60/s"]);
    assert_eq!(rate, "load has the rate 60/s, 4.0 seconds from now; workers hold the starts before that\n");
    let refused = place.run(&["rate", "load", "60/s", "--group", "team", "--coordinator", &address]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("team: it plays in slots, not at a rate"), "{}", refused.stderr);

    coordinator.kill();
    let listen = address.trim_start_matches("http://");
    let (_coordinator, _) = place.serve(&["coordinator", "--listen", listen, "--data", "data"]);
    assert!(line(&place, &address).contains("  paused  "), "a restart lets nothing start");
    said(&["resume", "load"]);
    let watched = place.run(&["watch", "load", "--coordinator", &address, "--out", "out"]);
    let report = place.json("out/report.json");
    let decided = report["run"]["decisions"].as_array().unwrap();
    let named: Vec<&str> = decided.iter().map(|decision| decision["decided"].as_str().unwrap()).collect();
    assert_eq!(named, ["paused", "slots", "rate", "restarted", "resumed"], "{}", watched.stderr);

    let load = &report["load"];
    let count = |of: &Value, name: &str| of[name].as_u64().unwrap();
    let from = decided[2]["from_micros"].as_f64().unwrap() / 1e6;
    let [public, team] = load["groups"].as_array().unwrap().as_slice() else { panic!("{load}") };
    let starts = 20.0 * from + 60.0 * (8.0 - from);
    assert_eq!(count(public, "scheduled"), (starts - 1e-6).ceil() as u64, "as many as both rates make");
    for of in [load, public, team] {
        assert_eq!(count(of, "scheduled"), count(of, "sent") + count(of, "dropped") + count(of, "lost"), "{of}");
    }
    let steps: Vec<(Option<f64>, Option<f64>)> =
        load["steps"].as_array().unwrap().iter().map(|step| (step["rate"].as_f64(), step["slots"].as_f64())).collect();
    let expected = [(20.0, 1.0), (20.0, 3.0), (60.0, 3.0)].map(|(rate, slots)| (Some(rate), Some(slots)));
    assert_eq!(steps, expected, "quality by what was really offered");
}
