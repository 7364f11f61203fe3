use proptest::prelude::*;

use super::*;

const PASS: RunVerdict = RunVerdict::Pass;
const FAIL: RunVerdict = RunVerdict::Fail;
const OPEN: RunVerdict = RunVerdict::Inconclusive;
/// Nothing that may not be forgiven.
const NEVER: Unforgivable = Unforgivable { without_judge: 0, out_of_quota: 0 };

fn case(planned: u64, pass: u64, fail: u64, inconclusive: u64, agent_errors: u64, required: Option<f64>) -> CaseResult {
    let counts = Counts { pass, fail, inconclusive, error: agent_errors, agent_errors, ..Counts::default() };
    CaseResult { name: "refund".into(), planned, counts, required_pass_rate: required }
}

fn rate(pass_rate: f64) -> Required {
    Required { pass_rate: Some(pass_rate), ..Required::default() }
}

fn lenient(max_unjudged: f64) -> Required {
    Required { max_unjudged, ..Required::default() }
}

fn reason<'a>(decision: &'a Decision, gate: &str) -> (RunVerdict, &'a str) {
    let gate = decision.gates.iter().find(|found| found.name == gate).unwrap();
    (gate.verdict, &gate.reason)
}

#[test]
fn a_case_fails_only_if_missing_trials_cannot_save_it() {
    let rows = [
        (case(3, 3, 0, 0, 0, None), PASS),
        (case(3, 2, 1, 0, 0, None), FAIL),
        (case(3, 2, 0, 0, 1, None), FAIL),
        (case(3, 2, 0, 1, 0, None), OPEN),
        (case(3, 2, 0, 0, 0, None), OPEN),
        (case(3, 1, 1, 1, 0, None), FAIL),
        (case(0, 0, 0, 0, 0, None), OPEN),
        (case(5, 4, 1, 0, 0, Some(0.8)), PASS),
        (case(5, 3, 2, 0, 0, Some(0.8)), FAIL),
        (case(5, 4, 0, 0, 1, Some(0.8)), PASS),
        (case(5, 3, 1, 0, 1, Some(0.8)), FAIL),
        (case(5, 3, 0, 2, 0, Some(0.8)), OPEN),
        (case(5, 3, 1, 1, 0, Some(0.8)), OPEN),
        (case(5, 4, 0, 1, 0, Some(0.8)), PASS),
        (case(10, 7, 3, 0, 0, Some(0.7)), PASS),
        (case(20, 16, 2, 2, 0, Some(0.9)), OPEN),
        (case(20, 16, 3, 1, 0, Some(0.9)), FAIL),
        (case(20, 18, 0, 0, 0, Some(0.9)), PASS),
        (case(3, 0, 0, 3, 0, Some(0.0)), OPEN),
    ];
    for (case, verdict) in rows {
        assert_eq!(decide(Required::default(), std::slice::from_ref(&case), NEVER).cases, [verdict], "{case:?}");
    }
}

/// Required 90 %, 16 pass, 2 fail, 2 lost to a judge: 18 of 20 is within reach.
#[test]
fn two_trials_that_a_judge_lost_are_no_failure_of_the_agent() {
    let decision = decide(rate(0.9), &[case(20, 16, 2, 2, 0, None)], NEVER);
    assert_eq!(decision.verdict, OPEN);
    assert_eq!(
        reason(&decision, "pass_rate"),
        (OPEN, "16 of 18 passed (88.89 %), 2 of 20 missing, required 90 % by point")
    );
    // An interrupted run is the same: what was not played may pass.
    assert_eq!(decide(rate(0.9), &[case(20, 16, 2, 0, 0, None)], NEVER).verdict, OPEN);
    assert_eq!(decide(rate(0.9), &[case(20, 1, 3, 0, 0, None)], NEVER).verdict, FAIL, "17 of 20 at most");
    // Tolerated trials are left out: 17 of 18 is enough, 16 of 18 is not.
    let forgiving = Required { max_unjudged: 0.1, ..rate(0.9) };
    assert_eq!(decide(forgiving, &[case(20, 17, 1, 2, 0, None)], NEVER).verdict, PASS);
    assert_eq!(decide(forgiving, &[case(20, 16, 2, 2, 0, None)], NEVER).verdict, OPEN);
    assert_eq!(decide(forgiving, &[case(20, 17, 0, 3, 0, None)], NEVER).verdict, OPEN, "3 are more than it forgives");
}

