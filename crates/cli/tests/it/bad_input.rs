//! Bad input: each gets a clear error with file, line, what was found, what was expected and a hint; exit code 2.

use std::time::Duration;

use crate::process::{Place, Process};

const GOOD: &str = "name: good\ndescription: one question\nrun:\n  - input: hello\n    evaluations:\n      - type: string_contains\n        value: hello\njudgment:\n  strategy: all_pass\n";

#[test]
fn broken_files_say_where_and_why() {
    let huge = format!("{GOOD}# {}\n", "x".repeat(10 << 20));
    let rows: Vec<(&str, String, &[&str])> = vec![
        ("syntax", GOOD.replace("name: good", "name: 'good"), &["bad.scenario.yaml:"]),
        (
            "regex",
            GOOD.replace("string_contains", "regex_match").replace("value: hello", "pattern: '['"),
            &["bad.scenario.yaml:7", "pattern does not compile", "help"],
        ),
        ("strategy", GOOD.replace("all_pass", "al_pass"), &["bad.scenario.yaml:9", "all_pass"]),
        ("evaluator", GOOD.replace("string_contains", "string_contain"), &["bad.scenario.yaml:6", "string_contains"]),
        (
            "escape",
            format!("{GOOD}setup:\n  virtual_fs:\n    ../../etc/passwd: x\n"),
            &["bad.scenario.yaml:12", "passwd"],
        ),
        ("10 MB", huge, &["bad.scenario.yaml", "at most 1048576 are read", "help"]),
    ];
    for (name, text, expected) in rows {
        let place = Place::new();
        place.write("bad.scenario.yaml", &text);
        for command in ["check", "run"] {
            let ended = place.run(&[command, "bad.scenario.yaml"]);
            assert_eq!(ended.code, 2, "{name}: {}{}", ended.stdout, ended.stderr);
            for part in expected {
                assert!(ended.stderr.contains(part), "{name}: {part:?} is missing in\n{}", ended.stderr);
            }
            assert!(ended.stderr.len() < 20_000, "{name}: a wall of text");
        }
    }
}

#[test]
fn an_unknown_key_warns_and_is_an_error_under_strict() {
    let place = Place::new();
    place.write("a.scenario.yaml", &GOOD.replace("    evaluations:", "    evaluatoins: []\n    evaluations:"));
    let lenient = place.run(&["check", "a.scenario.yaml"]);
    assert_eq!(lenient.code, 0, "{}", lenient.stderr);
    assert!(
        lenient.stderr.contains("a.scenario.yaml:5") && lenient.stderr.contains("evaluations"),
        "{}",
        lenient.stderr
    );
    assert_eq!(place.run(&["check", "--strict", "a.scenario.yaml"]).code, 2);
    assert_eq!(place.run(&["run", "--strict", "a.scenario.yaml"]).code, 2);
}

#[test]
fn a_misspelt_key_that_protects_is_an_error() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    let mock = "endpoints:\n  m:\n    kind: mock\n";
    // (settings, line, key, suggestion)
    let rows = [
        ("gates:\n  pas_rate: 0.9\n".to_owned(), 2, "pas_rate", "did you mean `pass_rate`?"),
        ("gates:\n  enough: 0.9\n".to_owned(), 2, "enough", "known: "),
        ("gate:\n  pass_rate: 0.9\n".to_owned(), 1, "gate", "did you mean `gates`?"),
        ("roles:\n  juge: mock\n".to_owned(), 2, "juge", "did you mean `judge`?"),
        (
            format!("{mock}    limits:\n      request_per_minute: 6\n"),
            5,
            "request_per_minute",
            "did you mean `requests_per_minute`?",
        ),
        (format!("{mock}    limit: {{concurrency: 2}}\n"), 4, "limit", "did you mean `limits`?"),
        (
            format!("{mock}    price: {{input_per_million: 1, output_per_million: 1, percall: 2}}\n"),
            4,
            "percall",
            "did you mean `per_call`?",
        ),
        (
            "agents:\n  limits:\n    http: {url: 'http://h', reply: {text: $.a}}\n    limits: {concurency: 2}\n"
                .to_owned(),
            4,
            "concurency",
            "did you mean `concurrency`?",
        ),
    ];
    for (text, line, key, suggestion) in rows {
        place.write("gabfest.yaml", &text);
        for command in [vec!["check", "a.scenario.yaml"], vec!["run", "a.scenario.yaml", "--dry-run"]] {
            let ended = place.run(&command);
            assert_eq!(ended.code, 2, "{text}: {}", ended.stderr);
            let message = format!("error: unknown key `{key}`");
            for part in [message.as_str(), &format!("gabfest.yaml:{line}:"), suggestion] {
                assert!(ended.stderr.contains(part), "{part:?} is missing in\n{}", ended.stderr);
            }
        }
    }
    // In sections that protect nothing, an unknown key is only a warning.
    for text in [
        format!("{mock}    mock: {{colour: red}}\n"),
        "x-note: mine\n".to_owned(),
        "agents:\n  limits: {http: {url: 'http://h', reply: {text: $.a}, colour: red}}\n".to_owned(),
    ] {
        place.write("gabfest.yaml", &text);
        let ended = place.run(&["check", "a.scenario.yaml"]);
        assert_eq!(ended.code, 0, "{text}: {}", ended.stderr);
        assert!(ended.stderr.contains("warning: unknown key"), "{}", ended.stderr);
    }
}

