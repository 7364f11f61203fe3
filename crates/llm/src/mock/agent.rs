//! The mock as the agent: takes up what the user says, asks when it is vague, gives steps, remembers.

use crate::{
    Message,
    model::{Speaker, ToolCall},
};

use super::{
    actions,
    chance::Key,
    topics::{self, Topic},
    words,
};

/// What the agent says and does.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) text: String,
    pub(crate) tool_calls: Vec<ToolCall>,
    pub(crate) actions: Vec<String>,
}

/// The answer to the last message, in the light of those before.
pub(crate) fn speak(request: &crate::Request, key: Key) -> Turn {
    let said: Vec<&str> = spoken_by(&request.messages, Speaker::User).collect();
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
    let text = compose(last, earlier, !deeds.actions.is_empty() || !deeds.tool_calls.is_empty(), key);
    Turn { text, tool_calls: deeds.tool_calls, actions: deeds.actions }
}

fn compose(last: &str, earlier: &[&str], acted: bool, key: Key) -> String {
    let subject = earlier.iter().copied().chain([last]);
    let topic = subject.map(topics::topic_of).find(|topic| topic.is_known()).unwrap_or(&topics::GENERAL);
    let mut parts: Vec<String> = Vec::with_capacity(6);

    if earlier.is_empty() && words::words(last).next().is_some_and(|first| GREETINGS.contains(&&*first.to_lowercase()))
    {
        parts.push("Hello!".to_owned());
    }
    if is_satisfied(last) {
        parts.push(format!("You are welcome! I am happy that I was able to help with your {}.", topic.name));
        parts.extend(recollection(last, earlier));
        parts.push("Do come back whenever another question comes up.".to_owned());
        return parts.join(" ");
    }
    if let Some(feeling) = feeling(last) {
        parts.push(format!("I'm sorry, I understand that this is {feeling}, and I will stay with you until it works."));
    }
    parts.push(take_up(last));
    if words::mentions(last, &["manager", "supervisor", "human", "escalat"]) {
        let promise = "I will escalate this to a specialist, who has everything that you told me and calls you today.";
        parts.push(promise.to_owned());
        parts.extend(recollection(last, earlier));
        return parts.join(" ");
    }
    if earlier.is_empty() && is_vague(last, topic) && !acted {
        parts.push(format!("I am happy to help. Could you tell me a little more? {}", topic.question));
        return parts.join(" ");
    }
    parts.extend(recollection(last, earlier));
    if acted {
        parts.push("I have looked it up for you and put together a short summary of the result.".to_owned());
    }
    let learns = earlier.iter().copied().chain([last]).any(topics::wants_to_learn);
    parts.push(if learns { lesson(topic, earlier.len(), key) } else { advice(topic, earlier.len(), key) });
    parts.join(" ")
}

/// Says back what the user said, sentence by sentence, so that they see it was heard.
fn take_up(last: &str) -> String {
    const LIMIT: usize = 240;
    let mut said = String::new();
    for sentence in words::sentences(last).filter(|sentence| !is_greeting(sentence)) {
        let core = without_greeting(sentence).trim_end_matches(['.', '!', '?', ',', ' ']);
        if core.is_empty() {
            continue;
        }
        if said.len() + core.len() > LIMIT {
            return words_only(last);
        }
        if !said.is_empty() {
            said.push(' ');
        }
        said.push_str(&heard(core, sentence.ends_with('?')));
    }
    if said.is_empty() { "I am happy to help.".to_owned() } else { said }
}

fn heard(core: &str, question: bool) -> String {
    let first = words::words(core).next().unwrap_or_default();
    let is = |known: &[&str]| known.iter().any(|word| word.eq_ignore_ascii_case(first));
    if question {
        format!("You ask: \"{core}?\"")
    } else if is(&["i", "i'm", "i've", "my", "we", "our"]) {
        format!("I understand that {}.", words::lower_first(&words::reflect(core)))
    } else if is(&IMPERATIVES) {
        format!("You would like me to {}.", words::lower_first(&words::reflect(core)))
    } else {
        format!("You say: \"{core}\".")
    }
}