#[test]
fn our_own_errors_are_open_and_not_failed() {
    let mut ours = case(2, 1, 0, 0, 0, None);
    ours.counts.error = 1;
    assert_eq!(decide(Required::default(), &[ours], NEVER).verdict, OPEN);
}

/// 20 cases of 20 trials, all at 100 % but one at 0 %: 95 % of all.
#[test]
fn a_dead_case_breaks_the_floor_and_is_named() {
    let mut cases = vec![case(20, 20, 0, 0, 0, None); 19];
    cases.push(CaseResult { name: "dead".into(), ..case(20, 0, 20, 0, 0, None) });
    let decision = decide(rate(0.95), &cases, NEVER);
    assert_eq!(decision.verdict, FAIL);
    assert_eq!(reason(&decision, "pass_rate").0, PASS);
    assert_eq!(
        reason(&decision, "case_pass_rate"),
        (FAIL, "of 20 cases, 1 failed (dead: 0 of 20 passed, so at most 13.91 %, floor 47.5 %)")
    );
    let off = Required { case_pass_rate: Some(0.0), ..rate(0.95) };
    assert_eq!(decide(off, &cases, NEVER).verdict, PASS, "a floor of 0 is none");
}

#[test]
fn a_floor_is_broken_by_evidence_and_not_by_chance() {
    // The upper bound of 0 of 5 is 45.07 %, that of 0 of 4 is 52.71 %.
    let rows = [
        (case(1, 0, 1, 0, 0, None), PASS),
        (case(4, 0, 4, 0, 0, None), PASS),
        (case(5, 0, 5, 0, 0, None), FAIL),
        (case(5, 0, 3, 0, 2, None), FAIL),
        (case(5, 1, 4, 0, 0, None), PASS),
        (case(5, 0, 4, 1, 0, None), OPEN),
        (case(5, 1, 3, 1, 0, None), PASS),
        (case(5, 0, 0, 5, 0, None), OPEN),
        // A case's own rate replaces the minimum.
        (case(5, 1, 4, 0, 0, Some(0.1)), PASS),
        (case(5, 3, 2, 0, 0, Some(0.8)), FAIL),
    ];
    for (case, verdict) in rows {
        assert_eq!(decide(rate(0.95), std::slice::from_ref(&case), NEVER).cases, [verdict], "{case:?}");
    }
}

#[test]
fn a_case_that_was_never_judged_is_not_forgiven() {
    let mut cases = vec![case(5, 5, 0, 0, 0, None); 19];
    cases.push(CaseResult { name: "silent".into(), ..case(5, 0, 0, 5, 0, None) });
    for required in [Required { max_unjudged: 0.05, ..rate(1.0) }, lenient(0.05)] {
        let decision = decide(required, &cases, NEVER);
        assert_eq!(decision.verdict, OPEN);
        assert_eq!(reason(&decision, "enough_evidence").0, PASS);
        assert_eq!(
            reason(&decision, "every_case_judged"),
            (OPEN, "1 of 20 cases has no judged trial (silent), allowed 0")
        );
        let tolerant = Required { max_unjudged_cases: 1, ..required };
        let decision = decide(tolerant, &cases, NEVER);
        assert_eq!((decision.verdict, decision.cases[19]), (PASS, OPEN), "{:?}", decision.gates);
        let strict = Required { max_unjudged: 0.04, ..tolerant };
        assert_eq!(decide(strict, &cases, NEVER).verdict, OPEN, "its trials are missing all the same");
    }
    // The agent's own errors say something about the agent.
    let dead = [case(5, 0, 0, 0, 5, None)];
    assert_eq!(reason(&decide(lenient(0.0), &dead, NEVER), "every_case_judged").0, PASS);
}

