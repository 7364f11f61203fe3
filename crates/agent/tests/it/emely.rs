//! Emely's API: three messages as one text, and a reply that is cut.

use record::FailureKind;
use serde_json::json;

use super::{
    bad_server::{Answer, Server},
    house::{connect, open, outcome, say},
};

#[tokio::test]
async fn it_is_sent_the_last_three_messages_and_cut_at_128_characters() {
    let long = "i like to read . ".repeat(20);
    let replies = ["hello", "fine", &long].map(|text| Answer::json(200, &json!({ "text": text })));
    let server = Server::start(replies.to_vec()).await;
    let agent = connect(json!({ "emely": { "url": format!("{}/inference", server.url) } }));
    let mut session = open(&*agent, "c").await;
    for (turn, said) in ["hi", "how are you?", "what do you like?"].into_iter().enumerate() {
        let reply = say(&mut *session, turn as u32 + 1, said).await.expect("a reply");
        assert!(reply.text.chars().count() <= 128 && reply.timing.total > std::time::Duration::ZERO);
    }
    let calls = server.calls.lock().unwrap();
    let texts: Vec<&str> = calls.iter().map(|call| call.body["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["hi", "hi\n hello\n how are you?", "how are you?\n fine\n what do you like?"]);
    assert_eq!(calls[0].body["accept"], "application/json");
    assert_eq!((calls[0].method.as_str(), calls[0].path.ends_with("/inference")), ("POST", true));
}

#[tokio::test]
async fn an_invalid_reply_is_the_agents_failure() {
    let answers = vec![Answer::json(200, &json!({ "words": "hello" })), Answer::json(500, &json!({}))];
    let server = Server::start(answers).await;
    let agent = connect(json!({ "emely": { "url": server.url }, "retries": { "attempts": 1 } }));
    let mut session = open(&*agent, "c").await;
    let (kind, message) = outcome(&say(&mut *session, 1, "hi").await);
    assert_eq!(kind, Some(FailureKind::AgentMalformed), "{message}");
    assert!(outcome(&say(&mut *session, 2, "hi").await).0.is_some());
}
