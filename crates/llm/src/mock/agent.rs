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
    if let Some(feeling) = Feeling::of(last) {
        let again = earlier.iter().any(|text| Feeling::of(text) == Some(feeling));
        parts.push(feeling.sympathy(again).to_owned());
    }
    parts.extend(take_up(last, !earlier.is_empty()));
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
    // A first message that only got a question back has had no advice yet.
    let asked_back = earlier.first().is_some_and(|first| is_vague(first, topics::topic_of(first)));
    let stage = earlier.len() - usize::from(asked_back);
    parts.push(if learns { lesson(topic, stage, key) } else { advice(topic, stage, key) });
    parts.join(" ")
}

/// Says back what the user said, so that they see it was heard: all of it at first, later the main points.
fn take_up(last: &str, later: bool) -> Option<String> {
    const LIMIT: usize = 400;
    let weight = |sentence: &str| words::salient(sentence, 24).len() + usize::from(sentence.ends_with('?'));
    let mut cores: Vec<&str> = words::sentences(last).filter(|sentence| !is_greeting(sentence)).collect();
    if later {
        cores.retain(|sentence| weight(sentence) > 1 && (Feeling::of(sentence).is_none() || weight(sentence) > 4));
        cores.truncate(2);
    } else if cores.iter().map(|sentence| sentence.len()).sum::<usize>() > LIMIT {
        return Some(format!("I understand that this is about {}.", words::salient(last, 24).join(", ")));
    }
    let said: Vec<String> = cores.into_iter().filter_map(heard).collect();
    (!said.is_empty()).then(|| words::shorten(&said.join(" "), 2 * LIMIT))
}

/// A sentence from the agent's side; nothing for one without words.
fn heard(sentence: &str) -> Option<String> {
    let core = without_greeting(sentence).trim_end_matches(['.', '!', '?', ',', ' ']);
    let first = words::words(core).next()?;
    let is = |known: &[&str]| known.iter().any(|word| word.eq_ignore_ascii_case(first));
    Some(if sentence.ends_with('?') {
        format!("You ask: \"{core}?\"")
    } else if is(&STARTS_OF_OWN) {
        format!("I understand that {}.", words::lower_first(&words::reflect(core)))
    } else if is(&IMPERATIVES) {
        format!("You would like me to {}.", words::lower_first(&words::reflect(without_please(core))))
    } else {
        format!("You say: \"{core}\".")
    })
}

/// What was said before and still counts: the first matter, numbers with the word before them, the name.
fn recollection(last: &str, earlier: &[&str]) -> Option<String> {
    const MOST: usize = 4;
    let first = earlier.first()?;
    let matter = words::sentences(first).max_by_key(|sentence| words::salient(sentence, 24).len())?;
    let core = without_greeting(matter).trim_end_matches(['.', '!', '?', ',', ' ']);
    let mut memory = String::new();
    if words::salient(core, 2).len() == 2 {
        let own = words::words(core).next().is_some_and(|word| STARTS_OF_OWN.contains(&&*word.to_lowercase()));
        memory = if own && !matter.ends_with('?') {
            format!("I have not forgotten that {}.", words::lower_first(&words::reflect(&words::shorten(core, 160))))
        } else {
            format!("I have not forgotten what you began with: \"{}\".", words::shorten(core, 160))
        };
    }
    let mut facts: Vec<String> = Vec::new();
    for text in earlier {
        let mut before = "";
        for word in words::words(text) {
            let is_fact = word.bytes().any(|byte| byte.is_ascii_digit());
            if is_fact && facts.len() < MOST && !last.contains(word) && !memory.contains(word) {
                facts.push(if before.is_empty() { word.to_owned() } else { format!("{before} {word}") });
            }
            before = word;
        }
    }
    if !facts.is_empty() {
        memory.push_str(&format!(" I have noted: {}.", facts.join(", ")));
    }
    if let Some(name) = earlier.iter().find_map(|text| name_in(text)).filter(|name| !memory.contains(name)) {
        memory.push_str(&format!(" I remember your name, too, {name}."));
    }
    (!memory.is_empty()).then(|| memory.trim_start().to_owned())
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

/// How the user feels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feeling {
    Stressed,
    Frustrated,
    Confused,
    Worried,
    Sad,
}

impl Feeling {
    fn of(text: &str) -> Option<Self> {
        const SIGNS: [(&[&str], Feeling); 5] = [
            (&["stress", "panic", "deadline", "urgent", "overwhelm", "hurry"], Feeling::Stressed),
            (&["frustrat", "annoy", "ridiculous", "unacceptable", "angry", "furious", "terrible"], Feeling::Frustrated),
            (&["confus", "lost", "puzzl"], Feeling::Confused),
            (&["worr", "afraid", "scared", "nervous", "anxious"], Feeling::Worried),
            (&["upset", "sad", "disappoint"], Feeling::Sad),
        ];
        SIGNS.iter().find(|(starts, _)| words::mentions(text, starts)).map(|(_, feeling)| *feeling)
    }

    fn sympathy(self, again: bool) -> &'static str {
        match (self, again) {
            (Self::Stressed, false) => "I'm sorry, I understand how stressful this is. Let us get it out of the way.",
            (Self::Stressed, true) => "I understand that time is short.",
            (Self::Frustrated, false) => {
                "I'm sorry, I understand how frustrating this is, and I will stay with you until it works."
            }
            (Self::Frustrated, true) => "I understand that this is still frustrating.",
            (Self::Confused, false) => "I understand that this is confusing at first, so let us take it slowly.",
            (Self::Confused, true) => "I understand, one thing at a time.",
            (Self::Worried, false) => "I understand that this is worrying, but nothing is lost.",
            (Self::Worried, true) => "I understand, and you are nearly there.",
            (Self::Sad, false) => "I'm sorry, I understand that this is upsetting.",
            (Self::Sad, true) => "I understand how you feel.",
        }
    }
}

/// Beginnings of sentences that speakers say of themselves.
const STARTS_OF_OWN: [&str; 6] = ["i", "i'm", "i've", "my", "we", "our"];

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

fn without_please(core: &str) -> &str {
    if words::begins(core, "please ") { core["please ".len()..].trim_start() } else { core }
}

fn spoken_by(messages: &[Message], speaker: Speaker) -> impl Iterator<Item = &str> {
    messages.iter().filter(move |message| message.role == speaker).map(|message| message.content.as_str())
}

/// The tool's answer, where that is what the agent has to speak about.
fn tool_result(messages: &[Message]) -> Option<&str> {
    messages.last().filter(|message| message.role == Speaker::Tool).map(|message| message.content.as_str())
}
