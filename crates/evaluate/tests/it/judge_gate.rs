//! Which judges decide under `gates.judges`, also within another check, and what an inner judge's open answers mean.

use evaluate::Evaluator;
use record::{FailureKind, Finding, Judgment, turn::ToolCall};
use scenario::{
    Check,
    check::{Expected, Rule},
    plan::{Agreeing, JudgeGate, MeasuredJudges},
};

use crate::{
    fakes::{Judges, Scene, asks, check, judged, turn, unreachable},
    rows::read,
};

/// One vote of a judge.
fn measured(judge: &str, kappa: f64, date: &str) -> MeasuredJudges {
    MeasuredJudges {
        judges: vec![judge.to_owned()],
        ballots: 1,
        kappa,
        sensitivity: Agreeing::default(),
        specificity: Agreeing::default(),
        date: date.to_owned(),
        criteria: Vec::new(),
    }
}

/// A judge that is not measured, or not good enough, only informs.
#[tokio::test]
async fn only_calibrated_judges_decide() {
    let asked = async |gate: Option<JudgeGate>, required: bool| {
        let judges = Judges::saying([judged("no", 0.1)]).with_gate(gate);
        let check = Check { required, ..check(Rule::LlmJudge(asks("Is it polite?", Expected::Yes))) };
        let evaluator = evaluate::compile(&check).unwrap();
        let judgment = Scene::replied("Hello there.").judge_by(&evaluator, &judges).await;
        assert_eq!(judgment.finding, Finding::Fail);
        (judgment.required, judgment.jury.unwrap(), judgment.ballots[0].judge.clone())
    };
    let (required, jury, judge) = asked(None, true).await;
    assert_eq!((required, jury.words, jury.uncalibrated), (true, 2, None));
    let gate = |kappa: f64| {
        let measured = measured(&judge, kappa, "2026-11-23");
        JudgeGate { min_kappa: Some(0.6), measured: vec![measured] }
    };
    let (required, jury, _) = asked(Some(gate(0.6)), true).await;
    assert_eq!((required, jury.uncalibrated), (true, None));
    let (required, jury, _) = asked(Some(gate(0.59)), true).await;
    assert!(!required && jury.uncalibrated.as_ref().unwrap().contains("its kappa was 0.590 on 2026-11-23"), "{jury:?}");
    let nobody = JudgeGate { min_kappa: Some(0.6), measured: Vec::new() };
    let (required, jury, _) = asked(Some(nobody.clone()), true).await;
    assert!(!required && jury.uncalibrated.as_ref().unwrap().contains("is not calibrated"), "{jury:?}");
    let (required, jury, _) = asked(Some(nobody), false).await;
    assert_eq!((required, jury.uncalibrated), (false, None), "the scenario says that it only informs");
}

/// A measurement is about a number of votes, so three votes are another judge for the gate.
const JUDGED: &str = "{type: semantic_condition, condition: It is polite}";
const JUDGED_BY_3: &str = "{type: semantic_condition, condition: It is polite, votes: 3}";
const HOLDS: &str = "{type: contains, values: [Please]}";
const FAILS: &str = "{type: contains, values: [Never]}";

/// A check with inner checks of the text "Please".
const ANY_OF: &str = "type: any_of\nchecks: [CHECKS]";
const JSON_CHECK: &str = "type: json_check\nfields:\n  note: [CHECKS]";
const JSON_PATH: &str = "type: json_path\npath: $.note\nchecks: [CHECKS]";
const CAPTURES: &str = "type: regex_match\npattern: 'note\": \"(?<note>[^\"]*)'\ncaptures: {note: [CHECKS]}";
const EXPECTED: &str =
    "type: tool_calls\ncalls:\n  - name: refund\n    partial: true\n    argument_checks: {note: [CHECKS]}";
const FORBIDDEN: &str = "type: tool_calls\norder: forbidden\ncalls:\n  - name: refund\n    partial: true\n    argument_checks: {note: [CHECKS]}";

/// All inner checks must hold.
const ALL: [&str; 4] = [JSON_CHECK, JSON_PATH, CAPTURES, EXPECTED];

fn within(outer: &str, inner: &[&str]) -> Evaluator {
    evaluate::compile(&read(&outer.replace("CHECKS", &inner.join(", ")))).unwrap()
}

