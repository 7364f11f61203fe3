//! Runs as Parquet: what DuckDB reads is what the report says. `GABFEST_DUCKDB` names a Python with the package `duckdb`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    fleet::eventually,
    process::{Place, scenarios},
};

/// Replies that stream, and fail at times.
const SETTINGS: &str = "
endpoints:
  mock:
    kind: mock
    mock:
      pass:
        - probability: 0.8
export: {}
";

/// The statements of a page, each block with its results as rows of JSON.
const READER: &str = r#"
import duckdb, json, re, sys
page, out = open(sys.argv[1]).read(), []
db = duckdb.connect()
for block in re.findall(r"```sql\n(.*?)```", page, re.S):
    for statement in duckdb.extract_statements(block):
        result = db.execute(statement)
    names = [column[0] for column in result.description or []]
    out.append([dict(zip(names, row)) for row in result.fetchall()])
print(json.dumps(out, default=str))
"#;

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn duckdb() -> Option<String> {
    let python = std::env::var("GABFEST_DUCKDB").ok();
    if python.is_none() {
        eprintln!("SKIPPED: a test with DuckDB, GABFEST_DUCKDB is not set");
    }
    python
}

/// The results of every query in `docs/export.md`, by the columns that they have.
fn queries(python: &str, place: &Place) -> Vec<Vec<Value>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/export.md");
    let mut reader = Command::new(python)
        .args(["-", page])
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    reader.stdin.take().unwrap().write_all(READER.as_bytes()).unwrap();
    let output = reader.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn having<'a>(results: &'a [Vec<Value>], columns: &[&str]) -> &'a [Value] {
    let has = |rows: &&Vec<Value>| rows.first().is_some_and(|row| columns.iter().all(|name| row.get(name).is_some()));
    results.iter().find(has).unwrap_or_else(|| panic!("no query with rows of {columns:?}"))
}

fn near(found: &Value, expected: &Value, share: f64) -> bool {
    let (Some(found), Some(expected)) = (found.as_f64(), expected.as_f64()) else { return false };
    (found - expected).abs() <= share * expected.abs() + 1e-9
}

