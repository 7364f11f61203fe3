//! `gabfest run --log skunit`: the log of a page, line by line, and of its negative controls and rounds.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    process::Place,
    server::{says, serve},
};

/// An agent with these answers; the judge is the built-in mock, which agrees.
fn settings(answers: &[&str]) -> String {
    serde_json::json!({ "agents": { "scripted": { "replayed": { "answers": answers } } } }).to_string()
}

/// The output of a run for a page, and its exit code.
fn log_of(page: &str, answers: &[&str], more: &[&str]) -> (String, i32) {
    let place = Place::new();
    place.write("page.skunit.md", page);
    place.write("gabfest.yaml", &settings(answers));
    let mut args = vec![
        "run",
        "page.skunit.md",
        "--config",
        "gabfest.yaml",
        "--agent",
        "scripted",
        "--log",
        "skunit",
        "--out",
        "out",
    ];
    args.extend(more);
    let ended = place.run(&args);
    assert!([0, 1].contains(&ended.code), "{}\n{}", ended.stdout, ended.stderr);
    // The report on the terminal follows the log.
    let is_log = |line: &&str| !line.ends_with("  page.skunit.md");
    let log = ended.stdout.lines().take_while(is_log).map(|line| format!("{line}\n"));
    (log.collect(), ended.code)
}

const PAGE: &str = r#"# SCENARIO Bridges

## [USER]
Is this bridge long?

## [AGENT]
Yes, it is

### CHECK SemanticCondition
It says that the bridge is long.

## [USER]
Give me its length as JSON.

Example:
{
	"length": "4 metres"
}

## [AGENT]
{
	"length": "980 metres"
}

### CHECK JsonCheck
{
	"length": ["NotEmpty", ""]
}

### CHECK JsonCheck
{
	"length": ["Contain", "metres"]
}

## [USER]
And who built it?

## [AGENT]

### CHECK ContainsAny
Anna, Otto
"#;

/// The blank line between the user's two paragraphs disappears, as in skUnit's own log.
const LOG: &str = r#"# SCENARIO Bridges

## [USER]
Is this bridge long?

## [EXPECTED ANSWER]
Yes, it is

### [ACTUAL ANSWER]
It is one of the longest.

### CHECK Condition
It says that the bridge is long.
✅ OK

## [USER]
Give me its length as JSON.
Example:
{
	"length": "4 metres"
}

## [EXPECTED ANSWER]
{
	"length": "980 metres"
}

### [ACTUAL ANSWER]
{"length": "990 metres"}

### CHECK JsonCheck
{
	"length": ["NotEmpty", ""]
}
✅ OK

### CHECK JsonCheck
{
	"length": ["Contain", "metres"]
}
✅ OK

## [USER]
And who built it?

## [EXPECTED ANSWER]

### [ACTUAL ANSWER]
Nobody knows.

### CHECK ContainsAny
Anna, Otto
❌ FAIL
Reason:
"#;

#[test]
fn a_page_is_logged_line_by_line() {
    let answers = ["It is one of the longest.", "{\"length\": \"990 metres\"}", "Nobody knows."];
    let (log, code) = log_of(PAGE, &answers, &[]);
    assert_eq!(code, 1);
    assert!(log.starts_with(LOG), "{log}");
    let reason = log[LOG.len()..].trim();
    assert!(reason.contains("\"Anna\"") && reason.lines().count() == 1, "{reason}");
}

#[test]
fn a_negative_control_passes_if_its_check_fails() {
    let page =
        "# SCENARIO Wrong on purpose\n```gabfest\nexpect: fail\n```\n## [USER]\nHi\n## [AGENT]\n### CHECK Equals\nHo\n";
    let (log, code) = log_of(page, &["Hi"], &[]);
    assert_eq!(code, 0, "{log}");
    for line in ["Expected to fail.", "❌ FAIL"] {
        assert!(log.lines().any(|found| found == line), "{line} is missing in\n{log}");
    }
    let (log, code) = log_of(page, &["Ho"], &[]);
    assert_eq!(code, 1, "what should fail and passes is a FAIL\n{log}");
    assert!(log.lines().any(|found| found == "✅ OK"), "{log}");
}

