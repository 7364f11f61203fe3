//! Tools of the simulated user in whole trials.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const PHONE: &str = "phone";

/// Plays three turns with a user that has the tool `airplane_mode` and whose model writes these drafts.
async fn play_drafts(drafts: &'static [&'static str], checks: Value) -> (Played, Vec<String>, Cast) {
    let next = AtomicUsize::new(0);
    let user = FakeModel::new("user_sim", move |_| {
        let draft = drafts.get(next.fetch_add(1, Ordering::Relaxed));
        Ok((*draft.unwrap_or(&"And now?")).to_owned())
    });
    let cast = Cast::new(FakeAgent::saying("Try airplane mode."), user, FakeModel::saying("judge", YES));
    let user = json!({ "persona": "p", "objective": "o", "gabfest": { "tools": ["airplane_mode"], "goal": [{ "id": "on", "text": "online" }] } });
    let step = talk(json!({ "max_turns": 3, "user_simulator": user, "final_evaluations": checks }));
    let mocks = json!([
        { "service": PHONE, "method": "airplane_mode", "response": "switched, code Q-99812", "set": { "plane": false } },
        { "service": "shop", "method": "look", "response": "open" },
    ]);
    let more = json!({ "setup": { "mocks": mocks }, "gabfest": { "state": { "plane": true } } });
    let played = first(&scenario(json!([step]), more), &cast).await;
    let heard = cast.agent.heard();
    (played, heard, cast)
}

fn by_user(calls: Value) -> Value {
    json!([{ "type": "tool_calls", "by": "user", "order": "exact", "calls": calls }])
}

#[tokio::test(start_paused = true)]
async fn a_user_uses_its_tool_before_it_speaks_and_only_it_sees_the_result() {
    let drafts = &["###CALL airplane_mode {\"on\": false}###", "It says Q-99812.", "Done then.\n###GAVE_UP###"];
    let checks = by_user(json!([{ "name": "airplane_mode", "arguments": { "on": false } }]));
    let (played, heard, cast) = play_drafts(drafts, checks).await;
    assert_eq!(played.trial.verdict, Verdict::Pass, "{:?}", played.trial.judgments);
    assert_eq!(heard, ["How is the weather?", "It says Q-99812."]);
    let calls = played.turns[1].user_calls();
    assert_eq!((calls.len(), calls[0].id.as_str(), calls[0].name.as_str()), (1, "user_2_1", "airplane_mode"));
    assert_eq!(calls[0].result.as_deref(), Some("switched, code Q-99812"));
    assert!(played.turns.iter().all(|turn| turn.tool_calls.is_empty()));
    assert_eq!(played.trial.user.as_ref().unwrap().faults, [], "what a tool says is not made up");
    let asked = cast.user_sim.asked.lock().unwrap();
    assert!(asked[0].messages[0].content.contains("\n- phone_airplane_mode(): airplane_mode of phone\n"));
    assert!(
        asked[1].messages.last().unwrap().content.starts_with("The result of airplane_mode: switched, code Q-99812\n")
    );
    let card = &asked[2].messages.last().unwrap().content;
    assert!(
        card.contains("You: (you use airplane_mode {\"on\": false}, and it says: switched, code Q-99812)\n"),
        "{card}"
    );
    let starts = cast.agent.starts.lock().unwrap();
    let offered = starts[0].tools.as_ref().unwrap().offered();
    assert_eq!(offered.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["shop_look"]);
    let user_calls = played.turns.iter().flat_map(|turn| &turn.calls).filter(|call| call.role == Role::UserSim);
    assert_eq!(user_calls.count(), 3, "each call of the model is paid");
}

#[tokio::test(start_paused = true)]
async fn a_user_has_four_calls_for_a_line_and_an_answer_for_each() {
    const CALL: &str = "###CALL airplane_mode###";
    let drafts = &["###CALL look###", CALL, CALL, CALL, CALL, "Nothing helps.", "###GAVE_UP###"];
    let (played, heard, cast) = play_drafts(drafts, by_user(json!([{ "name": "airplane_mode" }]))).await;
    assert_eq!((played.trial.verdict, heard.len()), (Verdict::Fail, 2));
    let results: Vec<_> = played.turns[1].user_calls().iter().map(|call| call.result.as_deref().unwrap()).collect();
    assert_eq!(results[0], "there is no tool \"look\"");
    assert_eq!(results[1..], ["switched, code Q-99812"; 3]);
    let asked = cast.user_sim.asked.lock().unwrap();
    assert_eq!(
        asked[5].messages.last().unwrap().content,
        "You have used your tools 4 times. Write your next message now."
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_before_a_talk_ends_belongs_to_its_last_turn() {
    // It is asked once more whether it gives up so early.
    let drafts = &["###CALL airplane_mode###", "###GAVE_UP###", "###GAVE_UP###"];
    let (played, heard, _) = play_drafts(drafts, by_user(json!([{ "name": "airplane_mode" }]))).await;
    assert_eq!((played.trial.verdict, heard.len()), (Verdict::Pass, 1));
    assert_eq!(played.turns[0].user_calls().len(), 1);
}
