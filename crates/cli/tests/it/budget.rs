//! A run with a budget: it never costs more, also if a worker or the coordinator is killed, and what was not played is played with a larger budget.

use std::{fs, time::Duration};

use serde_json::Value;

use crate::process::{Ended, Place, Process, scenarios};

/// In US dollars, per token.
const PRICE: (f64, f64) = (1e-6, 1e-5);

/// A served mock with a price, and settings in which it plays all roles.
fn served(place: &Place) -> (Process, String) {
    place.write(
        "mock.yaml",
        "endpoints: { m: { kind: mock, mock: { latency: { kind: uniform, min_ms: 10, max_ms: 40 } } } }\n",
    );
    let (mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0", "--config", "mock.yaml"]);
    let settings = format!(
        "endpoints:
  served:
    url: {address}
    model: m
    trace: true
    price: {{ input_per_million: 1, output_per_million: 10 }}
agents:
  bot: {{ endpoint: served, max_tokens: 60 }}
roles: {{ agent: bot, user_sim: served, judge: served }}
"
    );
    place.write("gabfest.yaml", &settings);
    (mock, address)
}

/// What the server charges for all that it served, by its own count.
fn charged(address: &str) -> f64 {
    let host = address.trim_start_matches("http://").trim_end_matches("/v1");
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    std::io::Write::write_all(&mut stream, b"GET /stats HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
    let stats: Value = serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let tokens = |which: &str| -> f64 {
        stats["tokens"].as_object().unwrap().values().filter_map(|role| role[which].as_f64()).sum()
    };
    tokens("input") * PRICE.0 + tokens("output") * PRICE.1
}

/// That no money is missing in the report, and that nobody is to blame but the budget.
fn check(report: &Value, max_cost: f64, served: f64) {
    let budget = &report["summary"]["budget"];
    let usd = |name: &str| budget[name].as_f64().unwrap_or_else(|| panic!("{name}: {budget}"));
    assert!((usd("max_cost_usd") - max_cost).abs() < 1e-12, "{budget}");
    let parts = ["spent_usd", "reserved_usd", "unsettled_usd", "left_usd"].map(usd);
    assert!((parts.iter().sum::<f64>() - max_cost).abs() < 1e-9, "{budget}");
    assert!(parts.iter().all(|part| *part >= 0.0), "{budget}");
    assert!(served <= usd("spent_usd") + usd("unsettled_usd") + 1e-9, "the server charged {served}: {budget}");
    assert!(served <= max_cost, "the server charged {served}, and the budget is {max_cost}");
    for failure in report["summary"]["failures"].as_array().unwrap() {
        let (kind, blame) = (failure["kind"].as_str().unwrap(), failure["blame"].as_str().unwrap());
        assert!(kind == "budget_used_up" && blame == "budget" || kind == "check_failed", "{failure}");
    }
}

fn resumed(place: &Place, run: &str, more: &[&str]) -> Ended {
    place.run(&[&["resume", run], more].concat())
}

#[test]
fn a_run_stops_at_its_budget_and_goes_on_with_a_larger_one() {
    let place = Place::new();
    let (_mock, address) = served(&place);
    let eliza = format!("{}/eliza", scenarios());
    let run = place.run(&["run", &eliza, "--repeats", "2", "--slots", "6", "--max-cost", "0.2", "--out", "out"]);
    assert_eq!(run.code, 4, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("its budget is used up") && run.stderr.contains("--max-cost USD"), "{}", run.stderr);
    assert!(run.stdout.contains("budget $0.2000: "), "{}", run.stdout);
    let report = place.json("out/report.json");
    check(&report, 0.2, charged(&address));
    let budget = &report["summary"]["budget"];
    assert_eq!((&budget["used_up"], &budget["reserved_usd"]), (&Value::Bool(true), &Value::from(0.0)), "{budget}");
    assert!(budget["spent_usd"].as_f64().unwrap() > 0.1, "most of it is spent: {budget}");
    let trials = &report["summary"]["trials"];
    let not_played = budget["trials_not_played"].as_u64().unwrap();
    assert!(not_played > 0 && trials["not_started"].as_u64().unwrap() <= not_played, "{budget} {trials}");
    assert!(trials["pass"].as_u64().unwrap() > 0, "conversations were finished: {trials}");
    assert_eq!(trials["agent_errors"], 0);
    let junit = fs::read_to_string(place.path().join("out/junit.xml")).unwrap();
    assert!(junit.contains("budget $0.2000: ") && junit.contains("not played"), "{junit}");

    let same = resumed(&place, "out", &[]);
    assert_eq!(same.code, 2, "{}", same.stderr);
    assert!(same.stderr.contains("raise it with `gabfest resume"), "{}", same.stderr);
    let less = resumed(&place, "out", &["--max-cost", "0.1"]);
    assert!(less.code == 2 && less.stderr.contains("can only be raised"), "{}", less.stderr);

    let more = resumed(&place, "out", &["--max-cost", "40"]);
    assert!([0, 1].contains(&more.code), "{}{}", more.stdout, more.stderr);
    let report = place.json("out/report.json");
    check(&report, 40.0, charged(&address));
    assert_eq!(report["run"]["state"], "finished");
    assert_eq!(report["summary"]["trials"]["not_started"], 0);
    assert_eq!(report["summary"]["budget"]["used_up"], false);
    assert_eq!(report["summary"]["budget"]["trials_not_played"], 0);
    let decided: Vec<&str> =
        report["run"]["decisions"].as_array().unwrap().iter().filter_map(|one| one["decided"].as_str()).collect();
    assert_eq!(decided, ["out_of_money", "budget", "resumed"]);
}

#[test]
fn a_budget_survives_killed_workers_and_a_killed_coordinator() {
    let place = Place::new();
    let (_mock, address) = served(&place);
    let eliza = format!("{}/eliza", scenarios());
    let (mut coordinator, at) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    let worker = || place.start(&["worker", "--coordinator", &at, "--slots", "4", "--config", "gabfest.yaml"]);
    let mut fleet: Vec<Process> = (0..3).map(|_| worker()).collect();
    let submit = ["submit", &eliza, "--repeats", "3", "--coordinator", &at, "--run", "r", "--max-cost", "0.6"];
    let submitted = place.run(&submit);
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    std::thread::sleep(Duration::from_millis(900));
    fleet[0].kill();
    std::thread::sleep(Duration::from_millis(300));
    coordinator.kill();
    let listen = at.trim_start_matches("http://").to_owned();
    let (_coordinator, _) = place.serve(&["coordinator", "--listen", &listen, "--data", "data"]);
    fleet.push(worker());
    std::thread::sleep(Duration::from_millis(900));
    fleet[1].kill();
    let watched = place.run(&["watch", "r", "--coordinator", &at, "--out", "out"]);
    assert_eq!(watched.code, 4, "{}{}", watched.stdout, watched.stderr);
    let report = place.json("out/report.json");
    check(&report, 0.6, charged(&address));
    let budget = &report["summary"]["budget"];
    assert!(budget["unsettled_usd"].as_f64().unwrap() > 0.0, "what killed workers held is listed: {budget}");
    assert_eq!(budget["unsettled_usd"], report["summary"]["unsettled_usd"]);
    let more = place.run(&["resume", "r", "--coordinator", &at, "--max-cost", "50"]);
    assert_eq!(more.code, 0, "{}", more.stderr);
    let watched = place.run(&["watch", "r", "--coordinator", &at, "--out", "all"]);
    assert!([0, 1].contains(&watched.code), "{}{}", watched.stdout, watched.stderr);
    let report = place.json("all/report.json");
    check(&report, 50.0, charged(&address));
    assert_eq!(report["summary"]["trials"]["not_started"], 0);
}

#[test]
fn a_budget_that_cannot_be_kept_is_refused_with_file_and_line() {
    let place = Place::new();
    let eliza = format!("{}/eliza", scenarios());
    let settings = "endpoints:
  judge:
    url: http://127.0.0.1:9/v1
    model: m
agents:
  bot: { http: { url: http://127.0.0.1:9 }, price: { output_per_million: 3 } }
roles: { agent: bot, judge: judge }
max_cost: 20
";
    place.write("gabfest.yaml", settings);
    for command in [vec!["check", &eliza], vec!["run", &eliza, "--dry-run"], vec!["submit", &eliza, "--dry-run"]] {
        let refused = place.run(&command);
        assert_eq!(refused.code, 2, "{command:?}: {}", refused.stderr);
        for said in [
            "gabfest.yaml:3:",
            "endpoints.judge.price is missing",
            "gabfest.yaml:6:",
            "agents.bot.price",
            "price: auto",
        ] {
            assert!(refused.stderr.contains(said), "{command:?}: {said}: {}", refused.stderr);
        }
    }
    place.write("gabfest.yaml", "max_cost: -1\n");
    let wrong = place.run(&["check", &eliza]);
    assert!(wrong.code == 2 && wrong.stderr.contains("gabfest.yaml:1:"), "{}", wrong.stderr);
    place.write("gabfest.yaml", "max_cost: 0.001\n");
    let fine = place.run(&["run", &eliza, "--dry-run", "--agent", "http://127.0.0.1:9"]);
    assert_eq!(fine.code, 0, "{}", fine.stderr);
    let said = "budget $0.0010, more than the estimate; without a price, calls to http://127.0.0.1:9 count as free\n";
    assert!(fine.stdout.contains(said), "{}", fine.stdout);
    let flag = place.run(&["run", &eliza, "--max-cost", "much"]);
    assert!(flag.code == 2 && flag.stderr.contains("not a number of US dollars"), "{}", flag.stderr);
}
