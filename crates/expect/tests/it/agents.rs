//! The kinds of agents in a conversation.

use std::{collections::BTreeSet, path::Path, time::Duration};

use async_trait::async_trait;
use gabfest::expect::{
    self, Agent, Judge, Message, Said,
    agents::{self, Exchange, Session, Start},
    llm,
};
use serde_json::json;
use tokio::{net::TcpListener, sync::oneshot};

use crate::fakes::{passes, saying};

/// Replies with everything that it received, as one line.
async fn recite(message: Message) -> Result<String, expect::AgentError> {
    let said = |said: &Said| format!("{}: {}", said.speaker.name(), said.text);
    let history: Vec<String> = message.history.iter().map(said).collect();
    Ok(format!("{} [{}]", message.text, history.join(", ")))
}

#[tokio::test]
async fn a_closure_gets_the_conversation_so_far() {
    let conversation = expect::conversation("c")
        .agent("Welcome.")
        .user("one")
        .agent("one [agent: Welcome.]")
        .user("two")
        .agent("two [agent: Welcome., user: one, agent: one [agent: Welcome.]]");
    passes(conversation, Agent::from_fn(recite)).await.unwrap();
    let conversation =
        expect::conversation("c").user("one").agent(["first", "*"]).user("two").agent("two [user: one, agent: first]");
    passes(conversation.remember_expected(), Agent::from_fn(recite)).await.unwrap();
}

#[tokio::test]
async fn conversations_have_different_ids() {
    let agent = Agent::from_fn(|message| async move { Ok(message.conversation) });
    let run = expect::conversation("c").user("1").agent("*").user("2").agent("*").against(agent).times(3);
    let again = expect::conversation("c").user("1").agent("*").user("2").agent("*");
    let again = again.against(Agent::from_fn(|message| async move { Ok(message.conversation) })).times(3);
    let mut names = BTreeSet::new();
    for outcome in [run.run().await, again.run().await] {
        for played in &outcome.report().unwrap().trials {
            let said: Vec<&str> = played.turns.iter().filter_map(|turn| turn.agent.as_deref()).collect();
            assert_eq!(said[0], said[1]);
            names.insert(said[0].to_owned());
        }
    }
    assert_eq!(names.len(), 6, "the second run has ids of its own: {names:?}");
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_breaks_is_the_agent_s_failure() {
    let asked = || expect::conversation("c").user("Hi").agent("*").timeout(Duration::from_secs(2));
    let failed = Agent::from_fn(|_| async move {
        Err::<&str, _>(std::io::Error::other("no database"))?;
        Ok("")
    });
    let panicked = Agent::from_fn(|message| async move {
        assert!(message.text.is_empty(), "an unexpected {}", message.text);
        Ok("never")
    });
    let slow = Agent::from_fn(|_| async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok("late")
    });
    let rows = [
        (failed, ("agent_refused", "the agent failed: no database")),
        (panicked, ("agent_refused", "the agent panicked: an unexpected Hi")),
        (slow, ("agent_timeout", "the agent did not answer within 2000 ms")),
    ];
    for (agent, (kind, why)) in rows {
        let came = passes(asked(), agent).await.unwrap_err();
        assert!(came.contains(&format!("did not come ({kind})")) && came.contains(why), "{came}");
    }
}

/// An agent of a kind that gabfest does not have.
#[derive(Debug)]
struct Parrot;

#[async_trait]
impl agents::Agent for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }

    fn understands_plugins(&self) -> bool {
        false
    }

    async fn open(&self, _: Start) -> Result<Box<dyn Session>, agents::Error> {
        Ok(Box::new(Self))
    }
}

#[async_trait]
impl Session for Parrot {
    async fn say(&mut self, exchange: Exchange<'_>) -> Result<agents::Reply, agents::Error> {
        let text = exchange.messages.iter().map(scenario::Message::text).collect();
        Ok(agents::Reply { text, tries: 1, ..agents::Reply::default() })
    }

    fn replace_last_answer(&mut self, _: &scenario::Message) {}
}

#[tokio::test]
async fn an_agent_of_one_s_own_kind() {
    passes(expect::conversation("c").user("hello").agent("hello"), Agent::custom(Parrot)).await.unwrap();
}

#[tokio::test]
async fn a_server_by_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let rules = json!({ "rules": [
        { "when": "refund", "reply": "It takes five days." },
        { "when": "weather", "reply": "Sunny.", "tool_calls": [{ "name": "look", "arguments": { "city": "Oslo" } }] },
    ] });
    let behaviour: llm::mock::Behaviour = serde_json::from_value(rules).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(llm::mock::server::serve(listener, behaviour, Default::default(), async {
        let _ = stopped.await;
    }));
    let conversation = || {
        let call = expect::ExpectedCall::new("look").arguments(json!({ "city": "*" }));
        expect::conversation("c")
            .user("How long does a refund take?")
            .agent("It takes five days.")
            .user("And how is the weather?")
            .agent(expect::reply("Sunny.").calls(call))
    };
    conversation().against(address.as_str()).times(4).run().await;
    conversation().against(Agent::behind(json!({ "url": address, "model": "mock" }))).run().await;
    // The same server as the judge.
    let judge = || Judge::behind(format!("url: {address}\nmodel: mock-judge"));
    let asked =
        |said: &str| expect::conversation("c").user("Help!").agent("<is helpful>").against(saying(said)).judge(judge());
    asked("Of course.").run().await;
    asked(llm::mock::UNHELPFUL).try_run().await.unwrap_err();
    stop.send(()).unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn an_agent_described_as_in_the_settings() {
    let replayed = json!({ "replayed": { "answers": ["One.", "Two."] } });
    let conversation = || expect::conversation("c").user("a").agent("One.").user("b").agent("Two.");
    passes(conversation(), Agent::described(replayed)).await.unwrap();
    passes(conversation(), Agent::described("kind: mock")).await.unwrap();
    let other = passes(conversation(), Agent::described("replayed:\n  answers: [One., Three.]")).await.unwrap_err();
    assert!(other.contains("answer 2"), "{other}");
}

#[tokio::test]
async fn files_are_played_as_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/line");
    let mut played = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().contains(".conversation.") {
            continue;
        }
        let run = expect::file(&path).against(Agent::described("kind: mock")).judge(Judge::mock());
        let outcome = run.run().await;
        assert!(outcome.report().unwrap().passed > 0, "{}", path.display());
        played += 1;
    }
    assert!(played >= 2, "{played}");
    let wrong = expect::file("Cargo.toml").against("mock").try_run().await.unwrap_err().to_string();
    assert!(wrong.contains("Cargo.toml"), "{wrong}");
}