#[test]
fn the_documented_queries_give_the_figures_of_the_report() {
    let Some(python) = duckdb() else { return };
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    let scenarios = scenarios();
    let mut reports = Vec::new();
    for seed in ["7", "8"] {
        let ended = place.run(&["run", &scenarios, "--repeats", "3", "--seed", seed]);
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        let manifest = ended.stdout.lines().find_map(|line| line.strip_prefix("export  ")).unwrap();
        let run = manifest.split('/').nth(1).unwrap();
        reports.push(place.json(&format!("gabfest-runs/{run}/report.json")));
    }
    reports.sort_by_key(|report| report["run"]["started_at"].as_str().unwrap().to_owned());
    let report = reports.last().unwrap();
    let results = queries(&python, &place);

    let by_scenario = having(&results, &["scenario", "passed", "success_rate"]);
    let expected: BTreeMap<&str, &Value> =
        report["by_scenario"].as_array().unwrap().iter().map(|one| (one["scenario"].as_str().unwrap(), one)).collect();
    assert_eq!(by_scenario.len(), expected.len());
    for row in by_scenario {
        let one = expected[row["scenario"].as_str().unwrap()];
        assert_eq!(row["passed"], one["pass"], "{row}");
        assert_eq!(row["counted"], one["success_rate"]["n"], "{row}");
        let rate = &one["success_rate"]["estimate"];
        assert!(row["success_rate"] == *rate || near(&row["success_rate"], rate, 1e-12), "{row} {rate}");
    }

    let failures = having(&results, &["failure_kind", "trials", "message"]);
    let count = |kind: &Value, rows: &[Value], name: &str, number: &str| -> u64 {
        rows.iter().filter(|row| row[name] == *kind).map(|row| row[number].as_u64().unwrap()).sum()
    };
    let of_report = report["summary"]["failures"].as_array().unwrap();
    assert!(!of_report.is_empty());
    for failure in of_report {
        let kind = &failure["kind"];
        assert_eq!(count(kind, failures, "failure_kind", "trials"), count(kind, of_report, "kind", "trials"), "{kind}");
    }

    let models = having(&results, &["role", "model", "usd"]);
    for model in report["summary"]["models"].as_array().unwrap() {
        let row = models.iter().find(|row| row["role"] == model["role"] && row["model"] == model["model"]).unwrap();
        assert!(near(&row["usd"], &model["cost_usd"], 1e-9), "{row} {model}");
        assert_eq!(
            (&row["input_tokens"], &row["output_tokens"]),
            (&model["tokens"]["input"], &model["tokens"]["output"])
        );
    }

    let times = &having(&results, &["streamed", "ttft_micros"])[0];
    let latency = &report["summary"]["latency"];
    assert_eq!(times["streamed"], latency["ttft"]["count"]);
    for (place, name) in ["p50_ms", "p90_ms", "p99_ms"].into_iter().enumerate() {
        for (column, figure) in [("ttft_micros", "ttft"), ("latency_micros", "turn")] {
            let millis = times[column][place].as_f64().unwrap() / 1_000.0;
            // A histogram keeps three digits.
            assert!(
                near(&millis.into(), &latency[figure][name], 0.002),
                "{name} {figure}: {millis} {}",
                latency[figure]
            );
        }
    }
    let slowest = &having(&results, &["response_ms", "user_text"])[0];
    assert!(near(&slowest["response_ms"], &latency["response"]["max_ms"], 0.002), "{slowest} {}", latency["response"]);

    let mut cases: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for case in reports.iter().flat_map(|report| report["cases"].as_array().unwrap()) {
        let sum = cases.entry(case["id"].as_str().unwrap()).or_default();
        sum.0 += case["pass"].as_u64().unwrap();
        sum.1 += case["fail"].as_u64().unwrap() + case["agent_errors"].as_u64().unwrap();
    }
    let mixed: BTreeSet<&str> =
        cases.iter().filter(|(_, (pass, fail))| *pass > 0 && *fail > 0).map(|(id, _)| *id).collect();
    let flaky = having(&results, &["case_id", "runs", "success_rate"]);
    assert_eq!(flaky.iter().map(|row| row["case_id"].as_str().unwrap()).collect::<BTreeSet<_>>(), mixed);
    assert!(flaky.iter().all(|row| row["runs"] == 2) && !flaky.is_empty());

    let checks = having(&results, &["check", "failed", "judged"]);
    for check in report["by_check"].as_array().unwrap() {
        let row = checks.iter().find(|row| row["check"] == check["check"]).unwrap();
        assert!(row["failed"].as_u64().unwrap() >= check["fail"].as_u64().unwrap(), "{row} {check}");
    }
    assert!(!having(&results, &["axis", "value", "success_rate"]).is_empty());
    let of_manifest = results.last().unwrap();
    assert_eq!(of_manifest[0]["trials"], report["summary"]["trials"]["planned"]);
}

