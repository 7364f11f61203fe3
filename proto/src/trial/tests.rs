use record::{Blame, FailureKind, Finding, Role, Verdict, stop::Stopper};
use scenario::Strategy;

use super::*;

#[test]
fn a_trial_comes_back_as_it_went() {
    let mut spend = Spend::default();
    let line = SpendLine {
        calls: 3,
        tokens: Tokens { input: 10, output: 20, cached_input: 4, cache_write: 3, reasoning: 6 },
        cost: Usd(7),
        unpriced_calls: 1,
        estimated_calls: 2,
        tries: 9,
        throttled_tries: 5,
        wait_micros: 11,
        plain_priced_calls: 2,
        cut_calls: 1,
        reported_cost: Usd(8),
    };
    let mut call_times = CallTimes::default();
    call_times.add_line(
        Role::Judge,
        "m",
        CallTimesLine {
            waits: vec![0, 3],
            services: vec![5],
            wholes: vec![8],
            limits: [(LimitOf::Tokens, LimitRange { lowest: 5, highest: 9 })].into(),
            ttfts: vec![2],
            inter_tokens: vec![1, 4],
            per_tokens: vec![6],
        },
    );
    spend.add_line(Role::Judge, "m", line);
    spend.add_line(Role::Agent, "m", line);
    for (scope, verdict) in [
        (Scope::Turn { step: 1, turn: 2 }, Verdict::Fail),
        (Scope::Conversation { step: 1 }, Verdict::Error),
        (Scope::Step { step: 2 }, Verdict::Pass),
    ] {
        let judgment = Judgment {
            check: "llm_judge".into(),
            name: Some("tone".to_owned()),
            description: Some("polite".into()),
            scope,
            finding: Finding::Fail,
            score: Some(0.25),
            reason: "rude".into(),
            evidence: None,
            failure: Some(FailureKind::JudgeMalformed),
            line: 12,
            required: verdict != Verdict::Pass,
            weight: 2.5,
            ballots: vec![Ballot {
                criterion: "polite".into(),
                model: "m".into(),
                digest: "0123456789abcdef".into(),
                judge: "fedcba9876543210".into(),
                shortened_turns: 4,
                verdict: "not met".into(),
                confidence: Some(0.75),
                reason: "rude".into(),
            }],
            jury: Some(Jury { words: 17, uncalibrated: (verdict == Verdict::Pass).then(|| "kappa is 0.3".into()) }),
            custom: Some(Box::new(CustomRun {
                check: "totals".into(),
                program: "0011223344556677".into(),
                transcript: "8899aabbccddeeff".into(),
                differs: (verdict != Verdict::Error).then_some(verdict == Verdict::Fail),
            })),
        };
        let trial = Trial {
            number: 9,
            trial_id: TrialId::new("t"),
            case_id: CaseId::new("c"),
            case: 3,
            repeat: 1,
            epoch: 2,
            seed: u64::MAX,
            verdict,
            failure: Some(Failure::new(FailureKind::CheckFailed, "rude").in_step(1).in_turn(2)),
            strategy: Strategy::AnyPass,
            termination_reason: Some("goal_achieved".into()),
            stop: (verdict == Verdict::Fail).then(|| Stop { who: Stopper::Script, signal: "gave_up".into(), turn: 4 }),
            turns: 4,
            conversations: 1,
            duration_ms: 77,
            start: Some(Start { at_micros: 7_000_001, late_micros: 80 }),
            began_at_ms: 1_790_000_000_123,
            latencies: vec![
                TurnLatency { total_micros: 5, ..TurnLatency::default() },
                TurnLatency {
                    total_micros: 6,
                    ttft_micros: Some(1),
                    response_micros: Some(0),
                    wait_micros: 2,
                    inter_token_micros: Some(3),
                    per_token_micros: Some(4),
                    estimated: true,
                    number: 7,
                    ended_micros: 8,
                },
            ],
            unanswered: 2,
            spend: spend.clone(),
            call_times: call_times.clone(),
            judgments: vec![judgment],
            user: (verdict == Verdict::Fail).then(user),
            examined: (verdict == Verdict::Fail).then(examined),
            keep_transcript: true,
            exhausted: verdict == Verdict::Fail,
            past: Past { failed: 2, broken: 1 },
        };
        assert_eq!(from_wire(to_wire(trial.clone(), vec![])), Ok(trial));
    }
}

fn user() -> Box<UserConduct> {
    Box::new(UserConduct {
        persona: Some("shy".into()),
        lines: 7,
        unknown: 2,
        faults: vec![KindCount { kind: FaultKind::ToldEarly, refused: 3, sent: 1 }],
        despite_fault: Some(DespiteFault { verdict: Verdict::Error, blame: Some(Blame::Agent) }),
    })
}

fn examined() -> Box<Examined> {
    let json = br#"{"head":{"requirements":["typos"],"examination":{"turns":[null],"sets":[]},
            "thresholds":{"similarity":0.6,"stutter":0.33,"toxicity":0.1,"coherence":-6.0},
            "shown":{"interpretation":true,"detail":true,"verdict":true},"compat":null,"saved":false},
            "replies":[{"turn":2,"finding":"pass","cell":{"requirement":"typos","detail":0.75,"counted":true}}]}"#;
    Box::new(Examined::from_json(json).unwrap())
}

#[test]
fn trials_of_the_last_version_are_read_and_invalid_examinations_refused() {
    // Number, ids, case, repeat, epoch, seed, verdict and strategy, as the version before wrote them.
    let sent: &[u8] = b"\x08\x09\x12\x01t\x1a\x01c\x20\x03\x28\x01\x30\x02\x38\x07\x42\x04PASS\x52\x08all_pass";
    let wire: v1::Trial = prost::Message::decode(sent).unwrap();
    let trial = from_wire(wire.clone()).unwrap();
    assert_eq!((trial.number, trial.epoch, trial.verdict, &trial.examined), (9, 2, Verdict::Pass, &None));
    assert_eq!(prost::Message::encode_to_vec(&to_wire(trial, vec![])), sent, "and is still written so");
    let broken = v1::Trial { examined: b"{}".as_slice().into(), ..wire };
    let error = from_wire(broken).unwrap_err().to_string();
    assert!(error.contains("examined: missing field `head`"), "{error}");
}

#[test]
fn a_failure_of_a_worker_that_knows_no_step_can_be_read() {
    // `kind`, `blame`, `message` and `turn`, as the version before wrote them.
    let sent: &[u8] = b"\x0a\x0ccheck_failed\x12\x05agent\x1a\x04rude\x20\x02";
    let wire: v1::Failure = prost::Message::decode(sent).unwrap();
    let failure = failure_from_wire(wire).unwrap();
    assert_eq!(failure, Failure::new(FailureKind::CheckFailed, "rude").in_turn(2));
}

#[test]
fn nan_is_refused_because_it_could_not_be_read_back() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let scored = v1::Judgment { finding: "pass".into(), score: Some(number), ..v1::Judgment::default() };
        let weighed = v1::Judgment { finding: "pass".into(), weight: Some(number), ..v1::Judgment::default() };
        for (what, judgment) in [("score", scored), ("weight", weighed)] {
            let error = judgment_from_wire(judgment).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{what} {number} on the wire")), "{error}");
        }
    }
}

#[test]
fn an_unknown_word_is_an_error_and_not_a_verdict() {
    let wire = v1::Trial { verdict: "GREAT".into(), ..v1::Trial::default() };
    assert_eq!(from_wire(wire).unwrap_err().to_string(), "unknown verdict \"GREAT\" on the wire");
}
