use super::*;

fn judgments(findings: &[Finding]) -> Vec<Judgment> {
    findings
        .iter()
        .map(|finding| Judgment {
            check: "string_contains".into(),
            name: None,
            description: None,
            scope: Scope::Turn { step: 1, turn: 2 },
            finding: *finding,
            score: None,
            reason: "because".into(),
            evidence: None,
            failure: None,
            line: 1,
            required: true,
            weight: 1.0,
            ballots: Vec::new(),
            jury: None,
            custom: None,
        })
        .collect()
}

#[test]
fn the_table_of_folds() {
    use Finding::{Error as E, Fail as F, Inconclusive as I, Pass as P};
    use Strategy::{AllPass, AnyPass};
    let rows: [(Strategy, &[Finding], Verdict); 16] = [
        (AllPass, &[], Verdict::Inconclusive),
        (AllPass, &[P], Verdict::Pass),
        (AllPass, &[P, P], Verdict::Pass),
        (AllPass, &[P, F], Verdict::Fail),
        (AllPass, &[E, I, F, P], Verdict::Fail),
        (AllPass, &[P, I], Verdict::Inconclusive),
        (AllPass, &[I, E], Verdict::Error),
        (AllPass, &[P, E], Verdict::Error),
        (AnyPass, &[], Verdict::Inconclusive),
        (AnyPass, &[F, P], Verdict::Pass),
        (AnyPass, &[E, I, P], Verdict::Pass),
        (AnyPass, &[F, F], Verdict::Fail),
        (AnyPass, &[F, I], Verdict::Inconclusive),
        (AnyPass, &[F, E], Verdict::Error),
        (AnyPass, &[I, E, F], Verdict::Error),
        (AnyPass, &[P], Verdict::Pass),
    ];
    for (strategy, findings, expected) in rows {
        let (verdict, failure) = fold(strategy, &judgments(findings));
        assert_eq!(verdict, expected, "{strategy:?} over {findings:?}");
        assert_eq!(failure.is_none(), verdict == Verdict::Pass, "only a PASS needs no reason: {findings:?}");
    }
}

#[test]
fn informing_judgments_are_ignored() {
    use Finding::{Error as E, Fail as F, Pass as P};
    // The first judgment only informs.
    let rows: [(Strategy, &[Finding], Verdict); 5] = [
        (Strategy::AllPass, &[F, P], Verdict::Pass),
        (Strategy::AllPass, &[E, P], Verdict::Pass),
        (Strategy::AllPass, &[P, F], Verdict::Fail),
        (Strategy::AnyPass, &[P, F], Verdict::Fail),
        (Strategy::AnyPass, &[P], Verdict::Inconclusive),
    ];
    for (strategy, findings, expected) in rows {
        let mut judgments = judgments(findings);
        judgments[0].required = false;
        assert_eq!(fold(strategy, &judgments).0, expected, "{strategy:?} over {findings:?}");
    }
    let mut judgments = judgments(&[F]);
    judgments[0].required = false;
    let broken = Failure::new(FailureKind::AgentTimeout, "no reply");
    assert_eq!(conclude(Strategy::AllPass, None, false, &judgments, Some(broken)).0, Verdict::Error);
}

#[test]
fn a_missing_judge_skips_a_trial_that_did_not_fail() {
    use Finding::{Error as E, Fail as F, Pass as P};
    for (findings, expected) in [(&[P, E][..], Verdict::Skipped), (&[F, E], Verdict::Fail)] {
        let mut judgments = judgments(findings);
        judgments[1].failure = Some(FailureKind::JudgeMissing);
        assert_eq!(conclude(Strategy::AllPass, None, false, &judgments, None).0, expected, "{findings:?}");
    }
}

#[test]
fn weights_decide_if_a_score_is_required() {
    use Finding::{Error as E, Fail as F, Inconclusive as I, Pass as P};
    type Row<'a> = (f64, &'a [(Finding, f64)], Verdict);
    let rows: [Row<'_>; 10] = [
        (0.7, &[], Verdict::Inconclusive),
        (0.7, &[(P, 0.0)], Verdict::Inconclusive),
        (0.7, &[(P, 7.0), (F, 3.0)], Verdict::Pass),
        (0.7, &[(P, 6.9), (F, 3.1)], Verdict::Fail),
        (0.3, &[(P, 0.1), (P, 0.2), (F, 0.7)], Verdict::Pass),
        (0.5, &[(P, 1.0), (E, 1.0)], Verdict::Pass),
        (0.7, &[(P, 1.0), (E, 1.0)], Verdict::Error),
        (0.7, &[(P, 2.0), (I, 1.0), (F, 1.0)], Verdict::Inconclusive),
        (0.9, &[(P, 2.0), (I, 1.0), (F, 1.0)], Verdict::Fail),
        (0.0, &[(F, 1.0)], Verdict::Pass),
    ];
    for (share, weighed, expected) in rows {
        let mut judgments = judgments(&weighed.iter().map(|(finding, _)| *finding).collect::<Vec<_>>());
        for (judgment, (_, weight)) in judgments.iter_mut().zip(weighed) {
            judgment.weight = *weight;
        }
        let (verdict, failure) = conclude(Strategy::AnyPass, Some(share), false, &judgments, None);
        assert_eq!((verdict, failure.is_none()), (expected, expected == Verdict::Pass), "{share} {weighed:?}");
        let broken = Failure::new(FailureKind::AgentTimeout, "no reply");
        assert_eq!(conclude(Strategy::AllPass, Some(share), false, &judgments, Some(broken)).0, Verdict::Error);
    }
}

