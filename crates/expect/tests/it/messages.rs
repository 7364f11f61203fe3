//! The output of a failing test.

use gabfest::expect::{self, Agent, Event, ExpectedCall, Judge, Reply, Run, reply};
use serde_json::json;

use crate::fakes::{Finds, saying};

/// The message, without the numbers of this file's lines.
async fn message(run: Run) -> String {
    let text = run.judge(Judge::model(Finds(&["hello"]))).try_run().await.unwrap_err().to_string();
    let mut clean = String::new();
    for (number, part) in text.split("messages.rs:").enumerate() {
        clean.push_str(if number == 0 { "" } else { "messages.rs:LINE" });
        clean.push_str(if number == 0 { part } else { part.trim_start_matches(|c: char| c.is_ascii_digit()) });
    }
    clean
}

#[tokio::test]
async fn a_statement_that_is_not_true() {
    let run = expect::conversation("opening hours")
        .note("asked for every day")
        .agent("Welcome to the shop.")
        .user("hello")
        .agent("*")
        .user("When do you close?")
        .agent(["<names an hour>", "At six."])
        .against(saying("I do not know.\nAsk somebody else."));
    insta::assert_snapshot!(message(run).await);
}

#[tokio::test]
async fn other_calls_and_events_than_expected() {
    let agent = Agent::from_fn(|_| async {
        let reply = Reply::new("One moment.").called_and_got("find", json!({"order": 7}), json!({"state": "lost"}));
        Ok(reply.did(Event::EndCall))
    });
    let find = ExpectedCall::new("find").arguments(json!({"order": 8})).result(json!({"state": "*"}));
    let expected = reply("One moment.").calls(find).does(Event::Transfer("+1 800".to_owned()));
    let run = expect::conversation("order").user("Where is my order 8?").agent(expected).keep_going();
    let run = run.user("Are you there?").agent("*").against(agent);
    insta::assert_snapshot!(message(run).await);
}

#[tokio::test]
async fn one_of_several_repeats() {
    let agent = Agent::from_fn(|message| async move {
        match message.text.as_str() {
            "one" => Ok("1"),
            _ => Err("out of numbers".into()),
        }
    });
    let run = expect::conversation("numbers").user("one").agent("1").user("two").agent("2").against(agent);
    insta::assert_snapshot!(message(run.times(3).required(2)).await);
}

#[tokio::test]
async fn the_line_is_the_one_of_the_answer() {
    let begun = line!() + 1;
    let conversation = expect::conversation("c").user("?");
    let line = line!() + 1;
    let conversation = conversation.agent("");
    let text = conversation.against(saying("something")).try_run().await.unwrap_err().to_string();
    assert!(text.contains(&format!("{}:{line} is not what was expected (empty)", file!())), "{text}");
    assert!(text.contains(&format!("written at {}:{begun}\n", file!())), "{text}");
}

#[tokio::test]
async fn long_answers_are_shortened() {
    let text = message(expect::conversation("c").user("?").agent("").against(saying("x".repeat(1 << 20)))).await;
    assert!(text.len() < 10_000 && text.contains("… (1048576 bytes)"), "{}", text.len());
}