#[test]
fn a_share_forgives_nothing_but_its_own_rounding() {
    assert_eq!(decide(rate(0.951), &[case(20, 19, 1, 0, 0, None)], NEVER).verdict, FAIL);
    assert_eq!(decide(rate(0.95), &[case(20, 19, 1, 0, 0, None)], NEVER).verdict, PASS);
    assert_eq!(decide(Required::default(), &[case(3, 2, 1, 0, 0, Some(0.67))], NEVER).verdict, PASS);
}

#[test]
fn a_failure_that_was_played_again_until_it_passed_is_a_failure() {
    let counts = Counts { pass: 13, fail: 7, replayed_failures: 7, ..Counts::default() };
    let cases = [CaseResult { name: "refund".into(), planned: 20, counts, required_pass_rate: None }];
    let decision = decide(rate(0.9), &cases, NEVER);
    assert_eq!(decision.verdict, FAIL);
    assert_eq!(
        reason(&decision, "pass_rate").1,
        "13 of 20 passed (65 %), 7 failed and did not when played again, which counts as failed, required 90 % by point"
    );
    assert_eq!(decide(Required::default(), &cases, NEVER).verdict, FAIL);
    assert_eq!(decide(rate(0.6), &cases, NEVER).verdict, PASS, "it is the verdict without the replays");
}

#[test]
fn a_failure_after_our_own_fault_is_no_fail_unless_no_failure_is_allowed() {
    let counts = Counts { pass: 60, fail: 2, error: 36, agent_errors: 34, doubtful: 21, ..Counts::default() };
    let case = |own| [CaseResult { name: "refund".into(), planned: 100, counts, required_pass_rate: own }];
    // The agent is right in 81 of 100: what the first attempts said.
    let decision = decide(Required { max_unjudged: 0.25, ..rate(0.8) }, &case(None), NEVER);
    assert_eq!(reason(&decision, "pass_rate").0, OPEN, "{:?}", decision.gates);
    let said = &reason(&decision, "pass_rate").1;
    assert!(said.contains(", 21 failed only after our side broke an attempt, which might have passed, "), "{said}");
    assert_eq!(decide(rate(0.9), &case(None), NEVER).verdict, FAIL, "even if all of them had passed");
    assert_eq!(decide(Required::default(), &case(Some(0.8)), NEVER).verdict, OPEN);
    assert_eq!(decide(Required::default(), &case(None), NEVER).verdict, FAIL, "every trial passes: it did fail");
    let floor = Required { case_pass_rate: Some(0.75), ..rate(0.3) };
    assert_eq!(decide(floor, &case(None), NEVER).cases, [OPEN]);
}

