//! A machine without free descriptors: a failed call is then not the agent's fault.

use agent::Start;
use llm::http::resources::Lack;
use record::{Blame, FailureKind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::{
    bad_server::{Answer, Server},
    house::{connect, say, start},
};

/// This process cannot open anything while this value exists.
struct Full(Rlimit);

impl Full {
    fn new() -> Self {
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..before }).expect("a lower limit");
        Self(before)
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        setrlimit(Resource::Nofile, self.0).expect("the limit of before");
    }
}

async fn first_reply(settings: Value, start: Start) -> Result<agent::Reply, agent::Error> {
    let agent = connect(settings);
    let _full = Full::new();
    say(&mut *agent.open(start).await?, 1, "hi").await
}

#[tokio::test]
async fn a_machine_without_descriptors_is_not_the_agents_fault() {
    let server = Server::start(vec![Answer::json(200, &json!({ "reply": "hello" }))]).await;
    let by_name = server.url.replace("127.0.0.1", "localhost");
    let socket = server.url.replace("http://", "ws://");
    let retries = json!({ "tries": 2, "deadline_ms": 1_000 });
    for (what, settings) in [
        ("http", json!({ "http": { "url": server.url }, "retries": retries })),
        ("http by name", json!({ "http": { "url": by_name }, "retries": retries })),
        ("websocket", json!({ "websocket": { "url": socket }, "retries": retries })),
        ("subprocess", json!({ "subprocess": { "command": ["cat"] } })),
    ] {
        let error = first_reply(settings, start("t1")).await.expect_err("nobody can be asked");
        assert_eq!((error.kind, error.kind.blame()), (FailureKind::OutOfResources, Blame::Infra), "{what}: {error}");
        let message = &error.message;
        assert!(message.contains(Lack::Descriptors.message()), "{what}: {message}");
        assert!(message.contains("hint: raise the limit of open files"), "{what}: {message}");
    }
    assert!(server.calls.lock().unwrap().is_empty());
    // With a free descriptor it continues.
    let settings = json!({ "http": { "url": server.url, "reply": { "text": "$.reply" } } });
    let reply = say(&mut *connect(settings).open(start("t2")).await.expect("opens"), 1, "hi").await;
    assert_eq!(reply.expect("a reply").text, "hello");
}
