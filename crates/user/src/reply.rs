//! Reads the model's answer as a draft: a JSON object, or text with marks such as `###DONE###`.

use std::sync::LazyLock;

use record::stop::Signal;
use regex::{Captures, Regex};
use scenario::user::{Extras, ReplyForm};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    cleaning,
    draft::{Draft, UserCall},
};

/// Tiny models drop a sign or add a space.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)#{2,5}[ \t]*(?:(done|gave[_ ]up|handed[_ ]over|out[_ -]of[_ -]scope)|part[ \t:]+([^#\n]{1,80}?))[ \t]*(?:#{2,5}|$|\n)",
    )
    .expect("the expression is fixed, and a test compiles it")
});

/// A part of the goal without the word `PART`, as tiny models write it.
static BARE_PART: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"#{3,5}[ \t]*([^#\n]{1,80}?)[ \t]*(?:#{3,5}|$|\n)")
        .expect("the expression is fixed, and a test compiles it")
});

/// A call of a tool; its arguments may span lines.
static CALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?is)#{2,5}[ \t]*call[ \t:]+([\w.-]{1,80})[ \t]*(\{.*?\})?[ \t]*(?:#{2,5}|$|\n)")
        .expect("the expression is fixed, and a test compiles it")
});

/// The end of the reasoning that some models write before their answer, if the endpoint does not remove it.
const END_OF_THOUGHT: &str = "</think>";

/// An answer in the form of JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    thought: Option<String>,
    say: Option<String>,
    signal: Option<String>,
    parts_done: Vec<String>,
    call: Option<WrittenCall>,
}

#[derive(Debug, Deserialize)]
struct WrittenCall {
    name: String,
    #[serde(default)]
    arguments: Value,
}

/// The draft in the model's answer. `may_end: false`: signals in it are ignored.
pub(crate) fn read(raw: String, extras: &Extras, may_end: bool) -> Draft {
    let (thought, answer) = match raw.rsplit_once(END_OF_THOUGHT) {
        Some((thought, answer)) => (Some(thought.trim().trim_start_matches("<think>").trim().to_owned()), answer),
        None => (None, raw.as_str()),
    };
    let written = (extras.reply == Some(ReplyForm::Json)).then(|| of_json(answer)).flatten();
    let mut draft = written.unwrap_or_else(|| of_text(answer, extras));
    if extras.tools.is_empty() {
        draft.call = None;
    }
    draft.thought = draft.thought.or(thought);
    draft.parts_done.retain(|id| extras.goal.iter().any(|part| part.id == *id));
    if !may_end {
        draft.signal = None;
    }
    draft.raw = raw;
    draft
}

/// `None`: it is not an object with these keys, so the plain text counts.
fn of_json(answer: &str) -> Option<Draft> {
    let object = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
    let written: Written = serde_json::from_str(object).ok()?;
    let say = cleaning::clean(written.say.as_deref().unwrap_or_default());
    let signal = written.signal.as_deref().and_then(|name| Signal::of_name(&name.to_lowercase()));
    let thought = written.thought.filter(|thought| !thought.trim().is_empty());
    let call = written.call.filter(|call| !call.name.trim().is_empty() && call.name != "none");
    let call = call.map(|call| UserCall { tool: call.name, arguments: arguments_of(&call.arguments) });
    Some(Draft { say, signal, parts_done: written.parts_done, call, thought, raw: String::new() })
}