#[test]
fn the_run_is_decided_by_its_gates() {
    let default = Required::default();
    let by_case = |every, enough, judged| {
        vec![("every_case_passes", every), ("enough_evidence", enough), ("every_case_judged", judged)]
    };
    let by_rate = |rate, every, enough| {
        vec![("pass_rate", rate), ("case_pass_rate", every), ("enough_evidence", enough), ("every_case_judged", PASS)]
    };
    type Row = (&'static str, Required, Vec<CaseResult>, RunVerdict, Vec<(&'static str, RunVerdict)>);
    let rows: Vec<Row> = vec![
        ("nothing planned", default, vec![], OPEN, by_case(OPEN, OPEN, OPEN)),
        ("nothing played", lenient(0.5), vec![case(3, 0, 0, 0, 0, None)], OPEN, by_case(OPEN, OPEN, OPEN)),
        (
            "all passed",
            default,
            vec![case(2, 2, 0, 0, 0, None), case(1, 1, 0, 0, 0, None)],
            PASS,
            by_case(PASS, PASS, PASS),
        ),
        (
            "a failure outweighs missing evidence",
            default,
            vec![case(2, 1, 1, 0, 0, None), case(2, 0, 0, 2, 0, None)],
            FAIL,
            by_case(FAIL, OPEN, OPEN),
        ),
        (
            "missing evidence that is allowed",
            lenient(0.5),
            vec![case(2, 2, 0, 0, 0, None), case(2, 1, 0, 1, 0, None)],
            PASS,
            by_case(PASS, PASS, PASS),
        ),
        (
            "nothing judged is never enough",
            lenient(1.0),
            vec![case(2, 0, 0, 2, 0, None)],
            OPEN,
            by_case(OPEN, OPEN, OPEN),
        ),
        (
            "a rate that is met forgives failures",
            rate(0.75),
            vec![case(4, 3, 1, 0, 0, None)],
            PASS,
            by_rate(PASS, PASS, PASS),
        ),
        (
            "a collapsing agent cannot hide behind errors",
            rate(0.75),
            vec![case(4, 2, 0, 0, 2, None)],
            FAIL,
            by_rate(FAIL, PASS, PASS),
        ),
        (
            "a case's own rate applies in addition to the run's",
            rate(0.5),
            vec![case(4, 4, 0, 0, 0, None), case(4, 2, 2, 0, 0, Some(0.75))],
            FAIL,
            by_rate(PASS, FAIL, PASS),
        ),
    ];
    for (name, required, cases, verdict, gates) in rows {
        let found = decide(required, &cases, NEVER);
        assert_eq!(found.verdict, verdict, "{name}: {:?}", found.gates);
        let found: Vec<_> = found.gates.iter().map(|gate| (gate.name.as_str(), gate.verdict)).collect();
        assert_eq!(found, gates, "{name}");
    }
}

#[test]
fn reasons_say_what_was_found_and_what_was_asked() {
    let many: Vec<CaseResult> = (0..5).map(|_| case(2, 1, 1, 0, 0, None)).collect();
    let decision = decide(Required::default(), &many, NEVER);
    assert_eq!(decision.gates[0].reason, "of 5 cases, 5 failed (refund, refund, refund and 2 more)");
    let half = [case(4, 1, 1, 1, 0, None)];
    let decision = decide(Required { max_unjudged: 0.1, ..rate(0.955) }, &half, NEVER);
    assert_eq!(decision.gates[0].reason, "1 of 2 passed (50 %), 2 of 4 missing, required 95.5 % by point");
    assert_eq!(
        decision.gates[2].reason,
        "2 of 4 trials say nothing about the agent (1 not judged, 1 not played), allowed 10 %"
    );
    let own = [case(4, 1, 3, 0, 0, Some(0.5))];
    assert_eq!(
        decide(Required::default(), &own, NEVER).gates[0].reason,
        "of 1 case, 1 failed (refund: 1 of 4 passed, required 50 %)"
    );
    let errors = [case(4, 3, 0, 0, 1, Some(0.5))];
    let decision = decide(rate(0.7), &errors, NEVER);
    assert_eq!(
        decision.gates[0].reason,
        "3 of 4 passed (75 %), 1 ended with an error of the agent, required 70 % by point"
    );
    assert_eq!(decision.gates[1].reason, "the only case passed, with 1 failed trial that the required rates allow");
}

