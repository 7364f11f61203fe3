//! Faults of the simulated user: refused drafts, and trials that say nothing about the agent.

use std::sync::atomic::{AtomicUsize, Ordering};

use record::user_fault::FaultKind;

use super::*;

const FLIP: &str = "How can I help you today?";
const INVENTED: &str = "It is for order Q-12345.";
const CLEAN: &str = "And tomorrow?";

/// A user that gives these drafts, one a call, and the last one again and again.
fn drafting(drafts: &'static [&'static str]) -> FakeModel {
    let calls = AtomicUsize::new(0);
    FakeModel::new("user_sim", move |_| {
        Ok(drafts[calls.fetch_add(1, Ordering::Relaxed).min(drafts.len() - 1)].to_owned())
    })
}

/// A conversation of two turns, which passes if the agent says "sunny".
fn conversation(gabfest: Value) -> Value {
    let user = json!({ "persona": "a traveller", "objective": "learn the weather", "gabfest": gabfest });
    let talk = talk(json!({
        "max_turns": 2, "user_simulator": user, "turn_evaluations": [contains("sunny")],
    }));
    scenario(json!([talk]), json!({}))
}

/// Looks up each order that the user names.
fn looking_up(says: &'static str) -> Arc<FakeAgent> {
    FakeAgent::new(move |_, said| {
        let arguments = said.split_whitespace().find(|word| word.starts_with("Q-")).unwrap_or("none");
        let call = record::turn::ToolCall {
            id: "1".to_owned(),
            name: "find".to_owned(),
            arguments: json!({ "order": arguments.trim_end_matches('.') }).to_string(),
            result: None,
        };
        Does::Replies(Box::new(agent::Reply {
            text: says.to_owned(),
            tool_calls: vec![call],
            tries: 1,
            ..agent::Reply::default()
        }))
    })
}

