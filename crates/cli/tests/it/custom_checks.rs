//! Checks in Python and JavaScript gate a run, as programs and over HTTP, with the real interpreters.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::process::{Ended, Place, Process};

fn helpers() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../helpers").canonicalize().unwrap()
}

/// Whether this machine has the interpreter; a CI machine must.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn has(interpreter: &str) -> bool {
    let found = Command::new(interpreter).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        assert!(std::env::var_os("CI").is_none(), "{interpreter} is missing on a CI machine");
        println!("SKIPPED: checks with {interpreter}, which is not installed");
    }
    found
}

/// The shipped scenario, with another answer of the agent.
fn refund(place: &Place, answer: &str) {
    let text = std::fs::read_to_string(helpers().join("example/refund.scenario.yaml")).unwrap();
    let expected = "Thank you for asking! You get 30 EUR back.";
    assert!(text.contains(expected));
    place.write("refund.scenario.yaml", &text.replace(expected, answer));
}

fn run(place: &Place, more: &[&str]) -> Ended {
    let args = [&["run", "refund.scenario.yaml", "--out", "out"], more].concat();
    let ended = Ended::from(place.gabfest(&args).env("CHECK_KEY", "s3cret-of-the-check").output().unwrap());
    let _ = std::fs::copy(place.path().join("out/trials.jsonl"), place.path().join("trials.jsonl"));
    let _ = std::fs::remove_dir_all(place.path().join("out"));
    ended
}

fn trials(place: &Place) -> String {
    std::fs::read_to_string(place.path().join("trials.jsonl")).unwrap()
}

#[test]
fn the_shipped_checks_gate_a_run_as_programs() {
    if !has("python3") || !has("node") {
        return;
    }
    let place = Place::new();
    let config = helpers().join("example/gabfest.yaml").display().to_string();
    let with = ["--config", &config, "--allow-exec=host"];
    for (answer, code, says) in [
        ("Thank you for asking! You get 30 EUR back.", 0, "1 amounts are at most 30 EUR"),
        ("Thank you for asking! You get 31 EUR back.", 1, "too much: turn 1: 31 EUR"),
        ("You get 30 EUR back.", 1, "polite: 0 of 1 replies are polite"),
    ] {
        refund(&place, answer);
        let ended = run(&place, &with);
        assert_eq!(ended.code, code, "{answer}: {}{}", ended.stdout, ended.stderr);
        assert!(trials(&place).contains(says), "{answer}: {}", trials(&place));
    }
    let ended = run(&place, &with[..2]);
    assert_eq!(ended.code, 3, "a program that is not allowed is no verdict: {}{}", ended.stdout, ended.stderr);
}

#[test]
fn the_shipped_checks_gate_a_run_over_http() {
    if !has("python3") || !has("node") {
        return;
    }
    let serve = |interpreter: &str, file: &str| {
        let mut command = Command::new(interpreter);
        command.arg(helpers().join("example").join(file)).args(["--http", "0", "--key", "CHECK_KEY"]);
        Process::serve(command.env("CHECK_KEY", "s3cret-of-the-check"))
    };
    let (_totals, totals) = serve("python3", "totals.py");
    let (_polite, polite) = serve("node", "polite.js");
    let place = Place::new();
    let config = |key: &str| {
        let text = format!(
            "replays: 0\nchecks:\n  totals: {{ url: '{totals}', key: env:{key} }}\n  polite: {{ url: '{polite}', key: env:CHECK_KEY }}\n"
        );
        place.write("gabfest.yaml", &text);
    };
    config("CHECK_KEY");
    for (answer, code, says) in [
        ("Thank you for asking! You get 30 EUR back.", 0, "1 amounts are at most 30 EUR"),
        ("Thank you for asking! You get 31 EUR back.", 1, "too much: turn 1: 31 EUR"),
    ] {
        refund(&place, answer);
        let ended = run(&place, &[]);
        assert_eq!(ended.code, code, "{answer}: {}{}", ended.stdout, ended.stderr);
        assert!(trials(&place).contains(says), "{answer}: {}", trials(&place));
    }
    // A check that refuses the key is our fault, whatever the agent did.
    config("PATH");
    let ended = run(&place, &[]);
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(trials(&place).contains("check_failed_to_run"), "{}", trials(&place));
}

/// It answers the second question about a transcript in another way. Trials run side by side, so a count would not do.
const WAVERS: &str = r#"echo '{"gabfest":"check/1"}'
while read -r line; do
  id=${line#*'"id":"'}; id=${id%%'"'*}
  case "$id" in */again) pass=false ;; *) pass=true ;; esac
  echo "{\"id\":\"$id\",\"result\":{\"pass\":$pass}}"
done
"#;

#[test]
fn a_check_that_is_not_deterministic_is_called_unstable_in_every_report() {
    let place = Place::new();
    place.write("wavers.sh", WAVERS);
    place.write("gabfest.yaml", "replays: 0\nchecks:\n  wavers: { command: [sh, wavers.sh], deterministic: true }\n");
    place.write(
        "a.scenario.yaml",
        "name: a\ndescription: d\njudgment: {strategy: all_pass}\nrun: [{input: Hi, evaluations: [{type: custom, check: wavers}]}]\n",
    );
    let args = [
        "run",
        "a.scenario.yaml",
        "--repeats",
        "400",
        "--seed",
        "7",
        "--allow-exec=host",
        "--no-preflight",
        "--out",
        "out",
    ];
    let ended = Ended::from(place.gabfest(&args).output().unwrap());
    let read = |name: &str| std::fs::read_to_string(place.path().join("out").join(name)).unwrap();
    let report: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
    let found = &report["custom_checks"][0];
    let twice = found["asked_twice"].as_u64().unwrap();
    assert!((1..20).contains(&twice), "about 1 %: {found}");
    assert_eq!((&found["check"], &found["answers"]), (&"wavers".into(), &400.into()), "{found}");
    assert_eq!((&found["differed"], &found["unstable"]["estimate"]), (&twice.into(), &1.0.into()), "{found}");
    assert_eq!(found["programs"][0].as_str().map(str::len), Some(16), "{found}");
    let says = "wavers is unstable";
    assert!(read("report.html").contains(says) && read("report.md").contains(says), "{}{}", ended.stdout, ended.stderr);
    assert!(read("trials.jsonl").contains(r#""differs":true"#));
}

#[test]
fn settings_of_checks_that_do_not_fit_together_are_shown_with_their_line() {
    let place = Place::new();
    refund(&place, "Thank you.");
    for (written, says) in [
        ("{}", "checks.totals.url is missing"),
        ("{ url: 'http://127.0.0.1:1/', command: [a] }", "checks.totals.command cannot be used with `url`"),
        ("{ command: [a], key: env:A }", "checks.totals.key goes with `url`"),
        ("{ comand: [a] }", "did you mean `command`"),
    ] {
        place.write("gabfest.yaml", &format!("checks:\n  totals: {written}\n"));
        let ended = run(&place, &[]);
        assert_eq!(ended.code, 2, "{written}: {}", ended.stderr);
        assert!(ended.stderr.contains(says) && ended.stderr.contains("gabfest.yaml:2"), "{written}: {}", ended.stderr);
    }
}
