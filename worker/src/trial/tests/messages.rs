//! An agent that calls tools within a turn: its texts and its calls are kept one by one.

use agent::Spent;
use record::turn::{Said, ToolCall};

use super::*;

fn request(started: u64, wait: u64, total: u64, tools: u64) -> agent::Reply {
    agent::Reply {
        model: "m".to_owned(),
        usage: Some(llm::Usage { input: 10, output: 2, ..llm::Usage::default() }),
        timing: llm::Timing {
            wait: SECOND * wait as u32,
            total: SECOND * total as u32,
            first_token: Some(SECOND / 2),
            ..llm::Timing::default()
        },
        tries: 1,
        cost_nanos: Some(100),
        started: Duration::from_secs(started),
        tools: Duration::from_secs(tools),
        ..agent::Reply::default()
    }
}

fn said(text: &str, tool_calls_before: u32) -> Said {
    Said { text: text.to_owned(), tool_calls_before }
}

/// Two requests: 1 s in line, 2 s, a tool for 3 s; then 1 s in line and 4 s.
fn two_rounds() -> agent::Reply {
    let call = ToolCall { id: "1".into(), name: "lookup".into(), arguments: "{}".into(), result: Some("x".into()) };
    agent::Reply {
        text: "It comes on Monday.".to_owned(),
        messages: vec![said("One moment.", 0), said("It comes on Monday.", 1)],
        tool_calls: vec![call],
        earlier: vec![request(0, 1, 2, 3)],
        ..request(6, 1, 4, 0)
    }
}

fn ask(evaluations: Value) -> Value {
    scenario(json!([{ "name": "one", "input": "Where is it?", "evaluations": evaluations }]), json!({}))
}

#[tokio::test(start_paused = true)]
async fn each_request_is_a_call_and_each_message_is_kept() {
    let cast = Cast::with(FakeAgent::new(|_, _| Does::Replies(Box::new(two_rounds()))));
    let checks = json!([contains("one moment"), contains("Monday"), judged("Is it fine?")]);
    let played = first(&ask(checks), &cast).await;
    assert_eq!(played.end(), (Verdict::Pass, None));
    let turn = &played.turns[0];
    assert_eq!(turn.messages, two_rounds().messages);
    assert_eq!(turn.said().as_deref(), Some("One moment.\nIt comes on Monday."));
    let calls: Vec<_> = turn.calls.iter().filter(|call| call.role == Role::Agent).collect();
    let times: Vec<_> = calls.iter().map(|call| (call.started_micros, call.wait_micros, call.total_micros)).collect();
    assert_eq!(times, [(0, 1_000_000, 2_000_000), (6_000_000, 1_000_000, 4_000_000)]);
    let spent = played.trial.spend.of(Role::Agent);
    assert_eq!((spent.calls, spent.tokens.input, spent.cost.0), (2, 20, 200));
    assert_eq!(played.trial.spend, played.sent);
    // The agent's own time, and the first token of the answer after all tool calls.
    assert_eq!(turn.duration_micros, 9_000_000);
    assert_eq!(played.trial.latencies[0].ttft_micros, Some(5_500_000));
    let shown = cast.judge.asked.lock().unwrap()[0].messages[1].content.clone();
    let places = ["One moment.", "lookup", "It comes on Monday."].map(|part| shown.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn messages_and_calls_before_a_failure_are_kept() {
    let cast = Cast::with(FakeAgent::new(|_, _| {
        let earlier =
            agent::Reply { messages: vec![said("One moment.", 0)], text: String::new(), ..request(0, 1, 2, 3) };
        let mut error = agent::Error::new(FailureKind::AgentUnreachable, "gone", Spent::Unknown);
        error.earlier = Some(Box::new(earlier));
        Does::Breaks(Box::new(error))
    }));
    let played = first(&ask(json!([contains("x")])), &cast).await;
    assert_eq!(played.end(), (Verdict::Error, Some((FailureKind::AgentUnreachable, Blame::Agent, Some(1)))));
    let turn = &played.turns[0];
    assert_eq!((turn.agent.as_deref(), turn.messages.len()), (None, 1));
    let calls: Vec<_> = turn.calls.iter().map(|call| (call.total_micros, call.error.is_some(), call.cost)).collect();
    assert_eq!(calls, [(2_000_000, false, Some(record::Usd(100))), (1_000_000, true, None)]);
    assert_eq!(turn.calls[1].started_micros, 6_000_000);
    assert_eq!(turn.duration_micros, 6_000_000, "its requests and its tool");
}
