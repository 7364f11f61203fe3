//! A chat model as the agent: its requests, and what its answers and failures become.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use llm::{FunctionCall, MessageRole, Receipt, chat};
use record::FailureKind;
use scenario::{
    Message, Plugin,
    message::{self, Part},
};
use serde_json::json;

use crate::{Agent, Error, Exchange, Reply, Session, Settings, Spent, Start, build, settings::Plugins};

#[derive(Debug, Default)]
struct Script {
    answers: Mutex<VecDeque<Result<chat::Reply, llm::Error>>>,
    asked: Mutex<Vec<chat::Request>>,
}

impl llm::Named for Script {
    fn endpoint(&self) -> &str {
        "script"
    }
}

#[async_trait]
impl llm::Call<chat::Request> for Script {
    async fn ask(&self, request: &chat::Request) -> Result<chat::Reply, llm::Error> {
        self.asked.lock().unwrap().push(request.clone());
        self.answers.lock().unwrap().pop_front().expect("the script has an answer")
    }
}

fn says(text: &str) -> Result<chat::Reply, llm::Error> {
    let receipt = Box::new(Receipt { tries: 1, ..Receipt::default() });
    Ok(chat::Reply { text: text.to_owned(), receipt, ..chat::Reply::default() })
}

fn script(answers: impl IntoIterator<Item = Result<chat::Reply, llm::Error>>) -> Arc<Script> {
    Arc::new(Script { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() })
}

fn agent(settings: &Settings, model: &Arc<Script>) -> Arc<dyn Agent> {
    build("bot", settings, Arc::clone(model) as Arc<dyn llm::Chat>)
}

fn start() -> Start {
    let context = llm::Context { run: "run-1".to_owned(), scenario: "s".to_owned(), ..llm::Context::default() };
    Start {
        conversation: "trial-1".to_owned(),
        context,
        seed: 7,
        opening: Vec::new(),
        plugins: Vec::new(),
        tools: None,
    }
}

async fn say(session: &mut dyn Session, turn: u32, text: &str) -> Result<crate::Reply, Error> {
    let message = Message::user(text);
    session.say(Exchange { messages: &[message], turn, timeout: Duration::from_secs(30), trace: None, cue: None }).await
}

fn words(request: &chat::Request) -> Vec<(MessageRole, &str)> {
    request.messages.iter().map(|message| (message.role, message.content.as_str())).collect()
}

#[tokio::test]
async fn each_turn_is_sent_with_the_whole_conversation() {
    let model = script([says("Hello."), says("Fine.")]);
    let settings = Settings {
        system: Some("Be brief.".to_owned()),
        tools: vec![json!({ "type": "function" })],
        temperature: Some(0.0),
        max_tokens: Some(50),
        ..Settings::default()
    };
    let agent = agent(&settings, &model);
    assert_eq!((agent.name(), agent.understands_plugins()), ("bot", false));
    let opening = vec![Message::text_of(message::Speaker::Agent, "Welcome!")];
    let mut session = agent.open(Start { opening, ..start() }).await.unwrap();
    assert_eq!(say(session.as_mut(), 1, "Hi").await.unwrap().text, "Hello.");
    assert_eq!(say(session.as_mut(), 2, "How are you?").await.unwrap().text, "Fine.");

    let asked = model.asked.lock().unwrap();
    assert_eq!(
        words(&asked[1]),
        [
            (MessageRole::System, "Be brief."),
            (MessageRole::Assistant, "Welcome!"),
            (MessageRole::User, "Hi"),
            (MessageRole::Assistant, "Hello."),
            (MessageRole::User, "How are you?"),
        ]
    );
    assert_eq!(words(&asked[0]), words(&asked[1])[..3]);
    assert_eq!(asked[1].timeout, Some(Duration::from_secs(30)));
    assert_eq!((asked[0].temperature, asked[0].max_tokens, asked[0].tools.len()), (Some(0.0), Some(50), 1));
    let context = &asked[1].context;
    assert_eq!((context.role.as_str(), context.turn, context.call), ("agent", 2, 0));
    assert_eq!((context.conversation.as_str(), context.scenario.as_str()), ("trial-1", "s"));
    assert_eq!(context.idempotency_key, "trial-1/2");
    assert!(asked[0].seed.is_some());
    assert_ne!(asked[0].seed, asked[1].seed);
}