/// A long message in its salient words alone.
fn words_only(text: &str) -> String {
    format!("I understand that this is about {}.", words::salient(text, 24).join(", "))
}

/// What was said before and still counts: numbers with the word before them, names, the first subject.
fn recollection(last: &str, earlier: &[&str]) -> Option<String> {
    const MOST: usize = 6;
    let mut facts: Vec<String> = Vec::new();
    for text in earlier {
        let mut before = "";
        for word in words::words(text) {
            if facts.len() < MOST && word.bytes().any(|byte| byte.is_ascii_digit()) && !last.contains(word) {
                facts.push(if before.is_empty() { word.to_owned() } else { format!("{before} {word}") });
            }
            before = word;
        }
    }
    let first = earlier.first()?;
    for word in words::salient(first, MOST) {
        if facts.len() < MOST && !facts.iter().any(|fact| words::contains_ignoring_case(fact, word)) {
            facts.push(word.to_owned());
        }
    }
    let name = earlier.iter().find_map(|text| name_in(text));
    let memory =
        (!facts.is_empty()).then(|| format!("I still have in mind what you told me: {}.", facts.join(", ")))?;
    Some(match name {
        Some(name) => format!("{memory} I have not forgotten your name either, {name}."),
        None => memory,
    })
}

fn name_in(text: &str) -> Option<&str> {
    let at = ["my name is ", "My name is "].iter().find_map(|start| text.find(start).map(|at| at + start.len()))?;
    words::words(&text[at..]).next()
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
    // Who has more to say than thanks is thanking in advance.
    words::mentions(last, &["thank"]) && !last.contains('?') && last.len() < 120
}

/// How the user feels, as the agent would name it.
fn feeling(last: &str) -> Option<&'static str> {
    const FEELINGS: [(&[&str], &str); 5] = [
        (&["stress", "panic", "deadline", "urgent", "anxious", "overwhelm"], "stressful"),
        (&["frustrat", "annoy", "ridiculous", "unacceptable", "angry", "furious", "terrible"], "frustrating"),
        (&["confus", "lost", "puzzl"], "confusing"),
        (&["worr", "afraid", "scared", "nervous"], "worrying"),
        (&["upset", "sad", "disappoint"], "upsetting"),
    ];
    FEELINGS.iter().find(|(starts, _)| words::mentions(last, starts)).map(|(_, name)| *name)
}

const IMPERATIVES: [&str; 26] = [
    "please",
    "list",
    "show",
    "tell",
    "explain",
    "create",
    "read",
    "give",
    "write",
    "help",
    "find",
    "check",
    "cancel",
    "book",
    "describe",
    "summarize",
    "teach",
    "search",
    "open",
    "close",
    "send",
    "compare",
    "translate",
    "remind",
    "name",
    "recommend",
];

const GREETINGS: [&str; 6] = ["hello", "hi", "hey", "good morning", "good evening", "dear team"];

fn is_greeting(sentence: &str) -> bool {
    let core = sentence.trim_end_matches(['.', '!', ',', ' ']);
    GREETINGS.iter().any(|greeting| core.eq_ignore_ascii_case(greeting))
}

fn without_greeting(sentence: &str) -> &str {
    let sentence = sentence.trim_start();
    GREETINGS
        .iter()
        .find_map(|greeting| {
            let rest = words::begins(sentence, greeting).then(|| &sentence[greeting.len()..])?;
            rest.starts_with(',').then(|| rest.trim_start_matches([',', ' ']))
        })
        .unwrap_or(sentence)
}

fn spoken_by(messages: &[Message], speaker: Speaker) -> impl Iterator<Item = &str> {
    messages.iter().filter(move |message| message.role == speaker).map(|message| message.content.as_str())
}

/// The tool's answer, where that is what the agent has to speak about.
fn tool_result(messages: &[Message]) -> Option<&str> {
    messages.last().filter(|message| message.role == Speaker::Tool).map(|message| message.content.as_str())
}