#[test]
fn a_weighted_score_is_the_share_of_the_weight_that_passed() {
    use Finding::{Error as E, Fail as F, Pass as P};
    let mut all = judgments(&[P, F, E, P]);
    assert_eq!(weighted_score(&all), None, "one weighs as much as the other");
    for (judgment, weight) in all.iter_mut().zip([3.0, 1.0, 1.0, 5.0]) {
        judgment.weight = weight;
    }
    all[3].required = false;
    assert_eq!(weighted_score(&all), Some(0.6));
    all.iter_mut().for_each(|judgment| judgment.weight = 0.0);
    assert_eq!(weighted_score(&all), None);
}

#[test]
fn judgments_that_do_not_apply_do_not_count() {
    use Finding::{Error, Fail, NotApplicable, Pass};
    for (findings, expected) in [
        (&[NotApplicable][..], Verdict::Inconclusive),
        (&[NotApplicable, Pass], Verdict::Pass),
        (&[NotApplicable, Fail], Verdict::Fail),
        (&[NotApplicable, Error], Verdict::Error),
    ] {
        let judgments = judgments(findings);
        for strategy in [Strategy::AllPass, Strategy::AnyPass] {
            assert_eq!(fold(strategy, &judgments).0, expected, "{findings:?}");
        }
        assert_eq!(weigh(1.0, &judgments).0, expected, "{findings:?}");
    }
    let (_, failure) = fold(Strategy::AllPass, &judgments(&[NotApplicable]));
    assert_eq!(failure.map(|failure| failure.kind), Some(FailureKind::NothingJudged));
}

#[test]
fn a_failure_names_the_step_the_turn_and_the_blame() {
    let (_, failure) = fold(Strategy::AllPass, &judgments(&[Finding::Pass, Finding::Fail]));
    let failure = failure.unwrap();
    assert_eq!((failure.kind, failure.blame, failure.turn), (FailureKind::CheckFailed, Blame::Agent, Some(2)));
    assert_eq!(failure.step, Some(1));
    let mut of_a_step = judgments(&[Finding::Fail]);
    of_a_step[0].scope = Scope::Step { step: 3 };
    let failure = fold(Strategy::AllPass, &of_a_step).1.unwrap();
    assert_eq!((failure.step, failure.turn), (Some(3), None));
}

#[test]
fn an_aborted_trial_is_an_error_unless_it_had_failed() {
    let agent = Failure::new(FailureKind::AgentTimeout, "no reply");
    let simulator = Failure::new(FailureKind::SimulatorFailed, "no line");
    let skipped = Failure::new(FailureKind::ExecutionNotAllowed, "off");
    let all = |findings: &[Finding], broken: &Failure| {
        conclude(Strategy::AllPass, None, false, &judgments(findings), Some(broken.clone())).0
    };
    assert_eq!(all(&[Finding::Pass], &agent), Verdict::Error);
    assert_eq!(all(&[Finding::Fail], &agent), Verdict::Fail);
    // A decided FAIL stays a FAIL, whatever fails afterwards; only a cancelled trial is played again.
    assert_eq!(all(&[Finding::Fail], &simulator), Verdict::Fail);
    for kind in [FailureKind::JudgeFailed, FailureKind::HookFailed, FailureKind::JudgeMissing] {
        assert_eq!(all(&[Finding::Fail, Finding::Pass], &Failure::new(kind, "gone")), Verdict::Fail);
    }
    assert_eq!(all(&[Finding::Pass], &simulator), Verdict::Error);
    for kind in [FailureKind::EvidenceNotFound, FailureKind::JudgeTruncated, FailureKind::Undecided] {
        assert_eq!(all(&[Finding::Pass], &Failure::new(kind, "a stop condition")), Verdict::Inconclusive, "{kind:?}");
    }
    assert_eq!(all(&[Finding::Fail], &Failure::new(FailureKind::Cancelled, "stop")), Verdict::Cancelled);
    assert_eq!(all(&[], &skipped), Verdict::Skipped);
    assert_eq!(all(&[], &Failure::new(FailureKind::JudgeMissing, "no key")), Verdict::Skipped);
    assert_eq!(conclude(Strategy::AnyPass, None, false, &judgments(&[Finding::Pass]), Some(agent)).0, Verdict::Error);
}

#[test]
fn a_negative_control_exchanges_pass_and_fail_only() {
    assert_eq!(invert(Verdict::Pass, None).0, Verdict::Fail);
    assert_eq!(invert(Verdict::Fail, None), (Verdict::Pass, None));
    assert_eq!(invert(Verdict::Error, None).0, Verdict::Error);
    let died = Failure::new(FailureKind::AgentUnreachable, "gone");
    for findings in [&[][..], &[Finding::Fail], &[Finding::Pass]] {
        let (verdict, failure) = conclude(Strategy::AllPass, None, true, &judgments(findings), Some(died.clone()));
        assert_eq!((verdict, failure), (Verdict::Error, Some(died.clone())), "a dead agent proves nothing");
    }
    assert_eq!(conclude(Strategy::AllPass, None, true, &judgments(&[Finding::Fail]), None), (Verdict::Pass, None));
    assert_eq!(conclude(Strategy::AllPass, None, true, &judgments(&[Finding::Pass]), None).0, Verdict::Fail);
}
