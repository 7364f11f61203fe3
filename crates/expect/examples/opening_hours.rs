//! A test of an agent, as a program: `cargo run -p gabfest-expect --example opening_hours`.
//!
//! In a test, the same code goes into a function with `#[tokio::test]`. The agent here is a closure; it can also be an
//! address (`"http://127.0.0.1:8080/v1"`) or the name of an agent in `gabfest.yaml`.

use gabfest::expect::{self, Agent, ExpectedCall, Message, Reply, reply};
use serde_json::json;

/// The agent under test: it looks the hours up and answers.
async fn shop(message: Message) -> Result<Reply, expect::AgentError> {
    if message.text.contains("close") {
        let hours = json!({ "closes": "18:00" });
        return Ok(Reply::new("We close at six.").called_and_got("hours", json!({ "day": "friday" }), hours));
    }
    Ok("Hello! How can I help?".into())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let hours = ExpectedCall::new("hours").arguments(json!({ "day": "*" })).result(json!({ "closes": "18:00" }));
    let outcome = expect::conversation("opening hours")
        .user("Hi")
        .agent("*")
        .user("When do you close on Friday?")
        .agent(reply("We close at six.").or("<says that the shop closes at six>").calls(hours))
        .against(Agent::from_fn(shop))
        .times(20)
        .required(0.9)
        .run()
        .await;
    assert!(outcome.report().is_some_and(|report| report.passed == 20));
}
