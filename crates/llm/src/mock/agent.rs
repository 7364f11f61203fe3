//! The mock agent: repeats the user's point, asks when it is vague, gives steps, remembers.

use crate::{
    chat::Request,
    message::{Annotation, FunctionCall, Message, MessageRole},
};

use super::{
    actions,
    chance::Key,
    echo,
    feeling::Feeling,
    topics::{self, Topic},
    words,
};

/// What the agent says and does.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) text: String,
    pub(crate) tool_calls: Vec<FunctionCall>,
    pub(crate) actions: Vec<String>,
    pub(crate) notes: Vec<Annotation>,
}

/// The answer to the last message, in the light of those before.
pub(crate) fn speak(request: &Request, key: Key) -> Turn {
    let said: Vec<&str> = spoken_by(&request.messages, MessageRole::User).collect();
    let last = said.last().copied().unwrap_or_default();
    let earlier = &said[..said.len().saturating_sub(1)];

    if let Some(result) = tool_result(&request.messages) {
        let text = format!(
            "Here is what I found on {}: {}. Does this help you?",
            topic_words(last, earlier),
            words::shorten(result, 300)
        );
        return Turn { text, ..Turn::default() };
    }
    let deeds = actions::suggested(request, last, key);
    let did = match (deeds.tool_calls.first(), deeds.actions.first()) {
        (Some(_), _) => Some("One moment, I am looking that up."),
        (None, Some(_)) => Some("I have seen to it, and here is the short summary:"),
        (None, None) => None,
    };
    let text = compose(last, earlier, did, key);
    Turn { text, tool_calls: deeds.tool_calls, actions: deeds.actions, notes: Vec::new() }
}

/// `did`: how the agent describes its action.
fn compose(last: &str, earlier: &[&str], did: Option<&str>, key: Key) -> String {
    let mut subjects = earlier.iter().copied().chain([last]).map(topics::topic_of);
    let topic = subjects.find(|topic| topic.is_known()).unwrap_or(&topics::GENERAL);
    let memory = || echo::recollection(last, earlier, key);
    let mut parts: Vec<String> = Vec::with_capacity(6);
    if is_satisfied(last) {
        parts.push(format!("You are welcome! I am happy that I was able to help with your {}.", topic.name));
        parts.extend(memory());
        parts.push("Do come back whenever another question comes up.".to_owned());
        return parts.join(" ");
    }
    if earlier.is_empty() && echo::begins_with_greeting(last) {
        parts.push("Hello!".to_owned());
    }
    if let Some(feeling) = Feeling::of(last) {
        let again = earlier.iter().any(|text| Feeling::of(text) == Some(feeling));
        parts.push(feeling.sympathy(again).to_owned());
    }
    parts.extend(echo::take_up(last, !earlier.is_empty()));
    if words::mentions(last, &["manager", "supervisor", "human", "escalat"]) {
        let promise = "I will escalate this to a specialist, who has everything that you told me and calls you today.";
        parts.push(promise.to_owned());
        parts.extend(memory());
    } else if earlier.is_empty() && is_vague(last, topic) && did.is_none() {
        parts.push(format!("I am happy to help. Could you tell me a little more? {}", topic.question));
    } else {
        parts.extend(memory());
        parts.push(match did {
            Some(did) => format!("{did} {} Does this answer your question?", topic.detail),
            None => help(last, earlier, topic, key),
        });
    }
    parts.join(" ")
}

fn help(last: &str, earlier: &[&str], topic: &Topic, key: Key) -> String {
    // If the first message only led to a question, there was no advice yet.
    let asked_back = earlier.first().is_some_and(|first| is_vague(first, topics::topic_of(first)));
    let stage = earlier.len() - usize::from(asked_back);
    let learns = || earlier.iter().copied().chain([last]).any(topics::wants_to_learn);
    if topic.is_taught || !topic.is_known() && learns() { lesson(topic, stage, key) } else { advice(topic, stage, key) }
}

fn advice(topic: &Topic, stage: usize, key: Key) -> String {
    let [first, second, third] = topic.steps;
    match stage % 3 {
        0 => {
            let lead = key.text("lead").pick(&[
                "Here is how to fix this, follow these steps:",
                "To fix this, follow these steps:",
                "Here is a way that works, follow these steps:",
            ]);
            format!("{lead} 1. {first}; 2. {second}; 3. {third}. Does that help you?")
        }
        1 => {
            let check = key.text("check").pick(&[
                "Please tell me what you see after the second step.",
                "Which of the steps are you at now?",
                "Tell me at once if one of the steps looks different on your side.",
            ]);
            format!("{} To fix this, go on with: {second}; then {third}. {check}", topic.detail)
        }
        _ => {
            let close = key.text("close").pick(&[
                "Is there anything in this that I should explain better?",
                "Does this answer your question?",
                "Shall we look at the next part?",
            ]);
            format!("In short, for your {}: {first}, and then {third}. {} {close}", topic.name, topic.detail)
        }
    }
}

fn lesson(topic: &Topic, stage: usize, key: Key) -> String {
    let [first, second, third] = topic.steps;
    let check = key.text("check").pick(&[
        "Does this make sense so far?",
        "Which part should I explain in other words?",
        "Would another example from daily life help?",
    ]);
    match stage % 3 {
        0 => format!("Let me explain it step by step, in plain words: {first}. {} {check}", topic.detail),
        1 => format!("For example: {second}. That is the whole idea behind {}. {check}", topic.name),
        _ => format!("Now the practical part, follow these steps: {first}; {second}; {third}. {check}"),
    }
}

fn topic_words(last: &str, earlier: &[&str]) -> String {
    let source = if words::salient(last, 1).is_empty() { earlier.last().copied().unwrap_or_default() } else { last };
    words::salient(source, 8).join(", ")
}

fn is_vague(last: &str, topic: &Topic) -> bool {
    let has_number = last.bytes().any(|byte| byte.is_ascii_digit());
    let salient = words::salient(last, 5).len();
    !has_number && (salient < 3 && !(topic.is_known() && last.contains('?')) || words::mentions(last, &["something"]))
}

fn is_satisfied(last: &str) -> bool {
    // A longer message thanks in advance.
    words::mentions(last, &["thank"]) && !last.contains('?') && last.len() < 120
}

fn spoken_by(messages: &[Message], role: MessageRole) -> impl Iterator<Item = &str> {
    messages.iter().filter(move |message| message.role == role).map(|message| message.content.as_str())
}

/// The tool's answer, if the agent has to report it.
fn tool_result(messages: &[Message]) -> Option<&str> {
    messages.last().filter(|message| message.role == MessageRole::Tool).map(|message| message.content.as_str())
}
