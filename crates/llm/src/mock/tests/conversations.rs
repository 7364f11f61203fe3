//! Agent and user of the mock talk to each other, and it reads like a conversation.

use super::{ask, request};
use crate::{
    Context, Message, MessageRole,
    chat::{Finish, Request},
    mock::{Behaviour, PassRule, UNHELPFUL},
};

/// The user, and the words that must occur where the agent addresses the topic.
struct Row {
    profile: &'static str,
    opening: &'static str,
    topic: &'static [&'static str],
}

const ROWS: [Row; 4] = [
    Row {
        profile: "Persona: angry customer\nObjective: get a refund for the second charge\nStyle: impatient\nMood: frustrated",
        opening: "I was charged twice for order 48213 and I am really frustrated!",
        topic: &["charged twice", "48213", "frustrat", "refund"],
    },
    Row {
        profile: "Persona: stressed office worker\nObjective: log in again\nMood: stressed",
        opening: "I forgot my password, I am so stressed, my deadline is in an hour.",
        topic: &["password", "deadline", "stress", "follow these steps"],
    },
    Row {
        profile: "Persona: curious beginner\nObjective: understand what machine learning is\nKnowledge: beginner",
        opening: "Can you explain how machine learning works?",
        topic: &["machine learning", "explain", "?"],
    },
    Row {
        profile: "Persona: shy person\nObjective: change my booking",
        opening: "Hello, I need help.",
        topic: &["help", "?"],
    },
];

/// (the user's message, the agent's answer), until the user is satisfied or after twelve turns.
async fn talk(row: &Row, behaviour: &Behaviour, seed: u64) -> Vec<(String, String)> {
    let mut turns: Vec<(String, String)> = Vec::new();
    let mut line = row.opening.to_owned();
    for turn in 1..=12 {
        let mut messages = Vec::new();
        for (user, agent) in &turns {
            messages.extend([Message::user(user.clone()), Message::assistant(agent.clone())]);
        }
        messages.push(Message::user(line.clone()));
        let said = ask(behaviour, &at_turn(request("agent", seed * 100 + turn, messages), turn, seed)).await.text;
        turns.push((line, said));
        let mut system = row.profile.to_owned();
        let recent = turns.len().saturating_sub(3);
        for (number, (user, agent)) in turns[..recent].iter().enumerate() {
            system.push_str(&format!("\nTurn {}. You: {user} Assistant: {agent}", number + 1));
        }
        let mut messages = vec![Message::system(system), Message::user("Go on with the conversation.")];
        for (user, agent) in &turns[recent..] {
            messages.extend([Message::assistant(user.clone()), Message::user(agent.clone())]);
        }
        line = ask(behaviour, &at_turn(request("user_sim", seed * 100 + turn, messages), turn + 1, seed)).await.text;
        if line.contains("hank you") {
            turns.push((line, String::new()));
            break;
        }
    }
    turns
}

fn at_turn(request: Request, turn: u64, trial: u64) -> Request {
    let context = Context { turn: turn as u32, trial: format!("trial-{trial}"), ..request.context.clone() };
    Request { context, ..request }
}

#[tokio::test]
async fn users_are_content_after_two_to_four_good_replies() {
    for row in &ROWS {
        let mut lengths = Vec::new();
        for seed in 0..30 {
            let turns = talk(row, &Behaviour::default(), seed).await;
            let (last, before) = turns.split_last().expect("turns");
            assert!(last.0.contains("hank you"), "{turns:?}");
            lengths.push(before.len());
            let first = before[0].1.to_lowercase();
            for topic in row.topic {
                assert!(first.contains(topic), "{topic:?} is not in {first:?}");
            }
            for (user, agent) in before {
                assert!(!user.trim().is_empty() && !agent.trim().is_empty());
                assert!(!user.contains(UNHELPFUL) && !agent.contains(UNHELPFUL));
                for closing in ["perfect", "great", "solved", "fixed", "resolved"] {
                    assert!(!user.to_lowercase().split_whitespace().any(|word| word == closing), "{user}");
                }
            }
            for pair in before.windows(2) {
                assert_ne!(pair[0].1, pair[1].1);
            }
        }
        assert!(lengths.iter().all(|length| (2..=4).contains(length)), "{lengths:?}");
        assert!((2..=4).all(|length| lengths.contains(&length)), "{lengths:?}");
    }
}

