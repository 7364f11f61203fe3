//! `--metrics-listen`: the figures that Prometheus reads from real processes match the report.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Stdio,
    time::Duration,
};

use telemetry::metrics::catalogue;

use crate::process::{Place, Process, scenarios};

/// Slow enough that a worker can be killed in the middle, with prices, streams and a key that must not show.
const SETTINGS: &str = "
endpoints:
  mock:
    kind: mock
    stream: true
    price: { input_per_million: 100, output_per_million: 400 }
    mock:
      latency: { kind: uniform, min_ms: 5, max_ms: 30 }
      pass:
        - probability: 0.9
  secretive:
    url: http://127.0.0.1:9/v1
    key: env:METRICS_CANARY
agents:
  secretive: { endpoint: secretive }
";
const CANARY: &str = "canary-key-of-metrics-4711";

/// A role with a page of metrics.
struct Watched {
    process: Process,
    /// The address in the process's first message, apart from the page of metrics.
    address: Option<String>,
    page: String,
}

impl Watched {
    fn start(place: &Place, name: &str, args: &[&str]) -> Self {
        let path = place.path().join(format!("{name}.said"));
        let said = File::create(&path).unwrap();
        let mut command = place.gabfest(args);
        command.args(["--metrics-listen", "127.0.0.1:0"]).env("METRICS_CANARY", CANARY);
        command.stdout(Stdio::from(said.try_clone().unwrap())).stderr(Stdio::from(said));
        let mut process = Process(command.spawn().unwrap());
        for _ in 0..1_000 {
            let text = std::fs::read_to_string(&path).unwrap();
            let words = || text.split([' ', ',', '\n']).filter(|word| word.starts_with("http://"));
            if let Some(page) = words().find(|word| word.ends_with("/metrics")) {
                let address = words().next().filter(|word| *word != page).map(ToOwned::to_owned);
                return Self { process, address, page: page.to_owned() };
            }
            assert!(process.0.try_wait().unwrap().is_none(), "{name} ended: {text}");
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{name} names no page of metrics");
    }

    fn health(&self) -> (u16, String) {
        get(&self.page.replace("/metrics", "/healthz")).unwrap()
    }

    fn read(&self) -> Page {
        Page::of(&get(&self.page).unwrap().1)
    }
}

/// The status and the body of an answer; `None` if nothing answers any longer.
fn get(url: &str) -> Option<(u16, String)> {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).ok()?;
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// The samples of a page, by name and labels.
#[derive(Debug, Default)]
struct Page {
    samples: BTreeMap<String, f64>,
    names: BTreeSet<String>,
}

impl Page {
    fn of(text: &str) -> Self {
        assert!(!text.contains(CANARY), "the key is on the page");
        let mut page = Self::default();
        for line in text.lines() {
            if let Some(typed) = line.strip_prefix("# TYPE ") {
                page.names.insert(typed.split(' ').next().unwrap().to_owned());
            } else if !line.starts_with('#') {
                let (series, value) = line.rsplit_once(' ').unwrap();
                page.samples.insert(series.to_owned(), value.parse().unwrap());
            }
        }
        page
    }

    /// The sum of all series of that name whose labels hold every one of these texts.
    fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let of_name = self.samples.iter().filter(|(series, _)| series.split('{').next() == Some(name));
        of_name.filter(|(series, _)| labels.iter().all(|label| series.contains(label))).map(|(_, value)| value).sum()
    }

    fn add(&mut self, other: Self) {
        self.names.extend(other.names);
        for (series, value) in other.samples {
            *self.samples.entry(series).or_default() += value;
        }
    }
}

fn close(left: f64, right: f64, what: &str) {
    assert!((left - right).abs() <= 1e-9 * right.abs().max(1.0), "{what}: {left} is not {right}");
}

