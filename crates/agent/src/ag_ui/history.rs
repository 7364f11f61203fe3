//! The history that runs get: the messages of earlier runs with their ids and tool calls.

use llm::{Message, MessageRole};
use serde_json::{Value, json};

/// A played turn.
#[derive(Debug, Clone)]
pub(super) struct PlayedTurn {
    /// The reply, by which the history of the conversation is matched.
    pub(super) text: String,
    /// The messages of the turn in both directions.
    pub(super) messages: Vec<Value>,
}

/// New messages of the user, with ids that no other message has.
pub(super) fn said(new: &[Message], key: &str) -> Vec<Value> {
    new.iter().enumerate().map(|(index, message)| plain(message, &format!("{key}/{index}"))).collect()
}

/// The history. A reply that was played includes everything that came in its turn. Other messages are the opening of
/// the scenario, and answers that the scenario replaced.
pub(super) fn wire(before: &[Message], played: &[PlayedTurn]) -> Vec<Value> {
    let replies = before.iter().filter(|message| message.role == MessageRole::Assistant).count();
    let mut wire = Vec::new();
    // The turn is played if its reply is the same, counted from the last one.
    let turn_of = |reply: usize| played.get((played.len() + reply).checked_sub(replies)?);
    let (mut reply, mut turn_begins) = (0, 0);
    for (index, message) in before.iter().enumerate() {
        wire.push(plain(message, &format!("before/{index}")));
        if message.role != MessageRole::Assistant {
            continue;
        }
        if let Some(turn) = turn_of(reply).filter(|turn| turn.text == message.content) {
            wire.truncate(turn_begins);
            wire.extend_from_slice(&turn.messages);
        }
        (reply, turn_begins) = (reply + 1, wire.len());
    }
    wire
}

fn plain(message: &Message, id: &str) -> Value {
    let role = match message.role {
        MessageRole::System => "system",
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        // A result without its call, which only a tool message could name.
        MessageRole::Tool => "developer",
    };
    json!({ "id": id, "role": role, "content": message.content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_that_were_played_come_whole() {
        let turn = |n: u32| PlayedTurn {
            text: format!("a{n}"),
            messages: vec![
                json!({ "id": format!("u{n}") }),
                json!({ "id": format!("c{n}") }),
                json!({ "id": format!("a{n}") }),
            ],
        };
        let message = |text: &str| match text.as_bytes()[0] {
            b'u' => Message::user(text),
            b's' => Message::system(text),
            _ => Message::assistant(text),
        };
        let rows = [
            ("", ""),
            ("u1 a1 u2 a2", "u1 c1 a1 u2 c2 a2"),
            // The scenario's opening, a history that is cut, an answer that is replaced.
            ("s0 u0 a0 u1 a1 u2 a2", "before/0 before/1 before/2 u1 c1 a1 u2 c2 a2"),
            ("a1 u2 a2", "u1 c1 a1 u2 c2 a2"),
            ("u2 a2", "u2 c2 a2"),
            ("u1 a1 u2 b2", "u1 c1 a1 before/2 before/3"),
        ];
        for (before, expected) in rows {
            let before: Vec<Message> = before.split_whitespace().map(message).collect();
            let wire = wire(&before, &[turn(1), turn(2)]);
            let ids: Vec<&str> = wire.iter().filter_map(|message| message["id"].as_str()).collect();
            assert_eq!(ids.join(" "), expected);
        }
        let new = said(&[Message::user("hi"), Message::system("it rains")], "t/1");
        assert_eq!(
            json!(new),
            json!([
                { "id": "t/1/0", "role": "user", "content": "hi" },
                { "id": "t/1/1", "role": "system", "content": "it rains" },
            ])
        );
    }
}
