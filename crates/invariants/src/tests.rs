use serde_json::json;

use super::*;

/// A correct run of three trials with two turns each, the agent's ledger, and the view of its verdicts.
fn clean() -> (Run, Ledger, String) {
    let verdicts = ["PASS", "FAIL", "PASS"];
    let trial = |number: u32| format!("t{number}");
    let line = |number: u32| {
        json!({
            "number": number, "trial_id": trial(number), "verdict": verdicts[number as usize], "turns": 2, "epoch": 1 + number % 2,
            "llm_calls": { "agent": 2 },
        })
    };
    let turn = |trial: u32, number: u32| json!({ "number": number, "agent": format!("{trial} {number}"), "calls": [{ "role": "agent", "tries": 1 }] });
    let spoken = |number: u32| json!({ "number": number, "trial_id": trial(number), "turns": [turn(number, 1), turn(number, 2)] });
    let report = json!({
        "run": { "state": "finished" },
        "summary": {
            "trials": {
                "planned": 3, "pass": 2, "fail": 1, "inconclusive": 0, "error": 0, "skipped": 0, "cancelled": 0,
                "not_started": 0,
            },
            "turns": 6, "llm_calls": { "agent": 7 },
            "attempts": { "total": 4, "lost": 1, "replayed": 0 },
            "budget": { "max_cost_usd": 10.0, "spent_usd": 6.5, "reserved_usd": 0.0, "unsettled_usd": 0.5, "left_usd": 3.0 },
        },
        "cases": [{ "pass": 2, "fail": 1 }],
        "by_scenario": [{ "trials": { "pass": 2 } }, { "trials": { "fail": 1 } }],
    });
    let served = |number: u32, attempt: u32, turn: u32| Served {
        at: Duration::from_secs((20 * number + 5 * attempt + turn).into()),
        role: "agent".to_owned(),
        trial: trial(number),
        attempt,
        turn,
        said: Some(format!("{number} {turn}")),
        cost_nanos: 1_000_000_000,
    };
    // The first attempt of the second trial was lost.
    let mut calls = vec![served(1, 1, 1)];
    for (number, attempt) in [(0, 1), (1, 2), (2, 1)] {
        calls.extend([served(number, attempt, 1), served(number, attempt, 2)]);
    }
    let view = (0..3).map(|number| format!("{}\n", json!({ "trial": number, "verdict": verdicts[number] }))).collect();
    let (trials, transcripts) = ((0..3).map(line).collect(), (0..3).map(spoken).collect());
    (Run { planned: 3, report, trials, transcripts }, Ledger(calls), view)
}

const SLOW: Known<'_> = Known {
    limit: Some(Limit { requests_per_minute: 12, workers: 1, late: Duration::ZERO }),
    unheard: 0,
    excuses: None,
};

fn look(run: &Run, ledger: &Ledger) -> String {
    let mut findings = Findings::default();
    findings.look(run, Some(ledger), &SLOW);
    findings.broken().collect::<Vec<_>>().join("\n")
}