async fn judgment(outer: &str, inner: &[&str], replies: &[&str], gate: Option<JudgeGate>) -> Judgment {
    let replies = replies.iter().map(|reply| match *reply {
        "unreachable" => Err(unreachable()),
        word => Ok(judged(word, if word == "no" { 0.1 } else { 0.9 })),
    });
    let judges = Judges::answering(replies).with_gate(gate);
    let mut turn = turn("Hello", r#"{"note": "Please"}"#);
    let arguments = r#"{"note": "Please"}"#.to_owned();
    turn.tool_calls = vec![ToolCall { id: "1".to_owned(), name: "refund".to_owned(), arguments, result: None }];
    let scene = Scene { turns: vec![turn], ..Scene::replied(r#"{"note": "Please"}"#) };
    scene.judge_by(&within(outer, inner), &judges).await
}

/// The gate that one vote of the judge passes, and three votes do not.
async fn one_vote_is_measured() -> JudgeGate {
    let ballots = judgment(ANY_OF, &[JUDGED], &["yes"], None).await.ballots;
    let measured = measured(&ballots[0].judge, 0.9, "2026-11-23");
    JudgeGate { min_kappa: Some(0.6), measured: vec![measured] }
}

/// The gate applies to the judges that decide, by their own number of votes. Each vote is in the record.
#[tokio::test]
async fn judges_within_a_check_decide_only_if_they_are_calibrated() {
    use Finding::{Error, Fail, Inconclusive, Pass};
    let gate = one_vote_is_measured().await;
    const NO: &[&str] = &["no", "no", "no"];
    const YES: &[&str] = &["yes", "yes", "yes"];
    // Outer check, inner checks, replies, finding, whether it counts, votes.
    type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a str], Finding, bool, usize);
    let mut rows: Vec<Row<'_>> = vec![
        (ANY_OF, &[JUDGED], &["yes"], Pass, true, 1),
        (ANY_OF, &[FAILS, JUDGED], &["no"], Fail, true, 1),
        (ANY_OF, &[JUDGED_BY_3], YES, Pass, false, 3),
        (ANY_OF, &[FAILS, JUDGED_BY_3], NO, Fail, false, 3),
        (ANY_OF, &[JUDGED_BY_3, HOLDS], &[], Pass, true, 0),
        // A judge that is measured decides, whatever the others find.
        (ANY_OF, &[JUDGED_BY_3, JUDGED], &["no", "no", "no", "yes"], Pass, true, 4),
        (ANY_OF, &[JUDGED_BY_3, JUDGED], &["yes", "yes", "yes", "yes"], Pass, true, 4),
        (ANY_OF, &[JUDGED_BY_3, JUDGED], &["yes", "yes", "yes", "no"], Pass, false, 4),
        // A judge that fails counts, measured or not.
        (ANY_OF, &[JUDGED, JUDGED_BY_3], &["unreachable", "no", "no", "no"], Error, true, 3),
        (FORBIDDEN, &[JUDGED], &["yes"], Fail, true, 1),
        (FORBIDDEN, &[JUDGED], &["no"], Pass, true, 1),
        (FORBIDDEN, &[JUDGED_BY_3], YES, Fail, false, 3),
        (FORBIDDEN, &[JUDGED_BY_3], NO, Pass, false, 3),
        (FORBIDDEN, &[JUDGED_BY_3, FAILS], YES, Pass, true, 3),
    ];
    for outer in ALL {
        rows.extend::<[Row<'_>; 9]>([
            (outer, &[HOLDS, JUDGED], &["yes"], Pass, true, 1),
            (outer, &[HOLDS, JUDGED], &["no"], Fail, true, 1),
            (outer, &[HOLDS, JUDGED_BY_3], YES, Pass, false, 3),
            (outer, &[HOLDS, JUDGED_BY_3], NO, Fail, false, 3),
            (outer, &[JUDGED, JUDGED_BY_3], &["yes", "yes", "yes", "yes"], Pass, false, 4),
            (outer, &[JUDGED_BY_3, FAILS], NO, Fail, true, 3),
            (outer, &[JUDGED_BY_3, JUDGED], &["yes", "yes", "yes", "no"], Fail, true, 4),
            (outer, &[JUDGED_BY_3, JUDGED], &["yes", "yes", "yes", "cannot_tell"], Inconclusive, true, 4),
            (outer, &[JUDGED_BY_3, JUDGED], &["cannot_tell"; 4], Inconclusive, true, 4),
        ]);
    }
    for (outer, inner, replies, finding, counts, votes) in rows {
        let judgment = judgment(outer, inner, replies, Some(gate.clone())).await;
        let shown = format!("{outer}\n{inner:?} {replies:?}\n=> {judgment:?}");
        assert_eq!((judgment.finding, judgment.required, judgment.ballots.len()), (finding, counts, votes), "{shown}");
        assert_eq!(judgment.jury.is_some(), votes > 0, "{shown}");
        let why = judgment.jury.and_then(|jury| jury.uncalibrated);
        assert_eq!(why.is_none(), counts, "{shown}");
        assert!(why.is_none_or(|why| why.contains("with 3 votes is not calibrated")), "{shown}");
    }
}