#[tokio::test]
async fn the_same_trial_asks_with_the_same_seeds() {
    let mut seeds = Vec::new();
    for seed in [7, 7, 8] {
        let model = script([says("a")]);
        let mut session = agent(&Settings::default(), &model).open(Start { seed, ..start() }).await.unwrap();
        say(session.as_mut(), 1, "Hi").await.unwrap();
        seeds.push(model.asked.lock().unwrap()[0].seed);
    }
    assert_eq!(seeds[0], seeds[1]);
    assert_ne!(seeds[0], seeds[2]);
}

#[tokio::test]
async fn an_expected_answer_takes_the_place_of_the_real_one() {
    let call = FunctionCall { id: "c1".to_owned(), name: "find".to_owned(), arguments: "{}".to_owned() };
    let model = script([Ok(chat::Reply { tool_calls: vec![call], ..chat::Reply::default() }), says("b"), says("c")]);
    let mut session = agent(&Settings::default(), &model).open(start()).await.unwrap();
    session.replace_last_answer(&Message::text_of(message::Speaker::Agent, "nothing to replace yet"));
    let reply = say(session.as_mut(), 1, "one").await.unwrap();
    assert_eq!((reply.tool_calls[0].name.as_str(), &reply.tool_calls[0].result), ("find", &None));
    say(session.as_mut(), 2, "two").await.unwrap();
    session.replace_last_answer(&Message::text_of(message::Speaker::Agent, "as the file says"));
    say(session.as_mut(), 3, "three").await.unwrap();

    let asked = model.asked.lock().unwrap();
    let answered = &asked[1].messages;
    assert_eq!((answered[1].role, answered[1].tool_calls.len()), (MessageRole::Assistant, 1));
    assert_eq!((answered[2].role, answered[2].tool_call_id.as_deref()), (MessageRole::Tool, Some("c1")));
    let last = words(&asked[2]);
    assert_eq!(
        last[3..],
        [(MessageRole::User, "two"), (MessageRole::Assistant, "as the file says"), (MessageRole::User, "three")]
    );

    // Replacing an answer that called tools removes the tools' results too.
    let model = script([says("x")]);
    let mut session = super::ModelSession {
        model,
        tools: None,
        seed: 0,
        history: crate::history::History::Full,
        request: asked[1].clone(),
    };
    session.request.messages.truncate(3);
    session.replace_last_answer(&Message::text_of(message::Speaker::Agent, "plain"));
    assert_eq!(words(&session.request), [(MessageRole::User, "one"), (MessageRole::Assistant, "plain")]);
    assert!(session.request.messages[1].tool_calls.is_empty());
}

#[tokio::test]
async fn plugins_go_into_the_body_only_if_the_settings_say_so() {
    let plugin = |name: &str, enabled| Plugin {
        name: name.to_owned(),
        version: Some("1.0.0".to_owned()),
        enabled,
        config: json!({ "limit": 5 }),
    };
    let plugins = vec![plugin("@elizaos/plugin-github", true), plugin("@elizaos/plugin-off", false)];
    for (setting, expected) in [
        (Plugins::Ignore, None),
        (
            Plugins::Body,
            Some(json!([{ "name": "@elizaos/plugin-github", "version": "1.0.0", "config": { "limit": 5 } }])),
        ),
    ] {
        let model = script([says("ok")]);
        let agent = agent(&Settings { plugins: setting, ..Settings::default() }, &model);
        assert_eq!(agent.understands_plugins(), expected.is_some());
        let mut session = agent.open(Start { plugins: plugins.clone(), ..start() }).await.unwrap();
        say(session.as_mut(), 1, "Hi").await.unwrap();
        assert_eq!(model.asked.lock().unwrap()[0].extra.get("plugins"), expected.as_ref());
    }
}