#[test]
fn misspelt_checks_are_an_error() {
    let place = Place::new();
    for (from, to, expected) in [
        ("evaluations:", "evaluation:", "has no check, and this key is unknown"),
        ("evaluations:", "checks:", "has no check, and this key is unknown"),
        ("- type:", "- typ:", "did you mean `type`?"),
    ] {
        place.write("a.scenario.yaml", &GOOD.replace(from, to));
        for command in ["check", "run"] {
            let ended = place.run(&[command, "a.scenario.yaml"]);
            assert_eq!(ended.code, 2, "{to}: {}{}", ended.stdout, ended.stderr);
            assert!(ended.stderr.contains(expected), "{to}: {}", ended.stderr);
        }
    }
}

#[test]
fn yaml_bombs_are_refused_quickly_and_in_little_memory() {
    let mut plain = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (from, to) in "abcdefgh".chars().zip("bcdefghi".chars()) {
        plain.push_str(&format!(
            "{to}: &{to} [*{from},*{from},*{from},*{from},*{from},*{from},*{from},*{from},*{from}]\n"
        ));
    }
    // Padding lifts guards that are relative to the size of the file.
    let padded = format!("{plain}pad: [{}]\n", "x,".repeat(28_000));
    for bomb in [plain, padded] {
        let place = Place::new();
        place.write("bomb.scenario.yaml", &bomb);
        let mut child = place.gabfest(&["check", "bomb.scenario.yaml"]);
        let mut child = Process(child.stderr(std::process::Stdio::piped()).spawn().unwrap());
        assert_eq!(child.wait(Duration::from_secs(5)), 2);
        assert!(child.stderr().contains("bomb.scenario.yaml"));
    }
}

#[test]
fn a_matrix_of_a_million_millions_is_refused_at_once() {
    let place = Place::new();
    place.write("base.scenario.yaml", GOOD);
    let axis = |path: &str| {
        format!(
            "  - parameter: {path}\n    values: [{}]\n",
            (0..1_000).map(|n| format!("v{n}")).collect::<Vec<_>>().join(",")
        )
    };
    let axes = ["name", "description", "run[0].input", "run[0].evaluations[0].value"].map(axis).concat();
    place.write("big.matrix.yaml", &format!("name: big\nbase_scenario: base.scenario.yaml\nmatrix:\n{axes}"));
    let mut child = place.gabfest(&["run", "big.matrix.yaml", "--dry-run"]);
    let mut child =
        Process(child.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap());
    assert_eq!(child.wait(Duration::from_secs(20)), 2);
    let stderr = child.stderr();
    assert!(stderr.contains("1,000,000,000,000") || stderr.contains("1000000000000"), "{stderr}");
}