#[test]
fn a_clean_run_breaks_nothing() {
    let (run, ledger, view) = clean();
    let mut findings = Findings::default();
    findings.look(&run, Some(&ledger), &SLOW);
    findings.add(Invariant::Same, same(&view, &view));
    findings.add(Invariant::Memory, memory(5 << 20, 5 << 20));
    assert_eq!(findings.broken().collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(findings.looked_at(), "I1, I2, I3, I4, I5, I6, I7, I9, I11 and I12");
    assert_eq!(Findings::default().looked_at(), "none");
}

#[test]
fn what_is_broken_is_named_with_its_invariant() {
    type Harm = fn(&mut Run, &mut Ledger);
    let rows: [(Harm, &[&str]); 25] = [
        (
            |run, _| run.transcripts.push(run.transcripts[1].clone()),
            &[
                "I1 each trial once: transcripts.jsonl has 1 trials more than once: 1",
                "I3 sums: turns in the transcripts: report.json says 8, and it is 6",
            ],
        ),
        (
            |run, _| run.trials.truncate(2),
            &[
                "I1 each trial once: trials.jsonl has 1 trials not: 2",
                "I1 each trial once: trials PASS",
                "I3 sums: turns: report.json says 6, and it is 4",
                "I3 sums: the trials of `cases` are 3, and there are 2",
                "I7 calls: the agent was asked by trials that the report does not have: t2",
            ],
        ),
        (|run, _| run.trials[2]["number"] = json!(7), &["1 trials not: 2", "1 trials although it was not planned: 7"]),
        (|run, _| run.trials[2]["trial_id"] = json!("t0"), &["I1 each trial once: trials.jsonl has 2 ids of 3 trials"]),
        (
            |run, _| run.report["summary"]["trials"]["fail"] = json!(2),
            &["I1 each trial once: trials FAIL: report.json says 2, and it is 1"],
        ),
        (
            |run, _| run.report["run"]["state"] = json!("running"),
            &["I1 each trial once: report.json says that the run is"],
        ),
        (
            |run, _| run.transcripts[0]["turns"][1]["number"] = json!(3),
            &["I2 turns: 1 transcripts do not have the turns of their trials: t0"],
        ),
        (|run, _| run.trials[0]["turns"] = json!(3), &["I2 turns: 1 transcripts"]),
        (
            |run, _| run.report["summary"]["attempts"]["total"] = json!(6),
            &["I3 sums: attempts: report.json says 6, and it is 4"],
        ),
        (|run, _| run.report["summary"]["turns"] = json!(7), &["I3 sums: turns: report.json says 7, and it is 6"]),
        (
            |run, _| run.report["by_scenario"][1]["trials"]["fail"] = json!(4),
            &["I3 sums: the trials of `by_scenario` are 6, and there are 3"],
        ),
        (
            |run, _| run.report["summary"]["llm_calls"]["agent"] = json!(5),
            &["I3 sums: report.json names 5 calls of agent, and the trials have 6"],
        ),
        (
            |run, _| run.transcripts[1]["turns"][0]["agent"] = json!("never"),
            &["I4 words: the agent never said \"never\" in turn 1 of attempt 2 of t1"],
        ),
        (
            |run, _| run.trials[1]["epoch"] = json!(1),
            &["I4 words: the agent never said \"1 2\" in turn 2 of attempt 1 of t1", "I7 calls: t1 names 2 calls"],
        ),
        (
            |_, ledger| ledger.0.iter_mut().for_each(|call| call.at /= 10),
            &["I5 limits: 3 calls in 1 s, and the limit is 12 a minute"],
        ),
        (
            |_, ledger| ledger.0.iter_mut().for_each(|call| call.at = Duration::from_secs(call.at.as_secs() % 20)),
            &["I5 limits: 7 calls in 10 s"],
        ),
        (
            |run, _| run.report["summary"]["budget"]["left_usd"] = json!(3.5),
            &["I6 money: the budget of $10 does not fit its parts"],
        ),
        (
            |run, _| run.report["summary"]["budget"]["spent_usd"] = json!(null),
            &["I6 money: the budget of $10 does not fit", "the report knows of $NaN"],
        ),
        (
            |_, ledger| ledger.0[0].cost_nanos = 2_000_000_000,
            &["I6 money: the agent charged $8.000000, and the report knows of $7.000000"],
        ),
        (
            |_, ledger| ledger.0[0].cost_nanos = 5_000_000_000,
            &["I6 money: the agent charged $11.000000, and the budget is $10.000000"],
        ),
        (|_, ledger| drop(ledger.0.pop()), &["I4 words", "I7 calls: t2 names 2 calls, and the agent saw 1"]),
        (
            |run, _| run.report["summary"]["attempts"]["lost"] = json!(0),
            &[
                "I7 calls: the agent saw 1 attempts that did not win; the report counts 0, and 0 may be unknown: attempt 1 of t1",
            ],
        ),
        (
            |_, ledger| ledger.0[0].attempt = 3,
            &["I7 calls: the agent saw attempts after the one that won: attempt 3 of t1"],
        ),
        (
            |run, _| {
                run.report["summary"]["llm_calls"]["agent"] = json!(9);
                run.report["summary"]["budget"] = json!(null);
            },
            &["I7 calls: the report names 9 calls, and the agent answered 7"],
        ),
        (
            |_, ledger| ledger.0[0].at += Duration::from_secs(6),
            &["I12 one attempt at a time: attempt 1 of t1 went on until 32s, and 2 began at 31s"],
        ),
    ];
    for (harm, expected) in rows {
        let (mut run, mut ledger, _) = clean();
        harm(&mut run, &mut ledger);
        let broken = look(&run, &ledger);
        for text in expected {
            assert!(broken.contains(text), "{text}: {broken}");
        }
    }
}

#[test]
fn a_verdict_that_faults_changed_is_named() {
    let (.., view) = clean();
    let other = view.replace(r#""verdict":"FAIL""#, r#""verdict":"ERROR","failure_kind":"poisoned","blame":"infra""#);
    assert_eq!(
        same(&view, &other),
        ["1 trials differ in the verdict view: trial 1: undisturbed FAIL, here ERROR poisoned infra"]
    );
    let late = ends(Duration::from_secs(3), Duration::from_secs(2));
    assert_eq!(late, ["it took 3.0 s, at most 2.0 s"]);
    assert_eq!(memory(6 << 20, 5 << 20), ["a coordinator had 6 MiB, and may have 5"]);
}

#[test]
fn the_mock_s_calls_are_read() {
    let line = json!({
        "at_micros": 1_500_000, "role": "agent", "trial": "t1", "conversation": "20261121-chaos-t1-2-1", "turn": 3,
        "said": "hello", "input_tokens": 10, "output_tokens": 2,
    });
    let ledger = Ledger::read(&format!("{line}\n{line}\n"), (1_000, 10_000)).unwrap();
    let expected = Served {
        at: Duration::from_millis(1_500),
        role: "agent".to_owned(),
        trial: "t1".to_owned(),
        attempt: 2,
        turn: 3,
        said: Some("hello".to_owned()),
        cost_nanos: 30_000,
    };
    assert_eq!(ledger.0, [expected.clone(), expected]);
    assert!(Ledger::read("\n{}", (0, 0)).unwrap_err().starts_with("line 1: "));
    assert_eq!(ledger.cost_nanos(), 60_000);
}