/// The number of votes is the inner check's, not that of the check around it.
#[tokio::test]
async fn the_votes_of_an_inner_check_are_its_own() {
    let mut gate = one_vote_is_measured().await;
    gate.measured[0].ballots = 3;
    for outer in ALL.into_iter().chain([ANY_OF, FORBIDDEN]) {
        for (inner, counts) in [(JUDGED_BY_3, true), (JUDGED, false)] {
            let replies = &["yes"; 3][..if counts { 3 } else { 1 }];
            let judgment = judgment(outer, &[inner], replies, Some(gate.clone())).await;
            assert_eq!(judgment.required, counts, "{outer} {inner} {judgment:?}");
        }
    }
}

/// A measured judge that cannot tell counts, although an unmeasured one cannot tell either.
#[tokio::test]
async fn of_undecided_calls_the_one_that_counts_is_reported() {
    let gate = one_vote_is_measured().await;
    let call = "\n  - name: refund\n    partial: true\n    argument_checks: {note: [CHECKS]}";
    let outer = format!("{}{}", FORBIDDEN.replace("CHECKS", JUDGED_BY_3), call);
    let judgment = judgment(&outer, &[JUDGED], &["cannot_tell"; 4], Some(gate)).await;
    assert_eq!((judgment.finding, judgment.required, judgment.ballots.len()), (Finding::Inconclusive, true, 4));
}

/// Calls that no judge needs to be asked about decide although an unmeasured judge was asked about others.
#[tokio::test]
async fn calls_that_fail_without_a_judge_fail_the_check() {
    let gate = one_vote_is_measured().await;
    let outer = format!("{EXPECTED}\n  - name: cancel");
    let judgment = judgment(&outer, &[JUDGED_BY_3], &["yes", "yes", "yes"], Some(gate)).await;
    assert_eq!((judgment.finding, judgment.required, judgment.ballots.len()), (Finding::Fail, true, 3));
    assert!(judgment.reason.contains("no call of \"cancel\""), "{}", judgment.reason);
    assert_eq!(judgment.ballots[0].criterion, "call 1: argument `note`");
}

/// The votes name the part of the check that they are about.
#[tokio::test]
async fn votes_within_a_check_name_their_place() {
    let rows = [
        (ANY_OF, "semantic_condition"),
        (JSON_CHECK, "`note`"),
        (JSON_PATH, "`$.note`"),
        (CAPTURES, "the group `note`"),
        (EXPECTED, "call 1: argument `note`"),
    ];
    for (outer, place) in rows {
        for reply in ["yes", "no"] {
            let judgment = judgment(outer, &[JUDGED], &[reply], None).await;
            let votes: Vec<_> =
                judgment.ballots.iter().map(|it| (it.criterion.as_str(), it.verdict.as_str())).collect();
            assert_eq!(votes, [(place, reply)], "{outer}");
        }
    }
}