#[test]
fn usage_errors_exit_with_2_and_a_hint() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    for (args, expected) in [
        (vec!["run", "nowhere"], "nowhere"),
        (vec!["run", "a.scenario.yaml", "--nonsense"], "--nonsense"),
        (vec!["run", "a.scenario.yaml", "--config", "missing.yaml"], "missing.yaml"),
        (vec!["run", "a.scenario.yaml", "--env-file", "missing.env"], "missing.env"),
        (vec!["run"], "no scenario is named"),
        (vec!["run", "a.scenario.yaml", "--agent", "nobody"], "nobody"),
        (vec!["run", "a.scenario.yaml", "--personas", "nobody"], "nobody"),
        (vec!["run", "a.scenario.yaml", "--set", "nonsense"], "PATH=VALUE"),
        (vec!["run", "a.scenario.yaml", "--set", "run[0].inptu=x"], "inptu"),
        (vec!["run", "a.scenario.yaml", "--filter", "matches nothing"], "matches nothing"),
        (vec!["submit", "a.scenario.yaml", "--coordinator", "nonsense"], "not a coordinator's address"),
        (vec!["submit", "a.scenario.yaml", "--out", "out"], "--out needs --watch"),
    ] {
        let ended = place.run(&args);
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{args:?}: {}", ended.stderr);
    }
    place.write("gabfest.yaml", "roles:\n  judge: nobody\n");
    let unfit = place.run(&["run", "a.scenario.yaml"]);
    assert_eq!(unfit.code, 2);
    assert!(unfit.stderr.contains("nobody") && unfit.stderr.contains("= help: defined are mock"), "{}", unfit.stderr);
}

#[test]
fn a_broken_line_of_an_env_file_is_named_and_not_printed() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    for (text, line) in [("A=1\nK: plain-SECRET123\n", "line 2"), ("OK=1\n\nK=plain SECRET123\n", "line 3")] {
        place.write("keys.env", text);
        let ended = place.run(&["run", "a.scenario.yaml", "--env-file", "keys.env"]);
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(line) && ended.stderr.contains("\nhint: "), "{}", ended.stderr);
        assert!(!ended.stderr.contains("SECRET123"), "{}", ended.stderr);
    }
}

#[test]
fn a_machine_without_a_slot_is_refused() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    for slots in ["0", "100000000"] {
        place.write("gabfest.yaml", &format!("roles: {{ agent: mock }}\nslots: {slots}\n"));
        for args in [vec!["run", "a.scenario.yaml"], vec!["check", "a.scenario.yaml"], vec!["worker"]] {
            let ended = place.run(&args);
            assert_eq!(ended.code, 2, "{args:?}: {}", ended.stderr);
            assert!(ended.stderr.contains("gabfest.yaml:2"), "{args:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_full_disk_stops_the_run_with_a_clear_error_and_loses_nothing() {
    let place = Place::new();
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=600k", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: a small disk cannot be mounted here");
        return;
    }
    place.write("a.scenario.yaml", GOOD);
    let ended = place.run(&["run", "a.scenario.yaml", "--repeats", "20000", "--out", "disk/out"]);
    let grown = std::process::Command::new("mount").args(["-o", "remount,size=600m"]).arg(&disk).status();
    let resumed = place.run(&["resume", "disk/out", "--quiet"]);
    let report = std::fs::read_to_string(disk.join("out/report.json"));
    let _ = std::process::Command::new("umount").arg("-l").arg(&disk).status();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("full") || ended.stderr.contains("written"), "{}", ended.stderr);
    assert!(grown.unwrap().success());
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let report: serde_json::Value = serde_json::from_str(&report.unwrap()).unwrap();
    assert_eq!(report["summary"]["trials"]["pass"], 20_000);
}

