//! The history of a conversation: the agent keeps it, or gabfest sends it with every call.

use llm::MessageRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of the conversation is sent before the current message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// Nothing: the agent keeps the history, by the id of the conversation or of its own session.
    Agent,
    /// All of it.
    Full,
    /// So many of the latest messages.
    Last(u32),
}

impl History {
    /// Takes away the messages that are not sent again. Instructions at the beginning stay.
    pub(crate) fn trim(self, messages: &mut Vec<llm::Message>) {
        let kept = match self {
            Self::Full => return,
            Self::Agent => 0,
            Self::Last(kept) => usize::try_from(kept).unwrap_or(usize::MAX),
        };
        let first = messages.iter().take_while(|message| message.role == MessageRole::System).count();
        let mut from = first.max(messages.len().saturating_sub(kept));
        // A tool's answer without the call that it answers is refused by chat protocols.
        while messages.get(from).is_some_and(|message| message.role == MessageRole::Tool) {
            from += 1;
        }
        messages.drain(first..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trimmed(history: History, roles: &str) -> String {
        let role = |letter| match letter {
            's' => MessageRole::System,
            'u' => MessageRole::User,
            't' => MessageRole::Tool,
            _ => MessageRole::Assistant,
        };
        let mut messages: Vec<llm::Message> = roles
            .chars()
            .enumerate()
            .map(|(n, letter)| llm::Message::new(role(letter), format!("{letter}{n}")))
            .collect();
        history.trim(&mut messages);
        messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_history_that_is_sent() {
        let rows = [
            (History::Full, "suaua", "s0 u1 a2 u3 a4"),
            (History::Agent, "suaua", "s0"),
            (History::Agent, "", ""),
            (History::Last(2), "suaua", "s0 u3 a4"),
            (History::Last(0), "ua", ""),
            (History::Last(99), "sua", "s0 u1 a2"),
            (History::Last(2), "uatta", "a4"),
            (History::Last(1), "uat", ""),
        ];
        for (history, roles, expected) in rows {
            assert_eq!(trimmed(history, roles), expected, "{history:?} {roles}");
        }
    }

    #[test]
    fn it_is_written_as_a_word_or_a_number() {
        let read = |text: &str| serde_json::from_str::<History>(text).ok();
        assert_eq!(read(r#""agent""#), Some(History::Agent));
        assert_eq!(read(r#""full""#), Some(History::Full));
        assert_eq!(read(r#"{"last":6}"#), Some(History::Last(6)));
        assert_eq!(read(r#""some""#), None);
    }
}
