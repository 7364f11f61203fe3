//! The kinds of expected answers: text, anything, statements, alternatives, calls, events.

use gabfest::expect::{self, Answer, Event, ExpectedCall, Judge, Reply, reply};
use serde_json::{Value, json};

use crate::fakes::{Finds, passes, saying};

#[tokio::test]
async fn words_statements_and_alternatives() {
    // The agent's text, the expectation, and whether a judge that accepts only "noon" accepts it.
    let rows: [(&str, Answer, bool); 10] = [
        ("We open at noon.", "we open at noon. ".into(), true),
        ("We open at noon.", "*".into(), true),
        ("We open at noon.", "<names an hour, such as noon>".into(), true),
        ("We open at noon.", "<is polite>".into(), true),
        ("We are closed.", "<names an hour>".into(), false),
        ("At 12.", "noon".into(), true),
        ("At 12.", "morning".into(), false),
        ("We are closed.", ["<names an hour>", "We are closed."].into(), true),
        ("We are closed.", vec!["a", "b"].into(), false),
        ("We are closed.", reply("a").or("b").or("*"), true),
    ];
    for (said, expected, right) in rows {
        let run = expect::conversation("c").user("When?").agent(expected.clone()).against(saying(said));
        let came = run.judge(Judge::model(Finds(&["noon"]))).try_run().await;
        assert_eq!(came.is_ok(), right, "{said} {expected:?}: {came:?}");
    }
}

#[tokio::test]
async fn calls_are_compared_by_the_rules_of_the_file_format() {
    let menu = |arguments: Value| ExpectedCall::new("menu").arguments(arguments);
    let one = |call: ExpectedCall| reply("*").calls(call);
    let made = |arguments: Value| Reply::new("ok").called("menu", arguments);
    let got = |result: Value| Reply::new("ok").called_and_got("menu", json!({}), result);
    let rows: [(Answer, Reply, bool); 19] = [
        (one(menu(json!({}))), made(json!({})), true),
        (reply("*"), made(json!({})), false),
        (one(menu(json!({}))), Reply::new("ok"), false),
        (one(menu(json!({"day": "monday"}))), made(json!({"day": "Monday"})), true),
        (one(menu(json!({"day": "monday"}))), made(json!({"day": "friday"})), false),
        (one(menu(json!({"day": "*"}))), made(json!({"day": 5})), true),
        (one(menu(json!({"day": null}))), made(json!({"day": "friday"})), true),
        (one(menu(json!({"day": null}))), made(json!({})), true),
        (one(menu(json!({}))), made(json!({"day": "friday"})), false),
        (one(menu(json!({})).partial()), made(json!({"day": "friday"})), true),
        (one(menu(json!({"who": {"age": 7, "name": "*"}}))), made(json!({"who": {"age": 7, "name": "Ann"}})), true),
        (one(menu(json!({"who": {"age": 7}}))), made(json!({"who": {"age": 8}})), false),
        (one(menu(json!({"day": "<is a noon>"}))), made(json!({"day": "friday"})), true),
        (one(menu(json!({"day": "<is a weekday>"}))), made(json!({"day": "friday"})), false),
        (one(menu(json!({})).result(json!({"soup": "*", "price": 4}))), got(json!({"soup": "leek", "price": 4})), true),
        (
            one(menu(json!({})).result(json!({"soup": "*", "price": 4}))),
            got(json!({"soup": "leek", "price": 5})),
            false,
        ),
        (one(menu(json!({})).result(json!({"price": 4}))), made(json!({})), false),
        // In any order, and each call answers one.
        (
            one(menu(json!({"day": "*"}))).calls(menu(json!({"day": "monday"}))),
            made(json!({"day": "monday"})).called("menu", json!({"day": "friday"})),
            true,
        ),
        (
            one(menu(json!({"day": "monday"}))).calls(menu(json!({"day": "monday"}))),
            made(json!({"day": "monday"})).called("menu", json!({"day": "friday"})),
            false,
        ),
    ];
    for (expected, made, right) in rows {
        let run = expect::conversation("c")
            .user("What is there to eat?")
            .agent(expected.clone())
            .against(saying(made.clone()));
        let came = run.judge(Judge::model(Finds(&["noon"]))).try_run().await;
        assert_eq!(came.is_ok(), right, "{expected:?} {made:?}: {came:?}");
    }
}

#[tokio::test]
async fn events_are_exact_and_in_order() {
    let (key, transfer) = (|| Event::Dtmf("0".to_owned()), || Event::Transfer("+18005551234".to_owned()));
    let rows = [
        (reply("*"), Reply::new("ok"), true),
        (reply("*").does(Event::EndCall), Reply::new("Bye").did(Event::EndCall), true),
        (reply("*").does(Event::EndCall), Reply::new("Bye"), false),
        (reply("*"), Reply::new("Bye").did(Event::EndCall), false),
        (reply("*").does(key()).does(transfer()), Reply::new("ok").did(key()).did(transfer()), true),
        (reply("*").does(key()).does(transfer()), Reply::new("ok").did(transfer()).did(key()), false),
        (reply("").does(transfer()), Reply::new("").did(transfer()), true),
    ];
    for (expected, said, right) in rows {
        let came =
            passes(expect::conversation("c").user("A human, please").agent(expected.clone()), saying(said)).await;
        assert_eq!(came.is_ok(), right, "{expected:?}: {came:?}");
    }
}

#[tokio::test]
async fn silence_can_be_expected() {
    let asked = || expect::conversation("c").user("(noise)");
    passes(asked().agent(""), saying("")).await.unwrap();
    passes(asked().agent(""), saying("Hello?")).await.unwrap_err();
    let silent = passes(asked().agent("*"), saying("")).await.unwrap_err();
    assert!(silent.contains("did not come (agent_empty)"), "{silent}");
}