/// Stopped by Ctrl-C or by a used-up quota: there is more to come, so nothing is forgiven and the report does not say PASS.
#[test]
fn unplayed_trials_and_used_up_quotas_are_never_tolerated() {
    let forgiving = Required { max_unjudged: 0.99, max_unjudged_cases: 5, ..rate(0.1) };
    let interrupted = decide(forgiving, &[case(60, 20, 0, 0, 0, None)], NEVER);
    assert_eq!(interrupted.verdict, OPEN, "{:?}", interrupted.gates);
    assert_eq!(
        reason(&interrupted, "enough_evidence"),
        (
            OPEN,
            "40 of 60 trials say nothing about the agent (0 not judged, 40 not played), allowed 99 % once all trials have been played"
        )
    );
    let quota = |out_of_quota| {
        let mut broken = case(10, 5, 0, 0, 0, None);
        broken.counts.error = 5;
        decide(Required { max_unjudged: 0.6, ..rate(0.3) }, &[broken], Unforgivable { out_of_quota, ..NEVER })
    };
    assert_eq!(quota(0).verdict, PASS, "a judge that failed is forgiven");
    assert_eq!(quota(1).verdict, OPEN);
    let said = reason(&quota(1), "enough_evidence").1.to_owned();
    assert!(said.ends_with("allowed 60 % once the trials that a used-up quota broke have been played"), "{said}");
    assert_eq!(
        decide(forgiving, &[case(60, 0, 59, 0, 0, None)], NEVER).verdict,
        FAIL,
        "what is missing cannot save it"
    );
}

#[test]
fn a_missing_judge_is_never_forgiven() {
    let lenient = Required { max_unjudged: 0.9, ..rate(0.5) };
    let skipped = |pass, fail| {
        let counts = Counts { pass, fail, skipped: 2, ..Counts::default() };
        [CaseResult { name: "refund".into(), planned: 2 + pass + fail, counts, required_pass_rate: None }]
    };
    assert_eq!(decide(lenient, &skipped(2, 0), NEVER).verdict, PASS, "programs that were not allowed may be forgiven");
    let decision = decide(lenient, &skipped(2, 0), Unforgivable { without_judge: 2, ..NEVER });
    assert_eq!(decision.verdict, OPEN);
    assert_eq!(reason(&decision, "judge_available").1, "2 trials were skipped because no judge could be asked");
    assert_eq!(
        decide(lenient, &skipped(0, 6), Unforgivable { without_judge: 2, ..NEVER }).verdict,
        FAIL,
        "what was judged still counts"
    );
}

/// Pass, fail, agent errors and missing of a case, and its own rate in tenths.
type Drawn = ((u64, u64, u64, u64), Option<u32>);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let counts = (0_u64..8, 0_u64..4, 0_u64..3, 0_u64..4)
        .prop_map(|(pass, fail, errors, open)| (pass, fail, errors, open.max(u64::from(pass + fail + errors == 0))));
    proptest::collection::vec((counts, proptest::option::of(0_u32..=10)), 1..7)
}

fn required() -> impl Strategy<Value = Required> {
    let tenths = || proptest::option::of((0_u32..=10).prop_map(|tenths| f64::from(tenths) / 10.0));
    (tenths(), tenths(), 0_u32..=20, 0_u64..3).prop_map(|(pass_rate, case_pass_rate, percent, max_unjudged_cases)| {
        Required { pass_rate, case_pass_rate, max_unjudged: f64::from(percent) / 100.0, max_unjudged_cases }
    })
}

fn cases(drawn: &[Drawn]) -> Vec<CaseResult> {
    let one = |((pass, fail, errors, open), own): &Drawn| {
        let own = own.map(|tenths| f64::from(tenths) / 10.0);
        case(pass + fail + errors + open, *pass, *fail, 0, *errors, own)
    };
    drawn.iter().map(one).collect()
}

