//! States of the simulated user, and the check of its goal, in whole trials.

use record::stop::{Stop, Stopper};

use super::*;

/// Plays a talk of at most six turns with these keys of the user. The agent says one line after the other, then the last.
async fn play_states(
    keys: Value,
    checks: Value,
    agent: &'static [&'static str],
    judge: &str,
) -> (Played, Vec<String>, Cast) {
    let agent = FakeAgent::new(move |turn, _| {
        let line = agent.get(turn as usize - 1).or(agent.last());
        Does::Says((*line.unwrap_or(&"Hello.")).to_owned())
    });
    let user = FakeModel::new("user_sim", |request| {
        let card = &request.messages.last().unwrap().content;
        let of = |lead: &str| card.lines().find_map(|line| line.strip_prefix(lead)).unwrap_or("-").to_owned();
        Ok(format!("I {} I feel {} There are {} lines.", of("Do this now: "), of("You feel: "), card.lines().count()))
    });
    let cast = Cast::new(agent, user, FakeModel::saying("judge", judge));
    let step = talk(json!({
        "max_turns": 6,
        "user_simulator": { "persona": "a traveller", "objective": "learn the weather", "gabfest": keys },
        "final_evaluations": checks,
    }));
    let played = first(&scenario(json!([step]), json!({})), &cast).await;
    let heard = cast.agent.heard();
    (played, heard, cast)
}

fn stop(signal: &str, turn: u32) -> Option<Stop> {
    Some(Stop { who: Stopper::Script, signal: signal.to_owned(), turn })
}

#[tokio::test(start_paused = true)]
async fn states_lead_the_talk_and_end_it() {
    let keys = json!({ "states": {
        "ask": { "say": "ask", "mood": "calm", "next": [{ "if": { "agent_matches": "(?i)who" }, "go": "name" }] },
        "name": { "verbatim": "I am Ana.", "next": [{ "if": { "agent_matches": "thanks" }, "go": "end" }, { "go": "ask" }] },
        "end": { "end": "done" },
    } });
    let agent = &["Hello.", "Who are you?", "What?", "Who?", "Well, thanks."];
    let (played, heard, cast) = play_states(keys, json!([contains("thanks")]), agent, YES).await;
    assert_eq!(heard.len(), 5);
    assert!([1, 3].iter().all(|line| heard[*line].starts_with("I ask. I feel calm.")), "{heard:?}");
    assert_eq!((heard[2].as_str(), heard[4].as_str()), ("I am Ana.", "I am Ana."));
    assert_eq!((played.trial.verdict, played.trial.stop), (Verdict::Pass, stop("done", 5)));
    let states: Vec<_> = played.turns.iter().map(|turn| turn.simulated.as_ref()?.state.as_deref()).collect();
    assert_eq!(states, [None, Some("ask"), Some("name"), Some("ask"), Some("name")]);
    let speakers: Vec<Origin> = played.turns.iter().map(|turn| turn.speaker).collect();
    let (scripted, simulated) = (Origin::Scripted, Origin::Simulated);
    assert_eq!(speakers, [scripted, simulated, scripted, simulated, scripted]);
    assert_eq!(cast.user_sim.times_asked(), 2, "written lines need no model");
}

#[tokio::test(start_paused = true)]
async fn a_state_gives_up_after_its_visits_and_a_last_line_is_answered() {
    let keys = json!({ "states": { "ask": { "verbatim": "Please.", "max_visits": 2 } } });
    let (played, heard, _) = play_states(keys, json!([contains("no")]), &["No."], YES).await;
    assert_eq!((heard.len(), played.trial.stop), (3, stop("gave_up", 3)));
    let keys = json!({ "states": { "bye": { "verbatim": "Goodbye.", "end": "handed_over" } } });
    let (played, heard, _) = play_states(keys, json!([contains("no")]), &["No."], YES).await;
    assert_eq!(heard, ["How is the weather?", "Goodbye."]);
    assert_eq!(played.trial.stop, stop("handed_over", 2));
}

#[tokio::test(start_paused = true)]
async fn a_judge_is_asked_if_a_state_says_so_and_its_silence_is_a_no() {
    let keys = || {
        json!({ "states": {
            "ask": { "verbatim": "Please.", "max_visits": 2, "next": [{ "if": { "ask": "Is it sunny?" }, "go": "end" }] },
            "end": { "end": "done" },
        } })
    };
    let checks = || json!([contains("sunny")]);
    let (played, heard, cast) = play_states(keys(), checks(), &["It is sunny."], YES).await;
    assert_eq!((heard.len(), played.trial.stop, cast.judge.times_asked()), (1, stop("done", 1), 1));
    let (played, heard, _) = play_states(keys(), checks(), &["It is sunny."], "I cannot say.").await;
    assert_eq!((heard.len(), played.trial.verdict, played.trial.stop), (3, Verdict::Pass, stop("gave_up", 3)));
    let failed: Vec<u32> =
        played.turns.iter().map(|turn| turn.simulated.as_ref().map_or(0, |it| it.failed_asks)).collect();
    assert_eq!(failed, [1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_goal_is_reached_by_the_agents_actions_and_never_by_the_users_claim() {
    let keys = || {
        json!({
            "goal": [
                { "id": "now", "text": "now", "done_when": { "said": "it is sunny" } },
                { "id": "later", "text": "later", "done_when": { "ask": "Is there a forecast?" } },
            ],
            "script": [{ "turn": 2, "verbatim": "I have it all." }],
        })
    };
    for (parts, agent, says, verdict) in [
        (json!("all"), &["It is  SUNNY."], YES, Verdict::Pass),
        (json!(["now"]), &["It is sunny."], "no judge is asked", Verdict::Pass),
        (json!("all"), &["It is rainy."], "nothing", Verdict::Fail),
        (json!("all"), &["It is sunny."], "nothing", Verdict::Inconclusive),
    ] {
        let checks = json!([{ "type": "goal_reached", "parts": parts }]);
        let (played, ..) = play_states(keys(), checks, agent, says).await;
        assert_eq!(played.trial.verdict, verdict, "{agent:?} {:?}", played.trial.judgments);
    }
    // Without parts, a judge decides about the objective.
    let check = json!([{ "type": "goal_reached" }]);
    let (played, _, cast) = play_states(json!({}), check, &["It is sunny."], YES).await;
    assert_eq!((played.trial.verdict, cast.judge.times_asked()), (Verdict::Pass, 1));
    assert!(played.trial.judgments[0].reason.starts_with("objective is done"));
}