/// Within another check an open answer makes it inconclusive, unless another branch decides.
#[tokio::test]
async fn open_answers_within_a_check_leave_it_undecided() {
    use Finding::{Fail, Inconclusive, Pass};
    for (open, why) in [("not_applicable", "does not apply"), ("cannot_tell", "cannot tell")] {
        let mut rows: Vec<(&str, &[&str], Finding)> = vec![
            (ANY_OF, &[JUDGED], Inconclusive),
            (ANY_OF, &[JUDGED, FAILS], Inconclusive),
            (FORBIDDEN, &[JUDGED], Inconclusive),
            (FORBIDDEN, &[HOLDS, JUDGED], Inconclusive),
            (FORBIDDEN, &[JUDGED, FAILS], Pass),
        ];
        for outer in ALL {
            rows.extend::<[(&str, &[&str], Finding); 3]>([
                (outer, &[JUDGED], Inconclusive),
                (outer, &[HOLDS, JUDGED], Inconclusive),
                (outer, &[JUDGED, FAILS], Fail),
            ]);
        }
        for (outer, inner, finding) in rows {
            let judgment = judgment(outer, inner, &[open], None).await;
            let shown = format!("{outer}\n{inner:?} {open}\n=> {judgment:?}");
            assert_eq!((judgment.finding, judgment.ballots.len()), (finding, 1), "{shown}");
            if finding == Inconclusive {
                assert_eq!(judgment.failure, Some(FailureKind::Undecided), "{shown}");
                assert!(judgment.reason.contains(why), "{shown}");
            }
        }
        let judgment = judgment(ANY_OF, &[JUDGED, JUDGED], &[open, "yes"], None).await;
        assert_eq!((judgment.finding, judgment.ballots.len()), (Pass, 2));
    }
}

/// The check, the answers of models, what was measured, whether the judgment decides, its votes, and what is missing.
type Row<'a> = (&'a str, &'a [&'a str], Option<&'a JudgeGate>, bool, usize, &'a str);

/// A model that replaces a function is a judge. So is one that gives a score, and no measurement is about scores.
#[tokio::test]
async fn functions_and_scores_of_a_judge_count_if_it_is_measured() {
    const CALL: &str = "type: call\nplugin: Shop\nfunction: Intent\nchecks: [{type: equals, values: [refund]}]";
    const CALL_JUDGED: &str = "type: call\nplugin: Shop\nfunction: Intent\nchecks: [CHECKS]";
    const SIMILAR: &str = "type: similarity\nexpected: [Hello]";
    const WITHIN: &str = "type: any_of\nchecks: [{type: similarity, expected: [Hello]}]";
    let result = r#"{"result": "refund"}"#;
    let alike = r#"{"similarity": 0.9}"#;
    let measured = one_vote_is_measured().await;
    let nobody = JudgeGate { min_kappa: Some(0.6), measured: Vec::new() };
    let judged_by_3 = CALL_JUDGED.replace("CHECKS", JUDGED_BY_3);
    let yes = judged("yes", 0.9);
    let rows: [Row<'_>; 8] = [
        (CALL, &[result], None, true, 1, ""),
        (CALL, &[result], Some(&measured), true, 1, ""),
        (CALL, &[result], Some(&nobody), false, 1, "with 1 votes is not calibrated"),
        (&judged_by_3, &[result, &yes, &yes, &yes], Some(&measured), false, 4, "with 3 votes is not calibrated"),
        (SIMILAR, &[alike], None, true, 1, ""),
        (SIMILAR, &[alike], Some(&measured), false, 1, "choose another model in `scores`"),
        (WITHIN, &[alike], None, true, 1, ""),
        (WITHIN, &[alike], Some(&measured), false, 1, "choose another model in `scores`"),
    ];
    for (kind, replies, gate, counts, votes, why) in rows {
        let judges = Judges::saying(replies.iter().copied()).with_gate(gate.cloned());
        let judgment = Scene::replied("Hi.").judge_by(&evaluate::compile(&read(kind)).unwrap(), &judges).await;
        let shown = format!("{kind} {gate:?}\n=> {judgment:?}");
        assert_eq!((judgment.finding, judgment.required), (Finding::Pass, counts), "{shown}");
        assert_eq!(judgment.ballots.len(), votes, "{shown}");
        let found = judgment.jury.unwrap().uncalibrated.unwrap_or_default();
        assert!(found.contains(why) && found.is_empty() == why.is_empty(), "{shown}");
    }
}
