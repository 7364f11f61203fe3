//! The answer is a function only of the seed, the role, the turn, the call and the messages.

use std::time::Duration;

use serde_json::json;

use super::{ask, request};
use crate::{
    Call as _, Error, Message,
    chat::{Finish, Request},
    mock::{Behaviour, Delay, Mock, RateLimit, UNHELPFUL},
};

fn questions() -> Vec<(&'static str, Request)> {
    let agent = || request("agent", 5, vec![Message::user("I was charged twice for order 48213 and want a refund.")]);
    let user = || {
        request(
            "user_sim",
            5,
            vec![
                Message::system("Persona: calm person\nObjective: get a refund for order 48213\nMood: patient"),
                Message::user("Begin the conversation."),
                Message::assistant("I was charged twice."),
                Message::user("Which order is it?"),
            ],
        )
    };
    let judge = || Request {
        schema: Some(
            json!({ "properties": { "judgment": { "enum": ["yes", "no"] }, "confidence": { "type": "number" } } }),
        ),
        ..request("judge", 5, vec![Message::user(r#"Good? {"turns":[{"agent":"Follow these steps."}]}"#)])
    };
    vec![("agent", agent()), ("user_sim", user()), ("judge", judge())]
}

#[tokio::test]
async fn irrelevant_inputs_change_nothing() {
    for (name, question) in questions() {
        let expected = ask(&Behaviour::default(), &question).await;
        let mut others = Vec::new();
        let mut change = |change: &dyn Fn(&mut Request)| {
            let mut other = question.clone();
            change(&mut other);
            others.push(other);
        };
        change(&|_| {});
        change(&|other| other.context.run = "another run".to_owned());
        change(&|other| other.context.idempotency_key = "another attempt".to_owned());
        change(&|other| other.context.try_number = 7);
        change(&|other| other.temperature = Some(1.5));
        for other in others {
            assert_eq!(ask(&Behaviour::default(), &other).await.text, expected.text, "{name}");
        }
        // Delays and faults before the answer do not matter either.
        let slow =
            Behaviour { latency: Delay::constant(3.0), inter_token: Delay::constant(0.1), ..Behaviour::default() };
        let reply = ask(&slow, &question).await;
        assert_eq!((reply.text, reply.receipt.usage), (expected.text, expected.receipt.usage), "{name}");
    }
}

#[tokio::test]
async fn relevant_inputs_change_the_answer() {
    let [(_, agent), (_, user), (_, judge)] = <[_; 3]>::try_from(questions()).expect("three");
    for question in [agent, user, judge] {
        let mut answers = Vec::new();
        for seed in 0..40 {
            answers.push(ask(&Behaviour::default(), &Request { seed: Some(seed), ..question.clone() }).await.text);
        }
        answers.sort();
        answers.dedup();
        assert!(answers.len() > 1, "every seed gives {}", answers[0]);
    }
}

#[tokio::test]
async fn the_role_comes_from_the_context_else_from_the_name() {
    let said = |role: &str, name: &str| {
        let question = request(role, 1, vec![Message::user("Is it good? Answer yes or no.")]);
        let mock = Mock::new(name, Behaviour::default());
        async move { mock.ask(&question).await.expect("answers").text }
    };
    assert_eq!(said("judge", "mock-agent").await, "yes");
    assert_eq!(said("", "mock-judge").await, "yes");
    assert!(said("", "mock-user").await.starts_with("Hello, I need help."));
    assert_eq!(said("", "whatever").await, said("agent", "mock-judge").await);
}

#[tokio::test]
async fn rules_win() {
    let behaviour: Behaviour = serde_json::from_value(json!({
        "pass": [{ "probability": 0 }],
        "rules": [
            { "when": "(?i)balance", "role": "judge", "reply": "not this one" },
            { "when": "(?i)balance", "scenario": "wallet", "reply": "nor this one" },
            { "when": "(?i)balance", "reply": "You own 5.", "actions": ["CHECK_BALANCE"],
              "tool_calls": [{ "name": "balance", "arguments": { "of": "you" } }] },
        ],
    }))
    .expect("valid");
    let reply = ask(&behaviour, &request("agent", 1, vec![Message::user("My BALANCE?")])).await;
    assert_eq!((reply.text.as_str(), reply.actions.as_slice()), ("You own 5.", &["CHECK_BALANCE".to_owned()][..]));
    assert_eq!(
        (reply.tool_calls[0].name.as_str(), reply.tool_calls[0].arguments.as_str()),
        ("balance", r#"{"of":"you"}"#)
    );
    assert_eq!(reply.finish, Finish::ToolCalls);
    assert_eq!(ask(&behaviour, &request("agent", 1, vec![Message::user("Hello")])).await.text, UNHELPFUL);
}

#[tokio::test]
async fn replies_keep_to_their_length() {
    let mut question = request("agent", 1, vec![Message::user("I forgot my password for 日本日本 and cannot log in.")]);
    let whole = ask(&Behaviour::default(), &question).await;
    assert_eq!(whole.receipt.usage.output, whole.text.len().div_ceil(4) as u64);
    assert!(whole.receipt.usage.input > 10 && !whole.receipt.usage.estimated);
    let long = Behaviour { tokens: Some(crate::mock::Lengths { min: 300, max: 320 }), ..Behaviour::default() };
    let reply = ask(&long, &question).await;
    assert!((300..=320).contains(&reply.receipt.usage.output), "{}", reply.receipt.usage.output);
    assert!(reply.text.starts_with(&whole.text));
    for most in 0..60 {
        question.max_tokens = Some(most);
        let cut = ask(&Behaviour::default(), &question).await;
        assert!(cut.receipt.usage.output <= u64::from(most) && whole.text.starts_with(&cut.text));
        assert_eq!(cut.finish, Finish::Length);
    }
}

#[tokio::test(start_paused = true)]
async fn it_takes_its_time_and_can_fail() {
    let question = request("agent", 1, vec![Message::user("Hello there")]);
    let slow = Behaviour {
        latency: Delay::constant(200.0),
        ttft: Delay::constant(50.0),
        inter_token: Delay::constant(10.0),
        ..Behaviour::default()
    };
    let reply = ask(&slow, &question).await;
    let gaps = reply.text.split_inclusive(' ').count() as u32 - 1;
    assert_eq!(reply.receipt.timing.first_token, Some(Duration::from_millis(250)));
    assert_eq!(reply.receipt.timing.inter_token, Some(Duration::from_millis(10)));
    assert_eq!(reply.receipt.timing.total, Duration::from_millis(250) + gaps * Duration::from_millis(10));

    let error = |behaviour: Behaviour| {
        let mock = Mock::new("m", behaviour);
        let question = question.clone();
        async move { mock.ask(&question).await.expect_err("fails") }
    };
    let throttled = Behaviour { rate_limit: RateLimit { rate: 1.0, retry_after_ms: 1_500 }, ..Behaviour::default() };
    assert!(
        matches!(error(throttled).await, Error::Throttled { after: Some(after), .. } if after.as_millis() == 1_500)
    );
    let failing = Behaviour { error_rate: 1.0, ..Behaviour::default() };
    assert!(matches!(error(failing).await, Error::Unreachable { status: Some(500), sent: true, .. }));
    let malformed = Behaviour { malformed_rate: 1.0, ..Behaviour::default() };
    assert!(matches!(error(malformed).await, Error::Malformed { .. }));
    let hanging = Mock::new("m", Behaviour { hang_rate: 1.0, ..Behaviour::default() });
    assert!(tokio::time::timeout(Duration::from_secs(3_600), hanging.ask(&question)).await.is_err());
}