#[tokio::test]
async fn images_are_shown_with_the_text() {
    let model = script([says("A cat.")]);
    let mut session = agent(&Settings::default(), &model).open(start()).await.unwrap();
    let parts = vec![Part::Text("What is it?".to_owned()), Part::Image("https://example.test/cat.png".to_owned())];
    let message = Message { speaker: message::Speaker::User, parts };
    session
        .say(Exchange { messages: &[message], turn: 1, timeout: Duration::from_secs(1), trace: None, cue: None })
        .await
        .unwrap();
    let asked = model.asked.lock().unwrap();
    assert_eq!(asked[0].messages[0].content, "What is it?");
    assert_eq!(asked[0].messages[0].images, ["https://example.test/cat.png"]);
}

#[tokio::test]
async fn every_failure_has_its_kind_and_says_what_it_used() {
    let endpoint = || "script".to_owned();
    let message = || "m".to_owned();
    let unreachable = |sent| llm::Error::Unreachable { endpoint: endpoint(), status: None, message: message(), sent };
    for (error, kind, nothing) in [
        (
            llm::Error::Refused { endpoint: endpoint(), status: 400, message: message() },
            FailureKind::AgentRefused,
            true,
        ),
        (
            llm::Error::Throttled { endpoint: endpoint(), after: None, message: message() },
            FailureKind::AgentThrottled,
            true,
        ),
        (
            llm::Error::TimedOut { endpoint: endpoint(), place: String::new(), limit: Duration::from_secs(1) },
            FailureKind::AgentTimeout,
            false,
        ),
        (
            llm::Error::Malformed { endpoint: endpoint(), message: message(), partial: String::new() },
            FailureKind::AgentMalformed,
            false,
        ),
        (unreachable(true), FailureKind::AgentUnreachable, false),
        (unreachable(false), FailureKind::AgentUnreachable, true),
        (
            llm::Error::Unreachable { endpoint: endpoint(), status: Some(503), message: message(), sent: true },
            FailureKind::AgentFailed,
            false,
        ),
        (
            llm::Error::OutOfResources { endpoint: endpoint(), message: message(), sent: false },
            FailureKind::OutOfResources,
            true,
        ),
        (llm::Error::Exhausted { endpoint: endpoint(), message: message() }, FailureKind::ProviderExhausted, true),
    ] {
        let model = script([Err(error)]);
        let mut session = agent(&Settings::default(), &model).open(start()).await.unwrap();
        let error = say(session.as_mut(), 1, "Hi").await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(matches!((&error.spent, nothing), (Spent::Nothing, true) | (Spent::Unknown, false)), "{error:?}");
        assert!(error.message.contains("script "), "{error}");
    }
}

#[tokio::test]
async fn an_answer_without_words_was_paid_for_all_the_same() {
    let usage = llm::Usage { input: 40, output: 7, ..llm::Usage::default() };
    let timing = llm::Timing { total: Duration::from_secs(2), ..llm::Timing::default() };
    let answer = |text: &str, finish: chat::Finish| chat::Reply {
        text: text.to_owned(),
        finish,
        receipt: Box::new(Receipt {
            usage,
            model: "m-1".to_owned(),
            timing,
            tries: 3,
            lost_tries: 1,
            cost_nanos: Some(900),
            ..Receipt::default()
        }),
        ..chat::Reply::default()
    };
    for (answer, kind, words) in [
        (
            answer("  \n", chat::Finish::Length),
            FailureKind::AgentEmpty,
            "script answered nothing: a token limit cut its reply",
        ),
        (
            answer("", chat::Finish::Refused),
            FailureKind::AgentRefused,
            "script refused, or a filter held its reply back",
        ),
        (
            answer("The password is", chat::Finish::Refused),
            FailureKind::AgentRefused,
            "script refused, or a filter held its reply back",
        ),
    ] {
        let said = answer.text.trim().to_owned();
        let model = script([Ok(answer)]);
        let mut session = agent(&Settings::default(), &model).open(start()).await.unwrap();
        let error = say(session.as_mut(), 1, "Hi").await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (kind, words));
        let Spent::Known(reply) = error.spent else { panic!("{error:?}") };
        assert_eq!((reply.usage, reply.cost_nanos, reply.model.as_str()), (Some(usage), Some(900), "m-1"));
        let kept: Vec<&str> = reply.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(kept.concat(), said, "its words before the filter are kept for the transcript");
        assert_eq!((reply.timing, reply.tries, reply.lost_tries), (timing, 3, 1));
    }
}