#[test]
fn a_run_is_exported_from_its_folder_its_store_and_a_coordinator_with_the_same_bytes() {
    let place = Place::new();
    place.write("gabfest.yaml", SETTINGS);
    let scenarios = scenarios();
    let (coordinator, address) =
        place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--export", "automatic/{run}"]);
    let worker = place.start(&["worker", "--coordinator", &address]);
    let submitted =
        place.run(&["submit", &scenarios, "--run", "night", "--coordinator", &address, "--watch", "--out", "report"]);
    assert!([0, 1].contains(&submitted.code), "{}", submitted.stderr);
    let exported = place.run(&["export", "night", "--coordinator", &address, "--out", "from-coordinator"]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    // The coordinator does the same by itself.
    let automatic = place.path().join("automatic/night/manifest.json");
    for _ in 0..200 {
        if automatic.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    drop((worker, coordinator));
    let from_store = place.run(&["export", "night", "--store", "gabfest-data", "--out", "from-store"]);
    assert_eq!(from_store.code, 0, "{}", from_store.stderr);
    let manifest = |folder: &str| place.json(&format!("{folder}/manifest.json"));
    assert_eq!(manifest("from-coordinator"), manifest("from-store"));
    assert_eq!(manifest("automatic/night"), manifest("from-store"));
    for table in manifest("from-store")["tables"].as_object().unwrap().values() {
        for file in table["files"].as_array().unwrap() {
            let path = place.path().join("from-store").join(file["path"].as_str().unwrap());
            assert_eq!(std::fs::metadata(path).unwrap().len(), file["bytes"].as_u64().unwrap());
        }
    }
    // Another run's place is refused, and nothing is written over it.
    let again = place.run(&["run", &scenarios, "--repeats", "1", "--quiet", "--export=from-store"]);
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(again.stderr.contains("holds the export of run night"), "{}", again.stderr);
    // The store is sound, and its runs can be deleted.
    let checked = place.run(&["store", "check", "gabfest-data"]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    assert!(checked.stdout.starts_with("the store is sound: 1 run, "), "{}", checked.stdout);
    let deleted = place.run(&["runs", "delete", "night", "--store", "gabfest-data"]);
    assert_eq!((deleted.code, deleted.stdout.as_str()), (0, "deleted night\n"), "{}", deleted.stderr);
    let gone = place.run(&["export", "night", "--store", "gabfest-data"]);
    assert_eq!(gone.code, 2, "{}", gone.stderr);
}

#[test]
fn old_run_folders_are_deleted_and_the_history_stays() {
    let place = Place::new();
    place.write("gabfest.yaml", "retention: { keep_last: 3 }\n");
    let scenarios = scenarios();
    for seed in ["1", "2", "3", "4"] {
        let ended = place.run(&["run", &scenarios, "--repeats", "1", "--seed", seed, "--quiet"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
    let folders = || {
        let entries = place.path().join("gabfest-runs").read_dir().unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(folders().len(), 3);
    let listed = place.run(&["runs"]);
    assert_eq!(listed.stdout.lines().count(), 6, "four runs, a head and a note: {}", listed.stdout);
    let dry = place.run(&["runs", "delete", "--keep-last", "1", "--dry-run"]);
    assert_eq!((dry.code, dry.stdout.lines().count(), folders().len()), (0, 2, 3), "{}", dry.stderr);
    let deleted = place.run(&["runs", "delete", "--keep-last", "1", "--older-than", "1h"]);
    assert_eq!((deleted.code, deleted.stdout.as_str(), folders().len()), (0, "", 3), "they are young");
    let last = folders().pop().unwrap();
    let deleted = place.run(&["runs", "delete", &last]);
    assert_eq!((deleted.code, folders().len()), (0, 2), "{}", deleted.stderr);
    assert_eq!(place.run(&["runs", "delete", "nobody"]).code, 2);
    assert_eq!(place.run(&["runs", "delete"]).code, 2);
}

/// Runs a statement on a store that nobody has open.
fn alter(place: &Place, store: &str, statement: &str) {
    let script = "import sqlite3, sys\n\
        db = sqlite3.connect(sys.argv[1])\n\
        db.executescript(sys.argv[2])\n\
        db.commit()";
    let altered =
        Command::new("python3").args(["-c", script, store, statement]).current_dir(place.path()).output().unwrap();
    assert!(altered.status.success(), "{statement}: {altered:?}");
}

#[test]
fn a_coordinator_deletes_old_runs_by_itself() {
    let place = Place::new();
    let serve =
        |more: &[&str]| place.serve(&[&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"], more].concat());
    let (mut coordinator, address) = serve(&[]);
    let worker = place.start(&["worker", "--coordinator", &address]);
    for run in ["old", "young"] {
        let args =
            ["submit", &scenarios(), "--coordinator", &address, "--run", run, "--watch", "--quiet", "--out", run];
        let ended = place.run(&args);
        assert!([0, 1].contains(&ended.code), "{}", ended.stderr);
    }
    drop(worker);
    coordinator.signal("TERM");
    assert_eq!(coordinator.wait(std::time::Duration::from_secs(20)), 0);
    let aged = "update run set started_at = started_at - 90000000, ended_at = ended_at - 90000000 where id = 'old'";
    alter(&place, "data/gabfest.db", aged);
    let (mut coordinator, address) = serve(&["--older-than", "1d"]);
    let listed = || place.run(&["runs", "--coordinator", &address]).stdout;
    eventually(|| (!listed().contains("\nold ")).then_some(()));
    assert!(listed().contains("\nyoung "), "{}", listed());
    coordinator.signal("TERM");
    assert_eq!(coordinator.wait(std::time::Duration::from_secs(20)), 0);
    let checked = place.run(&["store", "check", "data"]);
    assert!(checked.stdout.starts_with("the store is sound: 1 run, "), "{}{}", checked.stdout, checked.stderr);
}

#[test]
fn a_store_of_an_earlier_version_takes_what_it_lacks() {
    let place = Place::new();
    assert_eq!(place.run(&["run", &scenarios(), "--repeats", "1", "--quiet", "--out", "night"]).code, 0);
    // As the version before the last step left it.
    let undo = "drop index trial_again; drop index trial_replaced; delete from _sqlx_migrations where version = 15";
    alter(&place, "night/run.db", undo);
    let migrate = |more: &[&str]| place.run(&[&["store", "migrate", "night"], more].concat());
    let dry = migrate(&["--dry-run"]);
    assert_eq!((dry.code, dry.stdout.as_str()), (0, "lacks 15 replayed\n"), "{}", dry.stderr);
    let again = migrate(&["--dry-run"]);
    assert_eq!(again.stdout, dry.stdout, "a dry run changes nothing");
    let migrated = migrate(&[]);
    assert_eq!((migrated.code, migrated.stdout.as_str()), (0, "takes 15 replayed\n"), "{}", migrated.stderr);
    assert_eq!(migrate(&[]).stdout, "the store has this version's schema\n");
    let checked = place.run(&["store", "check", "night"]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
}

/// Faults that are planted in a sound store, and how a check names them.
const FAULTS: [(&str, &str); 9] = [
    ("delete from trial where number = 3", "it is finished with"),
    ("update trial set body = replace(body, '\"turns\":', '\"turns\":9') where number = 2", "trial 2 has 9"),
    (
        "update piece set payload = substr(payload, 1, length(payload) - 3)
         where key = (select max(key) from piece where length(payload) > 9)",
        "its words cannot be read",
    ),
    ("delete from piece where key = (select max(key) from piece)", "a segment lacks pieces: segment "),
    ("update spend set calls = calls - 1 where role = 'agent'", "is not the sum of its segments: "),
    ("update spend set calls = 1, cost_nanos = 0 where role = 'agent'", "its trials made "),
    (
        "insert into attempt (run, number, epoch, session, solo, lost_at, given_up, begun)
         select run, number, epoch, session, 0, 1, 0, 1 from trial where number = 1",
        "an attempt counts and was lost: ",
    ),
    ("update run set plan_digest = plan_digest || '0'", "is missing"),
    ("update trial set run = 77 where number = 0", "a trial belongs to no run: trial 0 of run 77"),
];

#[test]
fn a_check_names_the_faults_that_are_planted_in_a_store() {
    let place = Place::new();
    let scenarios = scenarios();
    assert_eq!(place.run(&["run", &scenarios, "--repeats", "1", "--quiet", "--out", "sound"]).code, 0);
    let sound = place.run(&["store", "check", "sound"]);
    assert_eq!(sound.code, 0, "{}{}", sound.stdout, sound.stderr);
    assert_eq!(place.run(&["store", "migrate", "sound", "--dry-run"]).stdout, "the store has this version's schema\n");
    for (number, (plant, named)) in FAULTS.into_iter().enumerate() {
        let folder = place.path().join(format!("faulty-{number}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::copy(place.path().join("sound/run.db"), folder.join("run.db")).unwrap();
        let script = "import sqlite3, sys\n\
            db = sqlite3.connect(sys.argv[1])\n\
            assert db.execute(sys.argv[2]).rowcount > 0\n\
            db.commit()";
        let store = folder.join("run.db").display().to_string();
        let planted = Command::new("python3").args(["-c", script, &store, plant]).output().unwrap();
        assert!(planted.status.success(), "{plant}: {planted:?}");
        let checked = place.run(&["store", "check", &store]);
        assert_eq!(checked.code, 1, "{plant}: {}{}", checked.stdout, checked.stderr);
        assert!(checked.stdout.contains(named), "{plant}: {}", checked.stdout);
    }
    let nothing = place.run(&["store", "check", "nowhere"]);
    assert_eq!(nothing.code, 2, "{}", nothing.stderr);
}

/// A server with the API of S3, and a bucket in it.
const S3: &str = r#"
import socket, sys, threading, urllib.request
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/lake", method="PUT"))
print(f"http://{host}:{port}", flush=True)
sys.stdin.read()
"#;

/// An object of the bucket.
const GET: &str = r#"
import boto3, sys
s3 = boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
sys.stdout.buffer.write(s3.get_object(Bucket="lake", Key=sys.argv[2])["Body"].read())
"#;

#[test]
fn a_run_is_exported_to_a_bucket_and_no_key_is_shown() {
    let Some(python) = duckdb() else { return };
    let place = Place::new();
    let scenarios = scenarios();
    assert_eq!(place.run(&["run", &scenarios, "--repeats", "1", "--quiet", "--out", "run", "--export"]).code, 0);
    let mut server = Command::new(&python)
        .args(["-c", S3])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut address = String::new();
    let mut said = std::io::BufReader::new(server.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut address).unwrap();
    let address = address.trim();
    assert!(address.starts_with("http://"), "{address}");
    let export = |to: &str, endpoint: &str| {
        let mut command = place.gabfest(&["export", "run", "--out", to, "-vv"]);
        let keys = [
            ("AWS_ACCESS_KEY_ID", "AKIACANARYCANARY1234"),
            ("AWS_SECRET_ACCESS_KEY", "canary/secret+0123456789abcdef"),
        ];
        command.envs(keys).envs([("AWS_REGION", "us-east-1"), ("AWS_ALLOW_HTTP", "true"), ("AWS_ENDPOINT", endpoint)]);
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(!said.contains("CANARY") && !said.contains("canary/"), "{said}");
        (output.status.code(), said)
    };
    let (code, said) = export("s3://lake/nights/{run}", address);
    assert_eq!(code, Some(0), "{said}");
    let local = place.json("run/export/manifest.json");
    let run = local["run"]["id"].as_str().unwrap();
    let get = |path: &str| {
        let key = format!("nights/{run}/{path}");
        let output = Command::new(&python).args(["-c", GET, address, &key]).output().unwrap();
        assert!(output.status.success(), "{path}: {output:?}");
        output.stdout
    };
    let manifest: Value = serde_json::from_slice(&get("manifest.json")).unwrap();
    assert_eq!(manifest, local);
    for file in manifest["tables"].as_object().unwrap().values().flat_map(|table| table["files"].as_array().unwrap()) {
        let path = file["path"].as_str().unwrap();
        assert_eq!(get(path), std::fs::read(place.path().join("run/export").join(path)).unwrap(), "{path}");
    }
    // A second time, over the first.
    let (code, said) = export("s3://lake/nights/{run}", address);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = export("s3://no-such-bucket/{run}", address);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("s3://no-such-bucket/"), "{said}");
    drop(server.stdin.take());
    server.kill().unwrap();
    server.wait().unwrap();
}
