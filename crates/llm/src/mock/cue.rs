//! The mock agent in a scripted scenario: it follows its cue.

use crate::{
    chat::Request,
    cue::Cue,
    message::{FunctionCall, MessageRole},
};

use super::{
    agent::{self, Turn},
    chance::Key,
};

/// Tools are called once: if their results exist already, only the text remains.
pub(crate) fn follow(cue: &Cue, request: &Request, key: Key) -> Turn {
    let called = request.messages.iter().rev().take_while(|message| message.role == MessageRole::Tool);
    let has_results = called.into_iter().any(|message| message.tool_call_id.is_some());
    let tool_calls: Vec<FunctionCall> = if has_results { &[][..] } else { &cue.tool_calls }
        .iter()
        .zip(0..)
        .map(|(call, index)| FunctionCall {
            id: format!("call_{:016x}", key.text(&call.name).number(index).value()),
            ..call.clone()
        })
        .collect();
    if cue.text.trim().is_empty() && tool_calls.is_empty() && cue.actions.is_empty() {
        return Turn { notes: cue.notes.clone(), ..agent::speak(request, key) };
    }
    Turn { text: cue.text.clone(), tool_calls, actions: cue.actions.clone(), notes: cue.notes.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    #[test]
    fn the_cue_is_followed_and_its_tools_are_called_once() {
        let call = FunctionCall { name: "get_menu".to_owned(), arguments: "{}".to_owned(), ..FunctionCall::default() };
        let cue = Cue { text: "Pizza".to_owned(), tool_calls: vec![call], ..Cue::default() };
        let mut request = Request { messages: vec![Message::user("What is on the menu?")], ..Request::default() };
        let first = follow(&cue, &request, Key::new(1));
        assert_eq!((first.text.as_str(), first.tool_calls[0].name.as_str()), ("Pizza", "get_menu"));
        let mut result = Message::new(MessageRole::Tool, "Pizza, Pasta");
        result.tool_call_id = Some(first.tool_calls[0].id.clone());
        request.messages.push(result);
        let second = follow(&cue, &request, Key::new(1));
        assert_eq!((second.text.as_str(), second.tool_calls.len()), ("Pizza", 0));
    }

    #[test]
    fn an_empty_cue_leaves_the_words_to_the_mock() {
        let request = Request { messages: vec![Message::user("Where is my order 7?")], ..Request::default() };
        assert!(!follow(&Cue::default(), &request, Key::new(1)).text.is_empty());
    }
}
