//! How conversations end, and which checks run on the way.

use record::Scope;

use super::*;

struct Row {
    agent: &'static str,
    user: &'static str,
    max_turns: u32,
    stops: Value,
    judge: &'static str,
    turns: u32,
    reason: &'static str,
}

/// The rows of the ElizaOS facts about termination, and some of our own.
fn rows() -> Vec<Row> {
    let said = |kind: &str, keywords: &[&str]| json!([{ "type": kind, "keywords": keywords }]);
    let judged = json!([{
        "type": "custom_condition", "llm_judge": { "prompt": "Has the issue been resolved?", "threshold": 0.8 },
    }]);
    vec![
        Row {
            agent: "Here is the solution to your problem",
            user: "Perfect! Thank you so much, that resolved my issue!",
            max_turns: 5,
            stops: said("user_expresses_satisfaction", &["thank you", "perfect", "resolved"]),
            judge: "",
            turns: 2,
            reason: "user_expresses_satisfaction",
        },
        Row {
            agent: "Here is the solution: try this approach",
            user: "I will try that approach",
            max_turns: 4,
            stops: said("agent_provides_solution", &["solution", "try this"]),
            judge: "",
            turns: 1,
            reason: "agent_provides_solution",
        },
        Row {
            agent: "I can help you with that issue",
            user: "Still having the same problem",
            max_turns: 5,
            stops: json!([{ "type": "conversation_stuck" }]),
            judge: "",
            turns: 3,
            reason: "conversation_stuck",
        },
        Row {
            agent: "The issue has been completely resolved",
            user: "Excellent, everything is working now",
            max_turns: 4,
            stops: judged.clone(),
            judge: YES,
            turns: 1,
            reason: "custom_condition",
        },
        Row {
            agent: "The issue has been completely resolved",
            user: "Excellent, everything is working now",
            max_turns: 4,
            stops: judged,
            judge: r#"{"judgment":"yes","confidence":0.7,"reasoning":"probably"}"#,
            turns: 4,
            reason: "max_turns_reached",
        },
        Row {
            agent: "I am still working on your request",
            user: "Ok, please continue",
            max_turns: 3,
            stops: said("user_expresses_satisfaction", &["completely satisfied", "perfect solution"]),
            judge: "",
            turns: 3,
            reason: "max_turns_reached",
        },
        Row {
            agent: "You can do it",
            user: "That works",
            max_turns: 4,
            stops: json!([
                { "type": "max_turns_reached" },
                { "type": "escalation_needed" },
                { "type": "user_expresses_satisfaction" },
                { "type": "goal_achieved" },
            ]),
            judge: "",
            turns: 2,
            reason: "user_expresses_satisfaction",
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn the_first_condition_that_holds_ends_a_conversation() {
    for row in rows() {
        let steps = json!([talk(json!({
            "max_turns": row.max_turns,
            // The user says one line again and again.
            "user_simulator": { "persona": "a traveller", "objective": "learn the weather", "gabfest": { "self_check": "off" } },
            "termination_conditions": row.stops,
            "final_evaluations": [{ "type": "conversation_length", "min_turns": row.turns, "max_turns": row.turns }],
        }))]);
        let user_sim = FakeModel::saying("user_sim", row.user);
        let cast = Cast::new(FakeAgent::saying(row.agent), user_sim, FakeModel::saying("judge", row.judge));
        let played = first(&scenario(steps, json!({})), &cast).await;
        let reason = played.trial.termination_reason.as_deref();
        assert_eq!((played.trial.turns, reason), (row.turns, Some(row.reason)), "{}", row.agent);
        assert_eq!(played.end(), (Verdict::Pass, None), "{}", row.agent);
        assert_eq!(played.trial.conversations, 1);
        // The first line is the scenario's, and no model is asked for a line that would not be sent.
        assert_eq!(cast.user_sim.times_asked() as u32, row.turns - 1, "{}", row.agent);
        for turn in &played.turns {
            let expected = match turn.number {
                1 => (Origin::Scripted, "How is the weather?"),
                _ => (Origin::Simulated, row.user),
            };
            assert_eq!(
                (turn.speaker, turn.user.as_str(), turn.agent.as_deref()),
                (expected.0, expected.1, Some(row.agent))
            );
        }
    }
}

/// Plays each row of the shared facts as written, if they are present.
#[tokio::test(start_paused = true)]
async fn the_facts_hold() {
    let Some(path) = cases::folder("eliza/facts/evaluators.json", "the facts about termination") else { return };
    let facts: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let facts = facts["termination"].as_array().unwrap();
    assert!(facts.len() >= 5);
    for fact in facts {
        let text = |key: &str| fact[key].as_str().unwrap_or_default();
        let steps = json!([talk(json!({ "max_turns": fact["max_turns"], "termination_conditions": [fact["cond"]] }))]);
        // A judge of gabfest gives reasons too.
        let reply = if text("judge_reply") == "yes" { YES } else { text("judge_reply") };
        let judge = FakeModel::saying("judge", reply);
        let cast = Cast::new(FakeAgent::saying(text("agent")), FakeModel::saying("user_sim", text("sim")), judge);
        let played = first(&scenario(steps, json!({})), &cast).await;
        let reason = fact["reason"].as_str().or(fact["intended_reason"].as_str()).unwrap_or("max_turns_reached");
        assert_eq!(played.trial.termination_reason.as_deref(), Some(reason), "{fact}");
        let turns = u64::from(played.trial.turns);
        assert_eq!(turns < fact["max_turns"].as_u64().unwrap(), fact["terminated_early"].as_bool().unwrap(), "{fact}");
        assert!(fact["turns"].as_u64().is_none_or(|expected| turns == expected), "{fact}");
        assert!(fact["turns_at_least"].as_u64().is_none_or(|least| turns >= least), "{fact}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_check_counts_by_the_strategy() {
    use Finding::{Fail, Pass};
    let (turn_check, final_check) = ("turn_evaluations", "final_evaluations");
    let rows = [
        ("all_pass", turn_check, "sunny", Verdict::Pass, vec![Pass; 3]),
        ("all_pass", turn_check, "rain", Verdict::Fail, vec![Fail; 3]),
        ("all_pass", turn_check, "turn 2", Verdict::Fail, vec![Fail, Pass, Fail]),
        ("any_pass", turn_check, "turn 2", Verdict::Pass, vec![Fail, Pass, Fail]),
        ("any_pass", turn_check, "rain", Verdict::Fail, vec![Fail; 3]),
        ("all_pass", final_check, "turn 2", Verdict::Pass, vec![Pass]),
        ("all_pass", final_check, "rain", Verdict::Fail, vec![Fail]),
        // The user's messages are part of a conversation, but not of a reply.
        ("all_pass", final_check, "tomorrow", Verdict::Pass, vec![Pass]),
        ("all_pass", turn_check, "tomorrow", Verdict::Fail, vec![Fail; 3]),
    ];
    for (strategy, place, word, verdict, findings) in rows {
        for control in [false, true] {
            let agent = FakeAgent::new(|turn, _| Does::Says(format!("It is sunny in turn {turn}.")));
            let steps = json!([talk(json!({ place: [contains(word)] }))]);
            let more = json!({ "judgment": { "strategy": strategy }, "gabfest": { "expect_failure": control } });
            let played = first(&scenario(steps, more), &Cast::with(agent)).await;
            assert_eq!(played.findings(), findings, "{strategy} {place} {word}");
            let expected = match (control, verdict) {
                (true, Verdict::Pass) => Verdict::Fail,
                (true, _) => Verdict::Pass,
                (false, verdict) => verdict,
            };
            assert_eq!(played.trial.verdict, expected, "{strategy} {place} {word}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_of_a_turn_knows_its_turn_and_a_check_of_a_conversation_does_not() {
    let agent = FakeAgent::new(|turn, _| Does::Says(format!("turn {turn}")));
    let checks = json!({ "turn_evaluations": [contains("turn 1")], "final_evaluations": [contains("turn 1")] });
    let played = first(&scenario(json!([talk(checks)]), json!({})), &Cast::with(agent)).await;
    let scopes: Vec<Scope> = played.trial.judgments.iter().map(|judgment| judgment.scope).collect();
    let turn = |turn| Scope::Turn { step: 1, turn };
    assert_eq!(scopes, [turn(1), turn(2), turn(3), Scope::Conversation { step: 1 }]);
    assert_eq!(played.end(), (Verdict::Fail, Some((FailureKind::CheckFailed, Blame::Agent, Some(2)))));
}

#[tokio::test(start_paused = true)]
async fn the_simulator_sees_the_conversation() {
    let cast = Cast::with(FakeAgent::new(|turn, said| Does::Says(format!("{turn}: {said}"))));
    let steps = json!([talk(json!({ "final_evaluations": [contains("3: ")] }))]);
    let played = first(&scenario(steps, json!({})), &cast).await;
    assert_eq!(played.end().0, Verdict::Pass);
    let asked = cast.user_sim.asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    let card = &asked[1].messages.last().unwrap().content;
    let chat = "Chat so far:\nYou: How is the weather?\nOther: 1: How is the weather?\nYou: And tomorrow?\n\n";
    assert!(card.starts_with(chat) && card.ends_with("\nOther says: 2: And tomorrow?\nYou answer:"), "{card}");
    assert_eq!(asked.iter().map(|request| request.context.turn).collect::<Vec<_>>(), [2, 3]);
    assert!(asked.iter().all(|request| request.context.role == "user_sim"));
}

#[tokio::test(start_paused = true)]
async fn values_that_the_author_requested_are_noted() {
    let debug = |simulation: bool, decisions: bool, transcript: bool| {
        let stops = json!([{ "type": "escalation_needed" }, { "type": "goal_achieved", "keywords": ["never"] }]);
        let talk = talk(json!({
            "termination_conditions": stops,
            "final_evaluations": [contains("sunny")],
            "debug_options": {
                "log_user_simulation": simulation,
                "log_turn_decisions": decisions,
                "export_full_transcript": transcript,
            },
        }));
        scenario(json!([talk]), json!({}))
    };
    let all = first(&debug(true, true, true), &Cast::plain()).await;
    assert_eq!(all.notes("simulator_reply"), ["And tomorrow?", "And tomorrow?"]);
    assert!(all.notes("simulator_prompt")[0].contains("You are a traveller."), "{all:?}");
    assert!(all.notes("termination")[0].starts_with("escalation_needed: no"), "{all:?}");
    // A line is recorded with the turn that it led to, a decision with the turn that it followed.
    let kinds: Vec<Vec<&str>> =
        all.turns.iter().map(|turn| turn.notes.iter().map(|note| note.kind.as_str()).collect()).collect();
    let decisions = ["termination", "termination"];
    let both = ["simulator_prompt", "simulator_reply", "termination", "termination"];
    assert_eq!(kinds, [decisions.to_vec(), both.to_vec(), both.to_vec()]);
    assert!(all.trial.keep_transcript);

    let none = first(&debug(false, false, false), &Cast::plain()).await;
    assert!(none.turns.iter().all(|turn| turn.notes.is_empty()));
    assert!(!none.trial.keep_transcript);
    assert_eq!(none.end(), (Verdict::Pass, None));
}

#[tokio::test(start_paused = true)]
async fn a_check_can_judge_one_turn_of_a_conversation() {
    let says = |turn: u32, text: &str, name: &str| json!({ "type": "string_contains", "value": text, "turn": turn, "name": name });
    let agent = || FakeAgent::new(|turn, _| Does::Says(format!("reply {turn}")));
    let checks = json!([says(2, "reply 2", "second"), says(3, "reply 3", "third"), contains("reply")]);
    let talk_of = |stops: Value| {
        scenario(
            json!([talk(json!({ "turn_evaluations": checks.clone(), "termination_conditions": stops }))]),
            json!({}),
        )
    };
    let all = first(&talk_of(json!([])), &Cast::with(agent())).await;
    assert_eq!(all.end(), (Verdict::Pass, None));
    let of_name = |played: &Played, name: &str| -> Vec<(Finding, record::Scope)> {
        let named = played.trial.judgments.iter().filter(|judgment| judgment.name.as_deref() == Some(name));
        named.map(|judgment| (judgment.finding, judgment.scope)).collect()
    };
    assert_eq!(of_name(&all, "second"), [(Finding::Pass, record::Scope::Turn { step: 1, turn: 2 })]);
    assert_eq!(of_name(&all, "third"), [(Finding::Pass, record::Scope::Turn { step: 1, turn: 3 })]);
    assert_eq!(all.findings().len(), 5, "the check without a turn judges each of three");

    // The conversation ends before the third turn, so the agent's answer to it is unknown.
    let stops = json!([{ "type": "goal_achieved", "keywords": ["reply 2"] }]);
    let short = first(&talk_of(stops), &Cast::with(agent())).await;
    assert_eq!(of_name(&short, "second").len(), 1);
    assert_eq!(of_name(&short, "third"), [(Finding::Inconclusive, record::Scope::Conversation { step: 1 })]);
    let (verdict, failure) = short.end();
    assert_eq!((verdict, failure.map(|failure| failure.0)), (Verdict::Inconclusive, Some(FailureKind::NothingJudged)));
}