#[test]
fn a_fleet_shows_the_figures_of_its_report_and_its_losses() {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    let coordinator =
        Watched::start(&place, "coordinator", &["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    let address = coordinator.address.clone().unwrap();
    // It listens before its store is open.
    while coordinator.health() == (503, "it is starting\n".to_owned()) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(coordinator.health(), (200, "ok\n".to_owned()));
    let lonely = Watched::start(&place, "lonely", &["worker", "--coordinator", "http://127.0.0.1:9"]);
    assert_eq!(lonely.health(), (503, "not connected to a coordinator\n".to_owned()));
    drop(lonely);
    let work = ["worker", "--coordinator", &address, "--slots", "4", "--config", "gabfest.yaml"];
    let mut doomed = Watched::start(&place, "doomed", &work);
    let run = |name: &str, repeats: &str| {
        let scenarios = scenarios();
        let args = ["submit", &scenarios, "--name", "night", "--run", name, "--repeats", repeats, "--max-cost", "1000"];
        let submitted = place.run(&[&args[..], &["--coordinator", &address]].concat());
        assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    };
    let end = |name: &str| {
        let watched = place.run(&["watch", name, "--coordinator", &address, "--out", name]);
        assert!([0, 1].contains(&watched.code), "{}", watched.stderr);
        place.json(&format!("{name}/report.json"))
    };
    run("first", "3");
    wait_for(|| coordinator.read().sum("gabfest_trials_done", &["suite=\"night\""]) > 3.0, "trials of the first run");
    assert_eq!(doomed.health(), (200, "ok\n".to_owned()));
    doomed.process.kill();
    let survivor = Watched::start(&place, "survivor", &work);
    let first = end("first");
    let lost = coordinator.read().sum("gabfest_leases_lost_total", &[]);
    close(lost, first["summary"]["attempts"]["lost"].as_f64().unwrap(), "lost attempts");
    assert!(lost > 0.0, "the killed worker held nothing");

    // The survivor plays the whole second run.
    let before = survivor.read();
    run("second", "2");
    let report = end("second");
    let totals = &report["summary"];
    let figure = |path: &str| totals.pointer(path).unwrap().as_f64().unwrap();
    wait_for(
        || coordinator.read().sum("gabfest_run_trials", &[]) == figure("/trials/planned"),
        "the figures of the second run",
    );
    // The worker's next heartbeat says that it has nothing left to do.
    wait_for(|| coordinator.read().sum("gabfest_slots", &["state=\"free\""]) == 4.0, "free slots");
    let page = coordinator.read();
    let after = survivor.read();
    let played = |name: &str, labels: &[&str]| after.sum(name, labels) - before.sum(name, labels);
    let suite = "suite=\"night\"";
    close(played("gabfest_turns_total", &[suite]), figure("/turns"), "turns");
    for (verdict, path) in [("PASS", "/trials/pass"), ("FAIL", "/trials/fail"), ("SKIPPED", "/trials/skipped")] {
        let verdict = format!("verdict=\"{verdict}\"");
        close(played("gabfest_trials_played_total", &[suite, &verdict]), figure(path), &verdict);
        close(page.sum("gabfest_run_trials", &[suite, &verdict]), figure(path), &verdict);
    }
    for role in ["agent", "user_sim", "judge"] {
        let role_label = format!("role=\"{role}\"");
        close(played("gabfest_calls_total", &[&role_label]), figure(&format!("/llm_calls/{role}")), role);
        let tokens = played("gen_ai_client_token_usage_sum", &[&role_label, "gen_ai_token_type=\"input\""]);
        close(tokens, figure(&format!("/tokens/{role}/input")), role);
    }
    close(played("gabfest_turn_duration_seconds_count", &[suite]), figure("/latency/turn/count"), "answered turns");
    close(played("gabfest_turn_time_to_first_token_seconds_count", &[suite]), figure("/latency/ttft/count"), "ttft");
    let cost = played("gabfest_cost_usd_total", &[]);
    assert!(cost > 0.0);
    close(cost, figure("/cost/total_usd"), "money of calls");
    close(page.sum("gabfest_run_cost_usd", &[suite]), figure("/cost/total_usd"), "money of the run");
    close(page.sum("gabfest_run_budget_usd", &[suite]), 1000.0, "budget");
    close(played("gabfest_conversation_cost_usd_total", &[suite]), figure("/cost/total_usd"), "money of trials");
    close(page.samples["gabfest_success_rate{suite=\"night\"}"], figure("/success_rate/estimate"), "success rate");
    close(page.sum("gabfest_success_rate_low", &[suite]), figure("/success_rate/low"), "lower end");
    close(page.sum("gabfest_success_rate_high", &[suite]), figure("/success_rate/high"), "upper end");
    close(page.sum("gabfest_cases_flaky", &[suite]), figure("/flaky_cases"), "flaky cases");
    let failing = report["cases"].as_array().unwrap().iter().filter(|case| case["verdict"] == "FAIL").count();
    close(page.sum("gabfest_cases_failing", &[suite]), failing as f64, "failing cases");
    close(page.sum("gabfest_trials_planned", &[suite]), figure("/trials/planned"), "planned");
    close(page.sum("gabfest_trials_done", &[suite]), figure("/trials/planned"), "done");
    close(page.sum("gabfest_queue_depth", &[suite]), 0.0, "queue");
    let counted = figure("/trials/planned") + first["summary"]["trials"]["planned"].as_f64().unwrap();
    close(page.sum("gabfest_verdicts_total", &[suite]), counted, "verdicts of both runs");
    close(page.sum("gabfest_runs_total", &[suite]), 2.0, "runs");
    close(page.sum("gabfest_workers", &[]), 1.0, "workers");
    close(after.sum("gabfest_worker_slots", &[]), 4.0, "slots");
    close(after.sum("gabfest_worker_unacknowledged", &[]), 0.0, "unacknowledged");
    close(after.sum("gabfest_worker_outbox_bytes", &[]), 0.0, "results of the worker");
    close(page.sum("gabfest_coordinator_batches_bytes", &[]), 0.0, "batches");
    assert!(page.sum("gabfest_store_commit_duration_seconds_count", &[]) > 0.0);
    assert!(page.sum("gabfest_run_duration_seconds", &[suite]) > 0.0);
    let mut all = Page::default();
    all.add(page);
    all.add(after);
    for metric in [catalogue::WORKER, catalogue::COORDINATOR, catalogue::EVERY_PROCESS].concat() {
        let name = metric.prometheus_name();
        // Nothing is retried, estimated or limited in this run, and it plays no load.
        let is_expected = !name.starts_with("gabfest_load_")
            && ![
                "gabfest_call_retried_seconds",
                "gabfest_call_throttled_tries_total",
                "gabfest_calls_estimated_total",
                "gabfest_limit_concurrency",
                "gabfest_start_late_seconds",
            ]
            .contains(&name.as_str());
        assert_eq!(all.names.contains(&name), is_expected, "{name}");
    }

    // A restart takes no figure of ended runs away.
    let shown = coordinator.read().samples["gabfest_success_rate{suite=\"night\"}"];
    coordinator.process.signal("TERM");
    drop(coordinator);
    let again = Watched::start(&place, "again", &["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    wait_for(
        || again.read().samples.get("gabfest_success_rate{suite=\"night\"}") == Some(&shown),
        "the runs of before",
    );
    close(again.read().sum("gabfest_runs_total", &[suite]), 0.0, "runs of before are not counted again");
}

/// The connection stays open, but nobody reads: results wait at the worker, as far as there is room.
#[test]
fn results_wait_in_a_bounded_outbox_while_the_coordinator_hangs() {
    let place = Place::new();
    let mock = "kind: mock, mock: { latency: { ms: 5 }, tokens: { min: 20000, max: 20000 } }";
    place.write("gabfest.yaml", &format!("endpoints: {{ mock: {{ {mock} }} }}\n"));
    // A trial is 3 MB, so those that the worker holds are more than the outbox takes.
    let steps = "  - { input: go on, evaluations: [{ type: string_contains, value: a }] }\n".repeat(40);
    let head = "name: long\ndescription: d\njudgment: { strategy: all_pass }\nrun:\n";
    place.write("long.scenario.yaml", &format!("{head}{steps}"));
    let coordinator = Watched::start(&place, "coordinator", &["coordinator", "--listen", "127.0.0.1:0"]);
    let address = coordinator.address.clone().unwrap();
    let at = ["--coordinator", &address];
    let worker =
        Watched::start(&place, "worker", &[&["worker", "--slots", "4", "--config", "gabfest.yaml"], &at[..]].concat());
    let submit = ["submit", "long.scenario.yaml", "--repeats", "12", "--run", "night"];
    assert_eq!(place.run(&[&submit[..], &at].concat()).code, 0);
    wait_for(|| worker.read().sum("gabfest_turns_total", &[]) > 8.0, "the first turns");
    coordinator.process.signal("STOP");
    let outbox = || worker.read().sum("gabfest_worker_outbox_bytes", &[]);
    wait_for(|| outbox() >= f64::from(16 << 20), "a full outbox");
    let turns = || worker.read().sum("gabfest_turns_total", &[]);
    std::thread::sleep(Duration::from_millis(300));
    let full = turns();
    std::thread::sleep(Duration::from_secs(1));
    close(turns(), full, "turns while the outbox is full");
    // The turns in flight have ended.
    assert!(outbox() < f64::from(17 << 20), "{}", outbox());
    coordinator.process.signal("CONT");
    wait_for(|| coordinator.read().sum("gabfest_trials_done", &[]) >= 12.0, "the end of the run");
    wait_for(|| outbox() == 0.0, "an empty outbox");
    close(coordinator.read().sum("gabfest_leases_lost_total", &[]), 0.0, "lost trials");
}

#[test]
fn a_run_in_one_process_is_worker_and_coordinator_on_one_page() {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    let scenarios = scenarios();
    let args = ["run", &scenarios, "--name", "day", "--repeats", "6", "--slots", "8", "--out", "out"];
    let mut run = Watched::start(&place, "run", &args);
    let mut last = Page::default();
    while let Some((_, text)) = get(&run.page).filter(|(status, _)| *status == 200) {
        let page = Page::of(&text);
        // At the end the worker leaves before the page does.
        if page.sum("gabfest_trials_done", &[]) > 0.0 && page.sum("gabfest_slots", &[]) > 0.0 {
            last = page;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!([0, 1].contains(&run.process.wait(Duration::from_secs(60))));
    let report = place.json("out/report.json");
    let of_report = |path: &str| report["summary"].pointer(path).unwrap().as_f64().unwrap();
    for (name, most) in [
        ("gabfest_turns_total", of_report("/turns")),
        ("gabfest_trials_played_total", of_report("/trials/planned")),
        ("gabfest_verdicts_total", of_report("/trials/planned")),
        ("gabfest_cost_usd_total", of_report("/cost/total_usd") + 1e-9),
    ] {
        let seen = last.sum(name, &[]);
        assert!(seen > 0.0 && seen <= most, "{name}: {seen} of {most}");
    }
    close(last.sum("gabfest_slots", &[]), 8.0, "slots of the fleet");
    close(last.sum("gabfest_worker_slots", &[]), 8.0, "slots of the worker");
    close(last.sum("gabfest_trials_planned", &["suite=\"day\""]), of_report("/trials/planned"), "planned");
}

#[test]
fn a_used_address_is_reported() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = place.run(&["run", &scenarios(), "--metrics-listen", &address]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("failed to listen on {address} for --metrics-listen")), "{}", ended.stderr);
}

#[test]
fn an_address_that_others_reach_needs_a_word() {
    let place = Place::new();
    for role in [&["run", scenarios().as_str()][..], &["worker"], &["coordinator", "--listen", "127.0.0.1:0"]] {
        let ended = place.run(&[role, &["--metrics-listen", "0.0.0.0:0"]].concat());
        assert_eq!(ended.code, 2, "{role:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("metrics are neither encrypted nor protected"), "{}", ended.stderr);
    }
    let open = ["run", &scenarios(), "--out", "out", "--metrics-listen", "0.0.0.0:0", "--insecure-i-know"];
    let ended = place.run(&open);
    assert!(ended.stderr.contains("metrics on http://0.0.0.0:"), "{}", ended.stderr);
}

fn wait_for(holds: impl Fn() -> bool, what: &str) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what} did not come");
}
