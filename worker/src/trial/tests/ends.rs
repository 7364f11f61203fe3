//! How the simulated user ends a conversation, recites lines and types, and what the record says about it.

use std::sync::atomic::{AtomicUsize, Ordering};

use record::stop::{Stop, Stopper};

use super::*;

/// Plays at most six turns with these keys of the user and these lines; the agent always answers the same.
async fn play_lines(keys: Value, agent: &str, lines: &'static [&'static str]) -> (Played, Vec<String>, usize) {
    let next = AtomicUsize::new(0);
    let user = FakeModel::new("user_sim", move |_| {
        let line = lines.get(next.fetch_add(1, Ordering::Relaxed));
        Ok((*line.unwrap_or(&"And tomorrow?")).to_owned())
    });
    let cast = Cast::new(FakeAgent::saying(agent), user, FakeModel::saying("judge", YES));
    let step = talk(json!({
        "max_turns": 6,
        "user_simulator": { "persona": "a traveller", "objective": "learn the weather", "gabfest": keys },
        "final_evaluations": [contains("sunny")],
    }));
    let played = first(&scenario(json!([step]), json!({})), &cast).await;
    let heard = cast.agent.heard();
    let asked = cast.user_sim.times_asked();
    (played, heard, asked)
}

fn stop(who: Stopper, signal: &str, turn: u32) -> Option<Stop> {
    Some(Stop { who, signal: signal.to_owned(), turn })
}

#[tokio::test(start_paused = true)]
async fn a_signal_ends_the_talk_and_checks_decide() {
    let (played, heard, _) = play_lines(json!({}), "It is sunny.", &["And tomorrow?", "Thanks.\n###DONE###"]).await;
    assert_eq!(played.end(), (Verdict::Pass, None));
    assert_eq!(played.trial.stop, stop(Stopper::User, "done", 2));
    assert_eq!(played.trial.termination_reason.as_deref(), Some("done"));
    assert_eq!(heard, ["How is the weather?", "And tomorrow?"], "the farewell is dropped");
    // The user's claim proves nothing: the checks fail.
    let (played, ..) = play_lines(json!({}), "No idea.", &["And tomorrow?", "Thanks.\n###DONE###"]).await;
    assert_eq!((played.trial.verdict, played.trial.stop), (Verdict::Fail, stop(Stopper::User, "done", 2)));
    let (played, ..) = play_lines(json!({}), "It is sunny.", &["Never mind.\n###GAVE_UP###"; 2]).await;
    assert_eq!((played.trial.verdict, played.trial.stop), (Verdict::Pass, stop(Stopper::User, "gave_up", 1)));
    let lines = &["Never mind.\n###GAVE_UP###", "And on Monday?", "Never mind.\n###GAVE_UP###"];
    let (played, heard, _) = play_lines(json!({}), "It is sunny.", lines).await;
    assert_eq!((heard[1].as_str(), played.trial.stop), ("And on Monday?", stop(Stopper::User, "gave_up", 2)));
    let (played, ..) = play_lines(json!({}), "It is sunny.", &[]).await;
    assert_eq!(played.trial.stop, stop(Stopper::Limit, "max_turns_reached", 6));
}

#[tokio::test(start_paused = true)]
async fn a_farewell_is_sent_if_the_scenario_says_so() {
    let keys = json!({ "stops": { "farewell": "send" } });
    let (played, heard, _) = play_lines(keys, "It is sunny.", &["And tomorrow?", "Thanks.\n###DONE###"]).await;
    assert_eq!(heard, ["How is the weather?", "And tomorrow?", "Thanks."]);
    assert_eq!(played.trial.stop, stop(Stopper::User, "done", 3));
}

#[tokio::test(start_paused = true)]
async fn an_early_end_goes_back_once_and_is_recorded() {
    let lines = &["Thanks.\n###DONE###", "And on Monday?", "Bye.\n###DONE###"];
    let (played, heard, asked) = play_lines(json!({}), "It is sunny.", lines).await;
    assert_eq!(heard, ["How is the weather?", "And on Monday?"]);
    assert_eq!(played.turns[1].simulated.as_ref().unwrap().sent_back, 1);
    assert_eq!(asked, 3);
    let calls = played.turns.iter().flat_map(|turn| &turn.calls).filter(|call| call.role == Role::UserSim);
    assert_eq!(calls.count(), 3, "each draft is paid");
}

#[tokio::test(start_paused = true)]
async fn a_handover_counts_only_if_the_agent_makes_it() {
    let lines = &["Fine.\n###HANDED_OVER###", "Fine.\n###HANDED_OVER###"];
    let (played, ..) = play_lines(json!({}), "It is sunny. I will connect you with a colleague.", lines).await;
    assert_eq!(played.trial.stop, stop(Stopper::User, "handed_over", 1));
    let (played, heard, _) = play_lines(json!({}), "It is sunny.", lines).await;
    assert_eq!(heard[1], "Fine.");
    assert_eq!(played.trial.stop, stop(Stopper::Limit, "max_turns_reached", 6));
    // Without a text, nothing is left of the draft.
    let lines = &["###HANDED_OVER###", "###HANDED_OVER###"];
    let (played, ..) = play_lines(json!({}), "It is sunny.", lines).await;
    let failure = (FailureKind::SimulatorFailed, Blame::UserSim, Some(2));
    assert_eq!(played.end(), (Verdict::Error, Some(failure)));
}