#[tokio::test]
async fn actions_alone_are_a_reply() {
    let model = script([Ok(chat::Reply { actions: vec!["REPLY".to_owned()], ..chat::Reply::default() })]);
    let mut session = agent(&Settings::default(), &model).open(start()).await.unwrap();
    assert_eq!(say(session.as_mut(), 1, "Hi").await.unwrap().actions, ["REPLY"]);
}

fn calls(text: &str, calls: &[(&str, &str, &str)], millis: u64) -> Result<chat::Reply, llm::Error> {
    let call = |(id, name, arguments): &(&str, &str, &str)| FunctionCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    Ok(chat::Reply {
        text: text.to_owned(),
        tool_calls: calls.iter().map(call).collect(),
        receipt: Box::new(Receipt {
            usage: llm::Usage { input: 10, output: 2, ..llm::Usage::default() },
            timing: llm::Timing {
                first_token: Some(Duration::from_millis(5)),
                total: Duration::from_millis(millis),
                retried: Duration::from_millis(millis * 2),
                ..llm::Timing::default()
            },
            tries: 1,
            cost_nanos: Some(100),
            ..Receipt::default()
        }),
        ..chat::Reply::default()
    })
}

fn orders(response: serde_json::Value, delay_ms: u64) -> Arc<crate::Tools> {
    let mock = scenario::mock::Mock {
        service: Some("orders".to_owned()),
        method: "lookup".to_owned(),
        when: None,
        response,
        response_fn: None,
        error: None,
        delay_ms,
        failure_probability: 0.0,
        description: None,
        parameters: None,
        set: Vec::new(),
    };
    Arc::new(crate::Tools::new(vec![mock], 7, serde_json::Map::new(), || 0))
}