#[test]
fn files_may_share_a_library_of_personas() {
    let place = Place::new();
    for name in ["a", "b"] {
        place.write(&format!("set/{name}.scenario.yaml"), &GOOD.replace("name: good", &format!("name: {name}")));
    }
    place.write("set/personas/calm.persona.yaml", "name: calm\npersona: a calm customer\n");
    place.write("personas/loud.persona.yaml", "name: loud\npersona: a loud customer\n");
    for args in [
        vec!["check", "set/a.scenario.yaml", "set/b.scenario.yaml"],
        vec!["check", "set/a.scenario.yaml", "set/a.scenario.yaml"],
        vec!["check", "set", "set/b.scenario.yaml"],
        vec!["check", "set/personas"],
        vec!["run", "set/a.scenario.yaml", "set/b.scenario.yaml", "--out", "out"],
    ] {
        let ended = place.run(&args);
        assert_eq!(ended.code, 0, "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn answers_that_cannot_be_written_are_errors() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    for args in
        [vec!["schema", "config"], vec!["check", "a.scenario.yaml"], vec!["run", "a.scenario.yaml", "--dry-run"]]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = place.gabfest(&args).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{args:?}: {stderr}");
        assert!(stderr.contains("failed to write to stdout"), "{args:?}: {stderr}");
    }
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    for (mock, expected) in [
        ("pass: [{ probability: 1.7 }]", "pass.probability is 1.7"),
        ("error_rate: 3", "error_rate is 3"),
        ("latency: { kind: uniform, min_ms: 9, max_ms: 2 }", "latency.min_ms is 9"),
    ] {
        place.write("gabfest.yaml", &format!("endpoints: {{ mock: {{ kind: mock, mock: {{ {mock} }} }} }}\n"));
        let ended = place.run(&["run", "a.scenario.yaml"]);
        assert_eq!(ended.code, 2, "{mock}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{mock}: {}", ended.stderr);
    }
    place.write("gabfest.yaml", "endpoints: { m: { kind: mock } }\nroles: { agent: m }\n");
    let ended = place.run(&["run", "a.scenario.yaml"]);
    assert!(ended.code == 2 && ended.stderr.contains("agents: { m: { endpoint: m } }"), "{}", ended.stderr);
}

#[test]
fn scenarios_without_checks_and_unknown_tags_are_reported() {
    let place = Place::new();
    place.write(
        "a.scenario.yaml",
        "name: a\ndescription: b\njudgment: {strategy: all_pass}\ngabfest: {tags: [smoke]}\nrun: [{input: hi}]\n",
    );
    let checked = place.run(&["check", "a.scenario.yaml"]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    assert!(checked.stderr.contains("nothing will be judged"), "{}", checked.stderr);
    assert_eq!(place.run(&["check", "a.scenario.yaml", "--strict"]).code, 2);
    let run = place.run(&["run", "a.scenario.yaml", "--dry-run", "--tag", "smoke,smokd"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in ["warning: no scenario has the tag `smokd`", "did you mean `smoke`?"] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    assert_eq!(place.run(&["run", "a.scenario.yaml", "--dry-run", "--strict", "--tag", "smoke,smokd"]).code, 2);
}

/// A full disk or a closed pipe behind stderr loses messages and nothing else.
#[test]
fn a_closed_stderr_does_no_harm() {
    let place = Place::new();
    place.write("good.scenario.yaml", GOOD);
    place.write("bad.scenario.yaml", &GOOD.replace("all_pass", "al_pass"));
    let deaf = || std::process::Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let checked = place.gabfest(&["check", "bad.scenario.yaml"]).stderr(deaf()).output().unwrap();
    assert_eq!(checked.status.code(), Some(2));
    let arguments = ["run", "good.scenario.yaml", "--agent", "http://127.0.0.1:9/v1", "--out", "out", "-vv"];
    let played = place.gabfest(&arguments).stderr(deaf()).output().unwrap();
    assert_eq!(played.status.code(), Some(1), "the agent is not there");
    assert_eq!(place.json("out/report.json")["summary"]["trials"]["planned"], 1);
}

#[test]
fn a_key_written_by_mistake_is_not_repeated() {
    let place = Place::new();
    place.write("good.scenario.yaml", GOOD);
    for key in ["Tr0ub4dor/3", "env:Tr0ub4dor-3", "'Tr0ub4dor 3'"] {
        place.write("gabfest.yaml", &format!("endpoints:\n  e: {{ url: 'http://127.0.0.1:9/v1', key: {key} }}\n"));
        let ended = place.run(&["check", "good.scenario.yaml"]);
        assert_eq!(ended.code, 2, "{key}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("gabfest.yaml:2:") && ended.stderr.contains("key: [redacted]"),
            "{}",
            ended.stderr
        );
        assert!(!ended.stderr.contains("Tr0ub4dor"), "{}", ended.stderr);
    }
    place.write("gabfest.yaml", "{}");
    let ended = place.run(&["run", "good.scenario.yaml", "--agent", "http://bob:Tr0ub4dor@127.0.0.1:9/v1"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("a password in it") && !ended.stderr.contains("Tr0ub4dor"), "{}", ended.stderr);
}

#[test]
fn a_list_is_no_mapping() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    for (text, line) in [
        ("gates: [0.95, 0.5]\n", 1),
        ("slots: 2\ngates: []\n", 2),
        ("roles: []\n", 1),
        ("endpoints:\n  m: { url: 'http://h', limits: [] }\n", 2),
        ("endpoints:\n  m: { url: 'http://h', price: [1, 2, 3] }\n", 2),
        ("agents:\n  a: { http: { url: 'http://h' }, retries: [1] }\n", 2),
        ("agents:\n  a: []\n", 2),
        ("hooks: []\n", 1),
    ] {
        place.write("gabfest.yaml", text);
        let ended = place.run(&["run", "a.scenario.yaml", "--dry-run"]);
        assert_eq!(ended.code, 2, "{text}: {}{}", ended.stdout, ended.stderr);
        for part in ["a list", "a mapping", &format!("gabfest.yaml:{line}:")] {
            assert!(ended.stderr.contains(part), "{text}: {part:?} is missing in\n{}", ended.stderr);
        }
    }
    // A list stays a list.
    place.write("gabfest.yaml", "personas: []\n");
    assert_eq!(place.run(&["run", "a.scenario.yaml", "--dry-run"]).code, 0);
}

#[test]
fn a_misspelt_key_of_ours_is_an_error() {
    let place = Place::new();
    for (ours, key, meant) in [
        ("gabfest: {required_pas_rate: 1.0}", "required_pas_rate", "did you mean `required_pass_rate`?"),
        ("gabfest: {tag: [a]}", "tag", "did you mean `tags`?"),
    ] {
        place.write("a.scenario.yaml", &format!("{GOOD}{ours}\n"));
        for command in ["check", "run"] {
            let ended = place.run(&[command, "a.scenario.yaml"]);
            assert_eq!(ended.code, 2, "{ours}: {}{}", ended.stdout, ended.stderr);
            assert!(ended.stderr.contains(&format!("error: unknown key `{key}`")), "{ours}: {}", ended.stderr);
            assert!(ended.stderr.contains(meant), "{ours}: {}", ended.stderr);
        }
    }
    // The same for a step.
    place.write("a.scenario.yaml", &GOOD.replace("evaluations:", "gabfest: {timeout: 5}\n    evaluations:"));
    let ended = place.run(&["check", "a.scenario.yaml"]);
    assert!(ended.code == 2 && ended.stderr.contains("error: unknown key `timeout`"), "{}", ended.stderr);
    // The keys of ElizaOS stay warnings.
    place.write("a.scenario.yaml", &format!("{GOOD}colour: red\n"));
    let ended = place.run(&["check", "a.scenario.yaml"]);
    assert!(ended.code == 0 && ended.stderr.contains("warning: unknown key `colour`"), "{}", ended.stderr);
}

#[test]
fn a_negative_price_is_refused_before_anything_is_estimated() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    let price = "price: { input_per_million: -1, output_per_million: 1 }";
    place.write(
        "gabfest.yaml",
        &format!("endpoints:\n  m:\n    url: 'http://h'\n    {price}\nagents: {{ m: {{ endpoint: m }} }}\n"),
    );
    let ended = place.run(&["run", "a.scenario.yaml", "--agent", "m", "--dry-run"]);
    assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
    for part in ["gabfest.yaml:4:", "endpoints.m.price is not an amount of money"] {
        assert!(ended.stderr.contains(part), "{part:?} is missing in\n{}", ended.stderr);
    }
}

#[test]
fn a_plan_that_cannot_be_sent_is_refused_before_anything_is_played() {
    let place = Place::new();
    let long = "word ".repeat(300_000);
    let text =
        format!("# SCENARIO Long\n\n## [USER]\nHi\n\n## [AGENT]\nHello\n\n## [USER]\n{long}\n\n## [AGENT]\nBye\n");
    place.write("long.skunit.md", &text);
    let rows: [&[&str]; 4] = [
        &["check", "long.skunit.md"],
        &["run", "long.skunit.md", "--dry-run"],
        &["run", "long.skunit.md"],
        // Nothing listens there, and nothing is called.
        &["submit", "long.skunit.md", "--coordinator", "http://127.0.0.1:9"],
    ];
    for args in rows {
        let ended = place.run(args);
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.stderr);
        for part in ["long.skunit.md:", "bytes; at most 1048576 are played", "split the text"] {
            assert!(ended.stderr.contains(part) && ended.stderr.len() < 4_000, "{args:?}: {}", ended.stderr);
        }
    }
    assert!(!place.path().join("gabfest-runs").exists());
}

#[test]
fn settings_take_addresses_from_the_environment_and_no_keys() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    place.write("preview.env", "GABFEST_TEST_PREVIEW=http://127.0.0.1:9\n");
    let settings =
        |url: &str| place.write("gabfest.yaml", &format!("agents:\n  shop:\n    http: {{url: \"{url}\"}}\n"));
    settings("${env:GABFEST_TEST_PREVIEW}/chat");
    let ended = place.run(&["run", "a.scenario.yaml", "--dry-run", "-a", "shop", "--env-file", "preview.env"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let missing = place.run(&["check", "a.scenario.yaml"]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    for wanted in ["`${env:GABFEST_TEST_PREVIEW}`: the variable `GABFEST_TEST_PREVIEW` is not set", "gabfest.yaml:3:17"]
    {
        assert!(missing.stderr.contains(wanted), "{}", missing.stderr);
    }
    settings("http://127.0.0.1:9/${env:SHOP_API_KEY}");
    let key = place.run(&["check", "a.scenario.yaml"]);
    assert!(key.code == 2 && key.stderr.contains("the variable `SHOP_API_KEY` may hold a key"), "{}", key.stderr);
    assert!(key.stderr.contains("key: env:NAME"), "{}", key.stderr);
}

#[test]
fn cases_are_chosen_by_columns_of_a_data_set() {
    let place = Place::new();
    let scenario = GOOD.replace("input: hello", "input: '${row.say} hello'");
    place.write("a.scenario.yaml", &format!("{scenario}gabfest:\n  data: {{file: a.csv, id: id}}\n"));
    place.write("a.csv", "id,say,plan\none,oh,pro\ntwo,ah,free\nthree,eh,pro\n");
    let listed = |flags: &[&str]| {
        let ended = place.run(&[&["run", "a.scenario.yaml", "--dry-run"], flags].concat());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let rows = ended.stdout.lines().filter_map(|line| line.split("  ").nth(2).map(str::to_owned));
        rows.filter(|row| ["one", "two", "three"].contains(&row.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), ["one", "two", "three"]);
    assert_eq!(listed(&["--where", "plan=pro"]), ["one", "three"]);
    assert_eq!(listed(&["--exclude", "plan=pro,say=oh"]), ["two", "three"]);
    let played = place.run(&["run", "a.scenario.yaml", "--out", "out"]);
    assert_eq!(played.code, 0, "{}{}", played.stdout, played.stderr);
    let report = place.json("out/report.json");
    let variants: Vec<&str> =
        report["cases"].as_array().unwrap().iter().map(|case| case["variant"].as_str().unwrap()).collect();
    assert_eq!(variants, ["one", "two", "three"]);
    assert_eq!(report["by_axis"][0]["parameter"], "plan");
    for (flags, wanted) in [
        (["--where", "plan"], "--where takes NAME=VALUE"),
        (["--where", "plam=pro"], "no case has a `plam`"),
        (["--exclude", "x"], "--exclude takes NAME=VALUE"),
    ] {
        let ended = place.run(&[&["run", "a.scenario.yaml"], &flags[..]].concat());
        assert!(ended.code == 2 && ended.stderr.contains(wanted), "{}", ended.stderr);
    }
}

#[test]
fn a_negative_number_is_a_value_whose_refusal_says_what_is_expected() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    for (option, value, expected) in
        [("--repeats", "-1", "a whole number"), ("--max-cost", "-0.5", "dollars"), ("--slots", "-3", "from 1 to")]
    {
        let ended = place.run(&["run", "a.scenario.yaml", option, value]);
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        let parts = [format!("invalid value '{value}' for '{option}"), expected.to_owned()];
        assert!(parts.iter().all(|part| ended.stderr.contains(part)), "{}", ended.stderr);
    }
}

#[test]
fn settings_that_are_all_commented_out_set_nothing_and_empty_ones_are_refused() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    place.write("gabfest.yaml", "# gates:\n\n  # pass_rate: 0.9\n");
    let ended = place.run(&["check", "a.scenario.yaml"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
    let history = place.run(&["history"]);
    assert!(history.stderr.contains("there is no history"), "{}", history.stderr);
    for text in ["", "\n  \n"] {
        place.write("gabfest.yaml", text);
        let ended = place.run(&["check", "a.scenario.yaml"]);
        assert!(ended.code == 2 && ended.stderr.contains("the file is empty"), "{}", ended.stderr);
    }
}