/// Every missing trial is played: so many of each case pass, the others fail.
fn completed(drawn: &[Drawn], passing: &[u64]) -> Vec<CaseResult> {
    let complete = |(((pass, fail, errors, open), own), passing): (&Drawn, &u64)| {
        let more = passing % (open + 1);
        ((pass + more, fail + open - more, *errors, 0), *own)
    };
    cases(&drawn.iter().zip(passing).map(complete).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_fail_is_one_that_more_evidence_could_have_turned_into_a_pass(
        drawn in drawn(), required in required(), passing in proptest::collection::vec(any::<u64>(), 7),
    ) {
        let before = decide(required, &cases(&drawn), NEVER);
        let after = decide(required, &completed(&drawn, &passing), NEVER);
        if before.verdict == FAIL {
            prop_assert_eq!(after.verdict, FAIL, "{:?} {:?}", before.gates, after.gates);
        }
        for (before, after) in before.cases.iter().zip(&after.cases) {
            prop_assert!(*before != FAIL || *after == FAIL);
        }
        prop_assert_ne!(after.verdict, OPEN, "{:?}", after.gates);
    }

    #[test]
    fn no_pass_is_one_that_more_evidence_could_have_turned_into_a_fail_unless_that_is_forgiven(
        drawn in drawn(), required in required(), passing in proptest::collection::vec(any::<u64>(), 7),
    ) {
        let required = Required { max_unjudged: 0.0, ..required };
        let (before, after) = (decide(required, &cases(&drawn), NEVER), decide(required, &completed(&drawn, &passing), NEVER));
        prop_assert!(before.verdict != PASS || after.verdict == PASS);
        for (before, after) in before.cases.iter().zip(&after.cases) {
            prop_assert!(*before != PASS || *after == PASS);
        }
    }

    /// A pass instead of a failure, or of a missing trial, never makes a verdict worse.
    #[test]
    fn verdicts_are_monotone(drawn in drawn(), required in required(), which in any::<prop::sample::Index>()) {
        let worth = |verdict| match verdict { FAIL => 0, OPEN => 1, PASS => 2 };
        let before = decide(required, &cases(&drawn), NEVER);
        let index = which.index(drawn.len());
        let ((pass, fail, errors, open), own) = drawn[index];
        for better in [
            (fail > 0).then(|| (pass + 1, fail - 1, errors, open)),
            (errors > 0).then(|| (pass + 1, fail, errors - 1, open)),
            (open > 0).then(|| (pass + 1, fail, errors, open - 1)),
        ].into_iter().flatten() {
            let mut changed = drawn.clone();
            changed[index] = (better, own);
            let after = decide(required, &cases(&changed), NEVER);
            prop_assert!(worth(after.verdict) >= worth(before.verdict), "{:?} {:?}", before.gates, after.gates);
        }
    }

    #[test]
    fn a_run_passes_if_all_passed_and_is_open_if_nothing_was_judged(
        planned in proptest::collection::vec(1_u64..6, 1..8), required in required(),
    ) {
        let all: Vec<_> = planned.iter().map(|planned| case(*planned, *planned, 0, 0, 0, None)).collect();
        prop_assert_eq!(decide(required, &all, NEVER).verdict, PASS);
        let none: Vec<_> = planned.iter().map(|planned| case(*planned, 0, 0, *planned, 0, None)).collect();
        prop_assert_eq!(decide(required, &none, NEVER).verdict, OPEN);
    }
}

#[test]
fn too_many_faults_of_the_simulated_user_leave_a_run_undecided() {
    for (faulty, trials, verdict, reason) in [
        (0, 0, RunVerdict::Pass, "no trial has a simulated user"),
        (5, 100, RunVerdict::Pass, "the simulated user was at fault in 5 of 100 trials (5 %), allowed 5 %"),
        (6, 100, RunVerdict::Inconclusive, "the simulated user was at fault in 6 of 100 trials (6 %), allowed 5 %"),
    ] {
        let gate = simulator_faults(0.05, faulty, trials);
        assert_eq!((gate.name.as_str(), gate.verdict, gate.reason.as_str()), ("max_simulator_faults", verdict, reason));
        for before in [RunVerdict::Pass, RunVerdict::Inconclusive, RunVerdict::Fail] {
            let decision = Decision { gates: Vec::new(), verdict: before, cases: Vec::new() };
            let keeps = before == RunVerdict::Fail || verdict == RunVerdict::Pass;
            let expected = if keeps { before } else { verdict };
            let after = decision.and(gate.clone());
            assert_eq!((after.verdict, after.gates.len()), (expected, 1));
        }
    }
}