#[test]
fn rounds_are_counted_and_scenarios_are_separate() {
    let page = "---\nrepeats: 2\nrequired_success_runs: 1\n---\n# SCENARIO One\n## [USER]\nHi\n## [AGENT]\n### CHECK Equals\nHo\n-----\n# SCENARIO Two\n## [USER]\nHi\n## [AGENT]\n### CHECK NotEmpty\n";
    let (log, code) = log_of(page, &["Ho"], &[]);
    assert_eq!(code, 0, "{log}");
    let headings: Vec<&str> = log.lines().filter(|line| line.starts_with("# ") || line.starts_with("-----")).collect();
    let between = "----------------------------------";
    // The plan has the first round of all scenarios before the second of any.
    let expected = [
        "# SCENARIO One",
        "# ROUND 1",
        between,
        "# SCENARIO Two",
        "# ROUND 1",
        between,
        "# SCENARIO One",
        "# ROUND 2",
        between,
        "# SCENARIO Two",
        "# ROUND 2",
    ];
    assert_eq!(headings, expected, "{log}");
    assert_eq!(log.matches("\n2 of 2 rounds passed\n").count(), 2, "{log}");
}

/// The gates decide over cases, which the log does not show: 1 of 4 is enough for this run.
#[test]
fn rounds_have_no_verdict_of_their_own() {
    let page = "---\nrepeats: 4\n---\n# SCENARIO One\n## [USER]\nHi\n## [AGENT]\n### CHECK Equals\nHo\n";
    let place = Place::new();
    place.write("page.skunit.md", page);
    let asked = AtomicU64::new(0);
    let address = serve(move |_| says(if asked.fetch_add(1, Ordering::SeqCst) == 1 { "Hi" } else { "Ho" }));
    let settings = serde_json::json!({
        "endpoints": { "scripted": { "kind": "openai", "url": address, "model": "m" } },
        "agents": { "scripted": { "endpoint": "scripted" } },
        "gates": { "pass_rate": 0.2 },
    });
    place.write("gabfest.yaml", &settings.to_string());
    let ended = place.run(&["run", "page.skunit.md", "--agent", "scripted", "--log", "skunit", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(place.json("out/report.json")["cases"][0]["verdict"], "PASS");
    assert!(ended.stdout.contains("\n3 of 4 rounds passed\n"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("❌ FAIL:") && !ended.stdout.contains("✅ OK:"), "{}", ended.stdout);
}

/// The page and the log from skUnit's documentation, if they are present.
#[test]
fn the_log_of_the_documentation_is_printed() {
    let page = "skunit/docs-0b21ae14/docs/chat-scenario-spec.md";
    let Some(path) = cases::folder(page, "the log in skUnit's documentation") else { return };
    let text = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    let fences: Vec<&str> = text.split("```md\n").skip(1).map(|fence| fence.split("\n```").next().unwrap()).collect();
    let (page, wanted) = (fences[1], fences[2]);
    let answers: Vec<&str> =
        wanted.split("### [ACTUAL ANSWER]\n").skip(1).map(|rest| rest.split("\n\n### CHECK").next().unwrap()).collect();
    assert_eq!(answers.len(), 4);
    let (log, code) = log_of(page, &answers, &[]);
    assert_eq!(code, 0, "{log}");
    // The page says `tower` where its log says `Tower`.
    let log = log.replace("the Eiffel tower is tall", "the Eiffel Tower is tall");
    let lines = |text: &str| -> Vec<String> { text.trim().lines().map(|line| line.trim_end().to_owned()).collect() };
    for (number, (found, wanted)) in lines(&log).iter().zip(lines(wanted)).enumerate() {
        assert_eq!(*found, wanted, "line {}\n{log}", number + 1);
    }
    assert_eq!(lines(&log).len(), lines(wanted).len());
}