#[tokio::test]
async fn the_user_does_not_thank_for_a_refusal() {
    let never = Behaviour {
        pass: vec![PassRule { scenario: None, persona: None, turn: None, probability: 0.0 }],
        ..Behaviour::default()
    };
    for row in &ROWS {
        let turns = talk(row, &never, 1).await;
        assert_eq!(turns.len(), 12);
        assert!(turns.iter().all(|(user, agent)| agent == UNHELPFUL && !user.contains("hank")), "{turns:?}");
    }
}

#[tokio::test]
async fn the_agent_remembers() {
    let said = ["My name is Dana and my order 48213 is late.", "It should go to another address.", "And what now?"];
    let mut messages = Vec::new();
    let mut last = String::new();
    for (index, line) in said.iter().enumerate() {
        messages.push(Message::user(*line));
        let question = at_turn(request("agent", 9, messages.clone()), index as u64 + 1, 9);
        last = ask(&Behaviour::default(), &question).await.text;
        messages.push(Message::assistant(last.clone()));
    }
    for fact in ["Dana", "order 48213", "late"] {
        assert!(last.contains(fact), "{fact:?} is not in {last:?}");
    }
}

#[tokio::test]
async fn tools_and_plugins_are_used() {
    let mut question = request("agent", 1, vec![Message::user("List open issues for elizaOS/eliza")]);
    question.extra.insert("plugins".to_owned(), serde_json::json!([{ "name": "@elizaos/plugin-github" }]));
    let reply = ask(&Behaviour::default(), &question).await;
    assert_eq!(reply.actions, ["LIST_GITHUB_ISSUES"]);
    assert!(reply.text.contains("issues") && reply.text.contains("elizaOS/eliza"), "{}", reply.text);

    let mut question = request("agent", 1, vec![Message::user("What is the weather in Oslo?")]);
    question.tools = vec![serde_json::json!({ "type": "function", "function": { "name": "get_weather" } })];
    let reply = ask(&Behaviour::default(), &question).await;
    assert_eq!((reply.tool_calls.len(), reply.finish), (1, Finish::ToolCalls));
    assert!(!reply.text.is_empty());
    question.messages.push(Message::new(MessageRole::Tool, "4 degrees, rain"));
    let reply = ask(&Behaviour::default(), &question).await;
    assert!(reply.text.contains("4 degrees, rain") && reply.tool_calls.is_empty(), "{}", reply.text);
}

#[tokio::test]
async fn odd_questions_are_answered() {
    let rows =
        ["", " ", "?", "日本語で話してください", "a\u{301}", "!!! ... ???", &"word ".repeat(20_000), "\u{0}\u{1b}[31m"];
    for text in rows {
        for role in ["agent", "user_sim", "judge"] {
            let reply = ask(&Behaviour::default(), &request(role, 1, vec![Message::user(text)])).await;
            assert!(!reply.text.trim().is_empty(), "{role} {text:?}");
        }
    }
    assert!(!ask(&Behaviour::default(), &Request::default()).await.text.is_empty());
}

/// The trial's id does not depend on the run's seed, and the user must.
#[tokio::test]
async fn another_seed_is_another_patience() {
    let messages = |replies: usize| {
        let mut messages = vec![Message::system("Objective: get a refund"), Message::user("Begin the conversation.")];
        for _ in 0..replies {
            messages.extend([Message::assistant("I was charged twice."), Message::user("I have started a refund.")]);
        }
        messages
    };
    for (replies, least, most) in [(1, 0, 0), (2, 30, 80), (3, 60, 120), (4, 160, 160)] {
        let mut content = 0;
        for seed in 0..160 {
            let request = at_turn(request("user_sim", seed, messages(replies)), 2, 7);
            let said = ask(&Behaviour::default(), &request).await.text;
            assert_eq!(ask(&Behaviour::default(), &request).await.text, said, "one seed, one answer");
            content += usize::from(said.contains("hank"));
        }
        assert!((least..=most).contains(&content), "{content} of 160 are content after {replies} replies");
    }
}
