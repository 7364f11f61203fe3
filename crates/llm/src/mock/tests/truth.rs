//! The configured rates occur, within what chance allows.

use super::{ask, request};
use crate::{
    Message,
    chat::Request,
    mock::{Behaviour, PassRule, UNHELPFUL},
};

#[tokio::test]
async fn the_pass_rate_is_the_one_that_was_set() {
    let rule = |scenario: Option<&str>, turn, probability| PassRule {
        scenario: scenario.map(str::to_owned),
        persona: None,
        turn,
        probability,
    };
    let behaviour = Behaviour {
        pass: vec![rule(Some("refund"), None, 0.9), rule(Some("refund"), Some(2), 0.5), rule(None, Some(3), 0.0)],
        ..Behaviour::default()
    };
    let trials = 10_000_u32;
    // (turn, probability); the rule with a scenario and the one with a turn are equally specific, so the first decides.
    for (turn, probability) in [(1, 0.9), (2, 0.5), (3, 0.9)] {
        let mut passed = 0_u32;
        for seed in 0..trials {
            let mut question = request("agent", u64::from(seed), vec![Message::user("I want a refund for order 7.")]);
            question.context.turn = turn;
            let reply = ask(&behaviour, &question).await;
            let good = reply.text.contains("refund");
            assert_ne!(good, reply.text.contains(UNHELPFUL), "{}", reply.text);
            passed += u32::from(good);
        }
        let sigma = (f64::from(trials) * probability * (1.0 - probability)).sqrt();
        let off = (f64::from(passed) - f64::from(trials) * probability).abs();
        assert!(off <= 4.0 * sigma, "turn {turn}: {passed} of {trials}, expected {probability}");
    }
}

#[tokio::test]
async fn turns_are_drawn_by_themselves() {
    let behaviour = Behaviour {
        pass: vec![PassRule { scenario: None, persona: None, turn: None, probability: 0.8 }],
        ..Behaviour::default()
    };
    let trials = 10_000_u32;
    let mut all_passed = 0_u32;
    for seed in 0..trials {
        let mut passed = true;
        for turn in 1..=3 {
            let mut question = request("agent", u64::from(seed), vec![Message::user("Hello")]);
            question.context.turn = turn;
            passed &= ask(&behaviour, &question).await.text != UNHELPFUL;
        }
        all_passed += u32::from(passed);
    }
    let probability = 0.8_f64.powi(3);
    let sigma = (f64::from(trials) * probability * (1.0 - probability)).sqrt();
    assert!((f64::from(all_passed) - f64::from(trials) * probability).abs() <= 4.0 * sigma, "{all_passed}");
}

#[tokio::test]
async fn the_judge_sees_the_agents_failures() {
    let schema = serde_json::json!({ "type": "object", "properties": {
        "judgment": { "type": "string", "enum": ["yes", "no"] },
        "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
        "capabilities": { "type": "array", "minItems": 2, "maxItems": 2, "items": {
            "type": "object", "properties": { "achieved": { "type": "boolean" }, "reasoning": { "type": "string" } } } },
        "reasoning": { "type": "string" } } });
    for (reply, judgment) in [("Here is how to fix this.", "yes"), (UNHELPFUL, "no")] {
        let material = serde_json::json!({ "turns": [{ "turn": 1, "user": "help", "agent": reply }] });
        let question = Request {
            schema: Some(schema.clone()),
            ..request(
                "judge",
                3,
                vec![Message::system("You judge."), Message::user(format!("Good?\n{material}\nAnswer."))],
            )
        };
        let text = ask(&Behaviour::default(), &question).await.text;
        let sheet: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
        assert_eq!(sheet["judgment"], judgment);
        assert_eq!(sheet["capabilities"].as_array().map(Vec::len), Some(2));
        assert_eq!(sheet["capabilities"][0]["achieved"], judgment == "yes");
        assert!(sheet["confidence"].as_f64().expect("a number") >= 0.8, "it is sure of either answer");
        assert!(sheet["reasoning"].as_str().expect("a text").contains(reply), "{text}");
    }
}
