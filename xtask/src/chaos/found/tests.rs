use serde_json::json;

use super::*;

/// A correct run of three trials, and its view.
fn clean() -> Found {
    let verdicts = ["PASS", "FAIL", "PASS"];
    let line = |number: usize| json!({ "number": number, "trial_id": format!("t{number}"), "verdict": verdicts[number], "turns": 2 });
    let spoken = |number: usize| json!({ "number": number, "trial_id": format!("t{number}"), "turns": [{}, {}] });
    let report = json!({
        "run": { "state": "finished" },
        "summary": {
            "trials": {
                "planned": 3, "pass": 2, "fail": 1, "inconclusive": 0, "error": 0, "skipped": 0, "cancelled": 0,
                "not_started": 0,
            },
            "turns": 6,
            "attempts": { "total": 5, "lost": 2, "replayed": 0 },
        },
    });
    let view = (0..3).map(|number| format!("{}\n", json!({ "trial": number, "verdict": verdicts[number] }))).collect();
    Found { report, trials: (0..3).map(line).collect(), transcripts: (0..3).map(spoken).collect(), view }
}

#[test]
fn a_clean_run_breaks_no_rule() {
    let found = clean();
    assert_eq!(found.broken(3, &found.view), Vec::<String>::new());
    assert_eq!(found.number("/attempts/lost"), 2);
}

#[test]
fn broken_rules_are_named() {
    type Harm = fn(&mut Found);
    let rows: [(Harm, &[&str]); 9] = [
        (
            |found| found.transcripts.push(found.transcripts[1].clone()),
            &[
                "transcripts.jsonl has 1 trials more than once: 1",
                "turns in the transcripts: report.json says 8, and it is 6",
            ],
        ),
        (
            |found| found.trials.truncate(2),
            &["trials.jsonl has 1 trials not: 2", "turns: report.json says 6, and it is 4", "trials PASS"],
        ),
        (|found| found.trials[2]["number"] = json!(7), &["1 trials not: 2", "1 trials although it was not planned: 7"]),
        (|found| found.trials[2]["trial_id"] = json!("t0"), &["trials.jsonl has 2 ids of 3 trials"]),
        (
            |found| found.report["summary"]["trials"]["fail"] = json!(2),
            &["trials FAIL: report.json says 2, and it is 1"],
        ),
        (
            |found| found.report["summary"]["attempts"]["total"] = json!(6),
            &["attempts: report.json says 6, and it is 5"],
        ),
        (|found| found.report["summary"]["turns"] = json!(7), &["turns: report.json says 7, and it is 6"]),
        (|found| found.report["run"]["state"] = json!("running"), &["the run is \"running\""]),
        (
            |found| {
                found.view = found
                    .view
                    .replace(r#""verdict":"FAIL""#, r#""verdict":"ERROR","failure_kind":"poisoned","blame":"infra""#)
            },
            &["1 trials differ in the verdict view: trial 1: undisturbed FAIL, here ERROR poisoned infra"],
        ),
    ];
    for (harm, expected) in rows {
        let mut found = clean();
        harm(&mut found);
        let broken = found.broken(3, &clean().view).join("\n");
        for text in expected {
            assert!(broken.contains(text), "{text}: {broken}");
        }
    }
}