fn arguments_of(value: &Value) -> String {
    match value {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn of_text(answer: &str, extras: &Extras) -> Draft {
    let mut draft = Draft::default();
    let without_calls;
    let mut answer = answer;
    if let Some(call) = CALL.captures(answer).filter(|_| !extras.tools.is_empty()) {
        let arguments = call.get(2).map_or("{}", |arguments| arguments.as_str()).to_owned();
        draft.call = Some(UserCall { tool: call[1].to_owned(), arguments });
        without_calls = CALL.replace_all(answer, "\n");
        answer = &without_calls;
    }
    for mark in MARK.captures_iter(answer) {
        if let Some(signal) = mark.get(1) {
            let name = signal.as_str().to_lowercase().replace([' ', '-'], "_");
            draft.signal = Signal::of_name(&name);
        }
        draft.parts_done.extend(mark.get(2).map(|id| id.as_str().trim().to_owned()));
    }
    let words = MARK.replace_all(answer, "\n");
    let words = BARE_PART.replace_all(&words, |found: &Captures<'_>| {
        match extras.goal.iter().find(|part| part.id.eq_ignore_ascii_case(&found[1])) {
            Some(part) => {
                draft.parts_done.push(part.id.clone());
                "\n".to_owned()
            }
            None => found[0].to_owned(),
        }
    });
    draft.say = cleaning::clean(&words);
    draft
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn extras(reply: &str) -> Extras {
        let goal = json!([{ "id": "refund", "text": "30 EUR" }, { "id": "by mail", "text": "a mail" }]);
        serde_json::from_value(json!({ "goal": goal, "reply": reply })).unwrap()
    }

    fn shown(reply: &str, raw: &str) -> String {
        let draft = read(raw.to_owned(), &extras(reply), true);
        assert_eq!(draft.raw, raw);
        let signal = draft.signal.map_or("-", Signal::name);
        format!("{} | {signal} | {} | {}", draft.say, draft.parts_done.join(","), draft.thought.unwrap_or_default())
    }

    #[test]
    fn words_with_marks_are_read() {
        for (raw, expected) in [
            ("I want a refund.", "I want a refund. | - |  | "),
            ("Thanks!\n###DONE###", "Thanks! | done |  | "),
            ("User: \"Thanks!\" ###DONE###", "Thanks! | done |  | "),
            ("###GAVE_UP###", " | gave_up |  | "),
            ("Fine.\n## Gave up ##", "Fine. | gave_up |  | "),
            ("Bye ###HANDED_OVER", "Bye | handed_over |  | "),
            ("###OUT OF SCOPE###", " | out_of_scope |  | "),
            ("Great.\n###PART refund###\n###PART by mail###", "Great. | - | refund,by mail | "),
            ("Great. ###PART pizza###", "Great. | - |  | "),
            ("Great.\n###REFUND###", "Great. | - | refund | "),
            ("Great.\n###REFUND: 5###", "Great. ###REFUND: 5### | - |  | "),
            ("<think>They want the number.</think>It is 7.", "It is 7. | - |  | They want the number."),
            ("I am done with #1.", "I am done with #1. | - |  | "),
            ("### Heading", "### Heading | - |  | "),
        ] {
            assert_eq!(shown("text", raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn a_call_of_a_tool_is_read_in_both_forms() {
        let call = |reply: &str, tools: &[&str], raw: &str| {
            let extras = Extras { tools: tools.iter().map(|tool| (*tool).to_owned()).collect(), ..extras(reply) };
            let draft = read(raw.to_owned(), &extras, true);
            (draft.call.map(|call| format!("{} {}", call.tool, call.arguments)), draft.say)
        };
        let toggle = |arguments: &str, say: &str| (Some(format!("toggle {arguments}")), say.to_owned());
        for (reply, raw, expected) in [
            ("text", "###CALL toggle {\"on\": {\"a\": 1}}###", toggle("{\"on\": {\"a\": 1}}", "")),
            ("text", "One moment.\n### call: toggle ###", toggle("{}", "One moment.")),
            ("text", "I call toggle.", (None, "I call toggle.".to_owned())),
            (
                "json",
                r#"{"say": "", "call": {"name": "toggle", "arguments": {"on": true}}}"#,
                toggle(r#"{"on":true}"#, ""),
            ),
            ("json", r#"{"say": "Hi.", "call": {"name": "none"}}"#, (None, "Hi.".to_owned())),
            ("json", r#"{"say": "Hi.", "call": null}"#, (None, "Hi.".to_owned())),
        ] {
            assert_eq!(call(reply, &["toggle"], raw), expected, "{raw:?}");
        }
        assert_eq!(call("json", &[], r#"{"say": "Hi.", "call": {"name": "toggle"}}"#), (None, "Hi.".to_owned()));
    }

    #[test]
    fn an_object_is_read_or_else_the_plain_text() {
        for (raw, expected) in [
            (r#"{"thought": "Hm.", "say": "Yes.", "signal": "none", "parts_done": []}"#, "Yes. | - |  | Hm."),
            (
                "```json\n{\"say\": \"Bye.\", \"signal\": \"done\", \"parts_done\": [\"refund\", \"x\"]}\n```",
                "Bye. | done | refund | ",
            ),
            (r#"{"signal": "gave_up"}"#, " | gave_up |  | "),
            ("I want it back.", "I want it back. | - |  | "),
            ("} then {", "} then { | - |  | "),
        ] {
            assert_eq!(shown("json", raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn a_tester_that_may_not_end_the_talk_gives_no_signal() {
        let draft = read("Bye.\n###DONE###".to_owned(), &Extras::default(), false);
        assert_eq!((draft.say.as_str(), draft.signal), ("Bye.", None));
    }
}