#[tokio::test(start_paused = true)]
async fn calls_are_answered_by_mocks_until_the_model_answers_in_words() {
    let model = script([
        calls("One moment.", &[("c1", "orders_lookup", r#"{"id":7}"#), ("c2", "other", "")], 100),
        calls("It is on its way.", &[], 50),
        says("Bye."),
    ]);
    let agent = agent(&Settings::default(), &model);
    let tools = Some(orders(json!({ "state": "sent" }), 30));
    let mut session = agent.open(Start { tools, ..start() }).await.unwrap();
    let reply = say(session.as_mut(), 1, "Where is it?").await.unwrap();
    assert_eq!(reply.text, "It is on its way.");
    let results: Vec<_> = reply.tool_calls.iter().map(|call| (call.name.as_str(), call.result.as_deref())).collect();
    assert_eq!(results, [("orders_lookup", Some(r#"{"state":"sent"}"#)), ("other", None)]);
    let said: Vec<_> = reply.messages.iter().map(|said| (said.text.as_str(), said.tool_calls_before)).collect();
    assert_eq!(said, [("One moment.", 0), ("It is on its way.", 2)]);
    assert_eq!(reply.took(), Duration::from_millis(180), "the tool's time is the agent's");
    let requests: Vec<_> = reply.requests().map(|one| (one.timing.total.as_millis(), one.tools.as_millis())).collect();
    assert_eq!(requests, [(100, 30), (50, 0)], "each request is a call of its own");
    let of_each = |one: &Reply| (one.cost_nanos, one.usage.unwrap().input, one.tries);
    assert_eq!(reply.requests().map(of_each).collect::<Vec<_>>(), [(Some(100), 10, 1); 2]);

    say(session.as_mut(), 2, "Thanks").await.unwrap();
    let asked = model.asked.lock().unwrap();
    assert_eq!(asked[0].tools[0]["function"]["name"], "orders_lookup", "mocks are offered where nothing else is");
    let (second, third) = (&asked[1], &asked[2]);
    assert_eq!(
        words(second)[1..],
        [
            (MessageRole::Assistant, "One moment."),
            (MessageRole::Tool, r#"{"state":"sent"}"#),
            (MessageRole::Tool, super::NO_TOOL)
        ]
    );
    assert_eq!((second.context.call, second.context.idempotency_key.as_str()), (1, "trial-1/1/1"));
    assert_eq!(second.timeout, Some(Duration::from_millis(29_870)));
    assert_eq!((third.context.call, third.context.idempotency_key.as_str()), (0, "trial-1/2"));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_stops_calling_is_stopped() {
    let model = script((0..40).map(|_| calls("", &[("c", "lookup", "{}")], 10)));
    let mut session = agent(&Settings::default(), &model)
        .open(Start { tools: Some(orders(json!("x"), 0)), ..start() })
        .await
        .unwrap();
    let reply = say(session.as_mut(), 1, "Hi").await.unwrap();
    assert_eq!((reply.text.as_str(), reply.tool_calls.len()), ("", 17));
    assert_eq!(reply.tool_calls.iter().filter(|call| call.result.is_some()).count(), 16);
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_a_call_includes_the_earlier_cost() {
    let refused = llm::Error::Refused { endpoint: "script".to_owned(), status: 400, message: "m".to_owned() };
    let filtered = Ok(chat::Reply { text: "It is".to_owned(), finish: chat::Finish::Refused, ..Default::default() });
    let call = |text| calls(text, &[("c", "lookup", "{}")], 10);
    for (delay, second, kind) in [
        (0, Err(refused), FailureKind::AgentRefused),
        (0, says(" "), FailureKind::AgentEmpty),
        (0, filtered, FailureKind::AgentRefused),
        (31_000, says("never asked"), FailureKind::AgentTimeout),
    ] {
        let was_refused = second.is_err();
        let words = if kind == FailureKind::AgentEmpty { "" } else { "I look." };
        let model = script([call(words), second]);
        let tools = Some(orders(json!("x"), delay));
        let mut session = agent(&Settings::default(), &model).open(Start { tools, ..start() }).await.unwrap();
        let error = say(session.as_mut(), 1, "Hi").await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        // The error carries the earlier requests of the turn beside the failed one, or all of them.
        let (reply, requests) = match (error.earlier, error.spent) {
            (Some(earlier), Spent::Nothing) if was_refused => (earlier, 1),
            (None, Spent::Known(reply)) if !was_refused => {
                (reply, if kind == FailureKind::AgentTimeout { 1 } else { 2 })
            }
            other => panic!("{kind:?} {other:?}"),
        };
        assert_eq!((reply.tool_calls.len(), reply.requests().count()), (1, requests));
        assert_eq!(reply.requests().next().unwrap().usage.unwrap().input, 10);
        let said = usize::from(!words.is_empty()) + usize::from(kind == FailureKind::AgentRefused && !was_refused);
        assert_eq!(reply.messages.len(), said, "the text before the failure is kept");
    }
}

#[tokio::test(start_paused = true)]
async fn text_beside_the_last_call_precedes_it() {
    let model = script([calls("I look it up.", &[("c", "lookup", "{}")], 10), says(" ")]);
    let tools = Some(orders(json!("x"), 0));
    let mut session = agent(&Settings::default(), &model).open(Start { tools, ..start() }).await.unwrap();
    let reply = say(session.as_mut(), 1, "Hi").await.unwrap();
    assert_eq!((reply.text.as_str(), reply.messages[0].tool_calls_before), ("I look it up.", 0));
}
