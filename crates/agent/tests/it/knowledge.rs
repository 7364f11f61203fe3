//! Both APIs of a knowledge base, asked over a socket of the built-in service.

use agent::{Agent, Exchange, Start, Surroundings, connect};
use llm::mock::{
    Behaviour,
    qna::{Pair, Service},
    server,
};
use record::{FailureKind, answer::Answer, turn::Note};
use scenario::{Message, Plugin};
use serde_json::{Value, json};

async fn served() -> String {
    // A second installation is refused, and the first one is good enough.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let pair = |id: u32, question: &str, answer: &str, place: &str| Pair {
        id,
        questions: vec![question.to_owned()],
        answer: answer.to_owned(),
        metadata: vec![("location".to_owned(), place.to_owned())],
        ..Pair::default()
    };
    let service = Service::new(vec![
        pair(154, "Where is my bicycle mended?", "In Tartu.", "tartu"),
        pair(155, "Where is my bicycle mended?", "In Bergen.", "bergen"),
    ]);
    let extras = server::Extras { qna: Some(service), ..Default::default() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(server::serve(listener, Behaviour::default(), extras, std::future::pending()));
    format!("http://{address}")
}

fn agent(settings: Value) -> std::sync::Arc<dyn Agent> {
    let settings = serde_json::from_value(settings).expect("the settings are sound");
    let keys = [("kb".to_owned(), "secret".into())].into();
    connect("kb", &settings, &Surroundings { keys, ..Surroundings::default() })
        .expect("it can be reached")
        .expect("it is no chat model")
}

async fn ask(agent: &dyn Agent, question: &str, filters: &[(&str, &str)]) -> Result<agent::Reply, agent::Error> {
    let filters: Vec<Value> = filters.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let plugin = Plugin {
        name: scenario::question::REQUEST.to_owned(),
        version: None,
        enabled: true,
        config: json!({ "strict_filters": filters }),
    };
    let start = Start {
        conversation: "c".to_owned(),
        context: llm::Context::default(),
        seed: 1,
        opening: Vec::new(),
        plugins: vec![plugin],
        tools: None,
    };
    let messages = [Message::user(question)];
    let timeout = std::time::Duration::from_secs(10);
    agent.open(start).await?.say(Exchange { messages: &messages, turn: 1, timeout, trace: None, cue: None }).await
}

#[tokio::test]
async fn both_apis_give_the_answer_its_id_and_its_score() {
    let url = served().await;
    for settings in [
        json!({ "qnamaker": { "url": format!("{url}/qnamaker"), "knowledge_base": "kb", "score_threshold": 70.0 } }),
        json!({ "custom-question-answering": { "url": url, "project": "kb", "confidence_threshold": 0.7 } }),
    ] {
        let agent = agent(settings);
        assert!(agent.understands_plugins());
        for (question, filters, text, answer) in [
            ("where is my bicycle mended", &[][..], "In Tartu.", Answer { id: 154, score: 100.0 }),
            ("Where is my bicycle mended?", &[("location", "bergen")], "In Bergen.", Answer { id: 155, score: 100.0 }),
            ("Where is my old bicycle mended?", &[], "In Tartu.", Answer { id: 154, score: 90.91 }),
        ] {
            let reply = ask(&*agent, question, filters).await.unwrap();
            assert_eq!((reply.text.as_str(), &reply.notes), (text, &vec![answer.note()]), "{question}");
        }
        for (question, filters) in
            [("What time do you close?", &[][..]), ("Where is my bicycle mended?", &[("location", "rome")])]
        {
            let reply = ask(&*agent, question, filters).await.unwrap();
            assert_eq!(reply.notes, [Note { kind: "answer".to_owned(), text: "-1(0)".to_owned() }], "{question}");
        }
    }
}

#[tokio::test]
async fn an_address_without_a_service_is_reported() {
    let url = served().await;
    let agent = agent(json!({ "qnamaker": { "url": format!("{url}/elsewhere"), "knowledge_base": "kb" } }));
    let error = ask(&*agent, "hi", &[]).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::AgentRefused);
    assert!(error.message.contains("404"), "{}", error.message);
    assert!(!error.message.contains("secret"), "{}", error.message);
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    // A second installation is refused, and the first one is good enough.
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (settings, message) in [
        (json!({ "qnamaker": { "url": "https://x", "knowledge_base": "k" } }), "it has no key"),
        (json!({ "qnamaker": { "url": "x", "knowledge_base": "k" } }), "qnamaker.url cannot be read"),
        (
            json!({ "qnamaker": { "url": "https://x", "knowledge_base": "k", "score_threshold": 0.5 } }),
            "scores go from 0 to 100",
        ),
        (
            json!({ "custom-question-answering": { "url": "https://x", "project": "k", "confidence_threshold": 50.0 } }),
            "must be from 0 to 1",
        ),
        (json!({ "qnamaker": { "url": "https://x", "knowledge_base": "k" }, "system": "Be brief." }), "system"),
    ] {
        let read = serde_json::from_value(settings.clone()).unwrap();
        let error = connect("kb", &read, &Surroundings::default()).unwrap_err();
        assert!(error.to_string().contains(message), "{settings}: {error}");
    }
}