/// The kind, the number of lines with a refused draft, and the number of sent lines.
fn counts(played: &Played) -> Vec<(FaultKind, u32, u32)> {
    let user = played.trial.user.as_ref().unwrap();
    user.faults.iter().map(|count| (count.kind, count.refused, count.sent)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_faulty_draft_goes_back_with_its_reason_and_the_agent_never_sees_it() {
    let cast = Cast::new(FakeAgent::saying("sunny"), drafting(&[FLIP, CLEAN]), FakeModel::saying("judge", YES));
    let played = first(&conversation(json!({})), &cast).await;
    assert_eq!(played.end(), (Verdict::Pass, None));
    assert_eq!(cast.agent.heard(), ["How is the weather?", CLEAN]);
    let simulated = played.turns[1].simulated.as_deref().unwrap();
    assert_eq!((simulated.sent_back, simulated.faults.len()), (1, 1));
    assert_eq!((simulated.faults[0].kind, simulated.faults[0].sent), (FaultKind::RoleFlip, false));
    assert_eq!(counts(&played), [(FaultKind::RoleFlip, 1, 0)]);
    let asked = cast.user_sim.asked.lock().unwrap();
    let card = &asked[1].messages.last().unwrap().content;
    assert!(card.contains("speaks as the other side") && !card.contains(FLIP), "{card}");
    assert_ne!(asked[0].seed, asked[1].seed);
}

#[tokio::test(start_paused = true)]
async fn three_drafts_with_a_critical_fault_end_the_trial_by_our_fault() {
    // A check that failed before decides, as for any other failure of the user's model.
    for (word, verdict, kind) in
        [("sunny", Verdict::Error, FailureKind::SimulatorFailed), ("rain", Verdict::Fail, FailureKind::CheckFailed)]
    {
        let cast = Cast::new(FakeAgent::saying(word), drafting(&[FLIP]), FakeModel::saying("judge", YES));
        let played = first(&conversation(json!({})), &cast).await;
        let failure = played.trial.failure.clone().unwrap();
        assert_eq!((played.trial.verdict, failure.kind), (verdict, kind));
        assert_eq!((cast.user_sim.times_asked(), cast.agent.heard().len()), (3, 1));
        assert_eq!(counts(&played), [(FaultKind::RoleFlip, 1, 0)]);
        if kind == FailureKind::SimulatorFailed {
            let expected = "the simulated user was at fault in 3 drafts: role_flip (how can i help you)";
            assert_eq!((failure.blame, failure.message.as_str()), (Blame::UserSim, expected));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_minor_fault_is_sent_and_kept_with_the_turn() {
    let cast = Cast::new(FakeAgent::saying("sunny"), drafting(&[INVENTED]), FakeModel::saying("judge", YES));
    let played = first(&conversation(json!({})), &cast).await;
    assert_eq!(played.end(), (Verdict::Pass, None));
    assert_eq!((cast.user_sim.times_asked(), cast.agent.heard()[1].as_str()), (3, INVENTED));
    assert_eq!(counts(&played), [(FaultKind::InventedFact, 1, 1)]);
    let faults = &played.turns[1].simulated.as_deref().unwrap().faults;
    assert_eq!(faults.iter().map(|fault| fault.sent).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(faults[2].evidence, "Q-12345");
}

#[tokio::test(start_paused = true)]
async fn a_draft_with_a_minor_fault_is_sent_where_the_later_ones_are_worse() {
    let cast = Cast::new(FakeAgent::saying("sunny"), drafting(&[INVENTED, FLIP]), FakeModel::saying("judge", YES));
    let played = first(&conversation(json!({})), &cast).await;
    assert_eq!(played.end(), (Verdict::Pass, None));
    assert_eq!((cast.user_sim.times_asked(), cast.agent.heard()[1].as_str()), (3, INVENTED));
    let faults = &played.turns[1].simulated.as_deref().unwrap().faults;
    let kept: Vec<_> = faults.iter().map(|fault| (fault.kind, fault.sent)).collect();
    let (flip, invented) = (FaultKind::RoleFlip, FaultKind::InventedFact);
    assert_eq!(kept, [(invented, false), (flip, false), (flip, false), (invented, true)]);
}

#[tokio::test(start_paused = true)]
async fn an_invented_fact_that_reached_a_tool_is_no_verdict_on_the_agent() {
    for (says, despite) in [("sunny", Verdict::Pass), ("rain", Verdict::Fail)] {
        let cast = Cast::new(looking_up(says), drafting(&[INVENTED]), FakeModel::saying("judge", YES));
        let played = first(&conversation(json!({})), &cast).await;
        let end = (FailureKind::SimulatorFault, Blame::UserSim, Some(2));
        assert_eq!(played.end(), (Verdict::Inconclusive, Some(end)));
        assert_eq!(played.trial.replay(), record::trial::Replay::Never);
        let user = played.trial.user.as_ref().unwrap();
        assert_eq!(user.despite_fault.map(|it| it.verdict), Some(despite));
    }
    // The same invented fact without a tool call leaves the verdict alone.
    let cast = Cast::new(looking_up("rain"), drafting(&[CLEAN]), FakeModel::saying("judge", YES));
    assert_eq!(first(&conversation(json!({})), &cast).await.trial.verdict, Verdict::Fail);
}

#[tokio::test(start_paused = true)]
async fn without_the_examination_every_draft_is_sent() {
    let cast = Cast::new(FakeAgent::saying("sunny"), drafting(&[FLIP]), FakeModel::saying("judge", YES));
    let played = first(&conversation(json!({ "self_check": "off" })), &cast).await;
    assert_eq!((played.trial.verdict, played.trial.user, cast.agent.heard()[1].as_str()), (Verdict::Pass, None, FLIP));
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_reads_the_lines_finds_faults_and_is_never_taken_for_a_clean_line() {
    const NO: &str = r#"{"judgment":"no","confidence":1.0,"reasoning":"it shouts"}"#;
    const CANNOT_TELL: &str = r#"{"judgment":"cannot_tell","confidence":1.0,"reasoning":"hard to say"}"#;
    const NOT_APPLICABLE: &str = r#"{"judgment":"not_applicable","confidence":1.0,"reasoning":"no number"}"#;
    let rules = json!({ "self_check": "model", "violations": [{ "id": "shouts", "text": "shouts at the agent", "critical": true }] });
    let judge = |answer: &'static str| {
        FakeModel::new("judge", move |request| {
            let asked = &request.messages.last().unwrap().content;
            Ok(if asked.contains("shouts at the agent") { answer } else { YES }.to_owned())
        })
    };
    for (answer, verdict, unknown, faults) in [
        (YES, Verdict::Pass, 0, &[][..]),
        (NO, Verdict::Inconclusive, 0, &[(FaultKind::Violation, 0, 1)]),
        ("Hmm.", Verdict::Pass, 1, &[]),
        ("no", Verdict::Pass, 1, &[]),
        (CANNOT_TELL, Verdict::Pass, 1, &[]),
        (NOT_APPLICABLE, Verdict::Pass, 0, &[]),
    ] {
        let cast = Cast::new(FakeAgent::saying("sunny"), drafting(&[CLEAN]), judge(answer));
        let played = first(&conversation(rules.clone()), &cast).await;
        let user = played.trial.user.as_ref().unwrap();
        assert_eq!((played.trial.verdict, user.unknown, user.lines), (verdict, unknown, 1), "{answer}");
        assert_eq!(counts(&played), faults);
        let notes = usize::from(answer == NO);
        assert_eq!(played.notes("user_fault").len(), notes);
        assert_eq!(played.sent, played.trial.spend, "its calls are paid");
    }
}

/// Over many seeds and all kinds of faults of the mock user, with an agent that passes or fails.
#[tokio::test(start_paused = true)]
async fn a_critical_fault_never_ends_in_a_failure_and_trials_without_one_keep_their_verdict() {
    use llm::mock::{Behaviour, Mock, UserFaults};
    let faults = UserFaults { invented_fact: 0.6, role_flip: 0.3, too_polite: 0.3, ..UserFaults::default() };
    let mut seen = std::collections::BTreeMap::new();
    for (says, own) in [("sunny", Verdict::Pass), ("rain", Verdict::Fail)] {
        let user = Arc::new(Mock::new("user", Behaviour { user_faults: faults, ..Behaviour::default() }));
        let mut models = Cast::plain().resources().models.clone();
        models.user_sim = user;
        let resources = Arc::new(crate::fakes::resources(looking_up(says), models, crate::environment::Execution::Off));
        let plan = plan(&conversation(json!({})), 40);
        for number in 0..40 {
            let played = play_one(&plan, number, 1, Arc::clone(&resources)).await;
            let user = played.trial.user.clone().unwrap();
            let kind = played.trial.failure.as_ref().map(|failure| failure.kind);
            *seen.entry((played.trial.verdict.name(), kind)).or_insert(0) += 1;
            match user.despite_fault {
                Some(despite) => {
                    assert_eq!((played.trial.verdict, despite.verdict), (Verdict::Inconclusive, own));
                }
                None if kind == Some(FailureKind::SimulatorFailed) => {
                    assert_eq!(played.trial.verdict, Verdict::Error);
                }
                None => assert_eq!(played.trial.verdict, own),
            }
            let invented = played.turns.iter().flat_map(|turn| &turn.tool_calls).any(|it| it.arguments.contains("Q-"));
            assert_eq!(invented, user.despite_fault.is_some());
        }
    }
    assert!(seen.len() >= 3, "{seen:?}");
}