#[tokio::test(start_paused = true)]
async fn gaps_of_the_scenario_never_count_against_the_agent() {
    for agent in ["It is sunny. What is your shoe size?", "What is your shoe size?"] {
        let (played, ..) = play_lines(json!({}), agent, &["###OUT_OF_SCOPE###"]).await;
        let failure = (FailureKind::OutOfScope, Blame::UserSim, Some(1));
        assert_eq!(played.end(), (Verdict::Inconclusive, Some(failure)));
        assert!(played.trial.failure.as_ref().unwrap().message.contains("What is your shoe size?"));
        assert_eq!(played.trial.stop, stop(Stopper::User, "out_of_scope", 1));
        assert_eq!(played.trial.replay(), record::trial::Replay::Never);
    }
}

#[tokio::test(start_paused = true)]
async fn patience_ends_without_progress_on_the_goal() {
    let keys = json!({ "goal": [{ "id": "now", "text": "now" }, { "id": "later", "text": "later" }], "stops": { "patience": 2 } });
    let lines = &["Good.\n###PART now###", "And later?", "And later?"];
    let (played, heard, _) = play_lines(keys, "It is sunny.", lines).await;
    assert_eq!(played.trial.stop, stop(Stopper::Script, "gave_up", 3));
    assert_eq!(heard.len(), 3);
    let done: Vec<_> =
        played.turns.iter().map(|turn| turn.simulated.as_ref().map_or(0, |it| it.parts_done.len())).collect();
    assert_eq!(done, [1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_user_sees_the_opening_and_the_steps_before() {
    let cast = Cast::plain();
    let opening = json!({ "gabfest": { "opening": [{ "speaker": "agent", "text": "Welcome." }] } });
    let steps = json!([{ "input": "Is it cold?" }, talk(json!({ "final_evaluations": [contains("sunny")] }))]);
    first(&scenario(steps, opening), &cast).await;
    let asked = cast.user_sim.asked.lock().unwrap();
    let card = &asked[0].messages.last().unwrap().content;
    let chat = "Chat so far:\nOther: Welcome.\nYou: Is it cold?\nOther: It is sunny.\nYou: How is the weather?\n\n";
    assert!(card.starts_with(chat), "{card}");
}

#[tokio::test(start_paused = true)]
async fn a_talk_of_gabfest_may_be_longer_than_one_of_eliza() {
    let cast = Cast::plain();
    let user = json!({ "persona": "p", "objective": "o", "gabfest": { "max_turns": 30 } });
    let played = first(
        &scenario(
            json!([talk(json!({ "user_simulator": user, "final_evaluations": [contains("sunny")] }))]),
            json!({}),
        ),
        &cast,
    )
    .await;
    assert_eq!((played.trial.verdict, played.trial.turns), (Verdict::Pass, 30));
}

#[tokio::test(start_paused = true)]
async fn a_scripted_line_is_sent_without_a_call_and_remembered() {
    let keys = json!({ "script": [{ "turn": 3, "verbatim": "Are you a ROBOT?" }], "typing": { "case": "lower" } });
    let (played, heard, asked) = play_lines(keys, "It is sunny.", &["And On Monday?", "Good.\n###DONE###"]).await;
    assert_eq!(heard, ["How is the weather?", "and on monday?", "Are you a ROBOT?"]);
    let speakers: Vec<Origin> = played.turns.iter().map(|turn| turn.speaker).collect();
    assert_eq!(speakers, [Origin::Scripted, Origin::Simulated, Origin::Scripted]);
    assert_eq!((asked, played.trial.stop), (2, stop(Stopper::User, "done", 3)));
    let untyped: Vec<_> = played.turns.iter().map(|turn| turn.simulated.as_ref()?.untyped.as_deref()).collect();
    assert_eq!(untyped, [None, Some("And On Monday?"), None]);
}

#[tokio::test(start_paused = true)]
async fn the_model_sees_its_lines_as_it_wrote_them() {
    let cast = Cast::new(
        FakeAgent::saying("It is sunny."),
        FakeModel::new("user_sim", |_| Ok("And On Monday?".to_owned())),
        FakeModel::saying("judge", YES),
    );
    let keys = json!({ "script": [{ "turn": 3, "verbatim": "Are you a robot?" }], "typing": { "case": "lower" } });
    let user = json!({ "persona": "p", "objective": "o", "gabfest": keys });
    let step = talk(json!({ "max_turns": 4, "user_simulator": user, "final_evaluations": [contains("sunny")] }));
    first(&scenario(json!([step]), json!({})), &cast).await;
    let asked = cast.user_sim.asked.lock().unwrap();
    let card = &asked[1].messages.iter().find(|message| message.content.contains("robot")).unwrap().content;
    assert!(card.contains("You: And On Monday?\nOther: It is sunny.\nYou: Are you a robot?\n"), "{card}");
}
