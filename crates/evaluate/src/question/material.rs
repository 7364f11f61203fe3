//! The subject of a question: turns and replies as one line of JSON, bounded in size, and the images that the user showed.

mod surroundings;

use std::borrow::Cow;

use record::{
    Turn,
    turn::{Origin, Part, ToolCall},
};
use scenario::{Action, Message, Step, check::JudgeSees};
use serde_json::{Map, Value, json};

pub(super) use self::surroundings::legend;
use crate::{excerpt::boundary, subject::Subject};

/// The limit of all texts together, in bytes before JSON escapes. A hostile reply must not fill a judge's window.
const TOTAL_BYTES: usize = 256 << 10;
/// The limit of one text, in bytes.
const TEXT_BYTES: usize = 32 << 10;
/// How much of each text remains in a turn that is cut, without the note about the omission.
const SKELETON_BYTES: usize = 80;

/// The data of a prompt. It comes from the record, so it can contain anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Material {
    json: String,
    /// Addresses of images. The JSON names them by their numbers, from 1.
    images: Vec<String>,
}

impl Material {
    /// The turns of the subject, or its reply if it has no turns, and what else the check shows its judge.
    #[must_use]
    pub fn of(subject: &Subject<'_>) -> Self {
        let (mut fields, mut images) = (Map::new(), Vec::new());
        if !subject.judging.sees.is_empty() {
            surroundings::add(subject, &mut fields, &mut images);
        }
        // They come last: models give the end of a text most weight.
        if subject.turns.is_empty() {
            fields.insert("reply".to_owned(), shortened(subject.reply, TEXT_BYTES).into());
        } else {
            fields.insert("turns".to_owned(), turns_of(subject.turns, subject.steps, &mut images));
        }
        Self { images, ..Self::new(&Value::Object(fields)) }
    }

    /// Texts under names of gabfest.
    #[must_use]
    pub fn of_texts(texts: &[(&str, &str)]) -> Self {
        let texts: Map<String, Value> =
            texts.iter().map(|(name, text)| ((*name).to_owned(), Value::from(shortened(text, TEXT_BYTES)))).collect();
        Self::new(&Value::Object(texts))
    }

    /// A conversation, oldest turn first. `steps`: those of the scenario, which have the images that the user showed.
    #[must_use]
    pub fn of_turns(turns: &[Turn], steps: &[Step]) -> Self {
        let mut images = Vec::new();
        let json = json!({ "turns": turns_of(turns, steps, &mut images) });
        Self { images, ..Self::new(&json) }
    }

    #[cfg(test)]
    pub(super) fn of_json(json: Value) -> Self {
        Self::new(&json)
    }

    fn new(json: &Value) -> Self {
        Self { json: json.to_string(), images: Vec::new() }
    }

    /// The same material with the texts of turns cut, if it has more bytes than this, and the number of cut turns. The
    /// first and the last turn and those with tool calls stay whole. `None`: nothing needs to be cut, or nothing can
    /// be.
    pub(super) fn within(&self, most_bytes: usize) -> Option<(Self, u32)> {
        if self.json.len() <= most_bytes {
            return None;
        }
        let mut value: Value = serde_json::from_str(&self.json).ok()?;
        let turns = value.get_mut("turns")?.as_array_mut()?;
        let last = turns.len().saturating_sub(1);
        let mut shortened = 0;
        for (index, turn) in turns.iter_mut().enumerate() {
            if index > 0 && index < last && !has_calls(turn) {
                shortened += 1;
                cut_texts(turn, SKELETON_BYTES);
            }
        }
        (shortened > 0).then(|| (Self { images: self.images.clone(), ..Self::new(&value) }, shortened))
    }

    pub(super) fn json(&self) -> &str {
        &self.json
    }

    pub(super) fn images(&self) -> &[String] {
        &self.images
    }
}

fn turns_of(turns: &[Turn], steps: &[Step], images: &mut Vec<String>) -> Value {
    let of_turn = |turn: &Turn| 2 + turn.messages.len() + turn.actions.len() + 3 * turn.tool_calls.len();
    let texts: usize = turns.iter().map(of_turn).sum();
    let limit = TEXT_BYTES.min(TOTAL_BYTES / texts.max(1));
    let value = |(index, turn): (usize, &Turn)| {
        let mut fields = fields_of(turn, index + 1, limit);
        let step = usize::try_from(turn.step).ok().and_then(|number| steps.get(number.checked_sub(1)?));
        // A scripted step is one turn.
        if let (Some(Action::Say { messages, .. }), Origin::Scripted) = (step.map(|step| &step.action), turn.speaker) {
            show(messages, images, &mut fields);
        }
        Value::Object(fields)
    };
    turns.iter().enumerate().map(value).collect()
}

/// Adds the images of messages, and their numbers to the fields.
fn show(messages: &[Message], images: &mut Vec<String>, fields: &mut Map<String, Value>) {
    let first = images.len();
    images.extend(messages.iter().flat_map(Message::images).map(str::to_owned));
    if images.len() > first {
        fields.insert("images".to_owned(), (first + 1..=images.len()).collect());
    }
}

fn has_calls(turn: &Value) -> bool {
    let in_order = turn.get("in_order").and_then(Value::as_array);
    turn.get("tool_calls").is_some()
        || in_order.is_some_and(|parts| parts.iter().any(|it| it.get("tool_call").is_some()))
}

fn cut_texts(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) => *text = cut(text, limit).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| cut_texts(item, limit)),
        Value::Object(fields) => fields.values_mut().for_each(|field| cut_texts(field, limit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Turns are numbered from 1 within the material, so that a question can name one.
fn fields_of(turn: &Turn, number: usize, limit: usize) -> Map<String, Value> {
    let text = |text: &str| Value::from(shortened(text, limit));
    let mut fields = Map::new();
    fields.insert("turn".to_owned(), json!(number));
    let (asked, answered) = match turn.speaker {
        Origin::Program => ("program", "printed"),
        Origin::Scripted | Origin::Simulated => ("user", "agent"),
    };
    fields.insert(asked.to_owned(), text(&turn.user));
    let called = |call: &ToolCall| {
        let result = call.result.as_deref().map_or(Value::Null, text);
        json!({ "name": text(&call.name), "arguments": text(&call.arguments), "result": result })
    };
    if turn.messages.is_empty() {
        fields.insert(answered.to_owned(), turn.agent.as_deref().map_or(Value::Null, text));
    } else {
        let parts = turn.parts().into_iter().map(|part| match part {
            Part::Said(said) => json!({ answered: text(said) }),
            Part::Called(call) => json!({ "tool_call": called(call) }),
        });
        fields.insert("in_order".to_owned(), parts.collect());
    }
    if let Some(code) = turn.exit_code {
        fields.insert("exit_code".to_owned(), json!(code));
    }
    if !turn.tool_calls.is_empty() && turn.messages.is_empty() {
        fields.insert("tool_calls".to_owned(), turn.tool_calls.iter().map(called).collect());
    }
    if !turn.actions.is_empty() {
        fields.insert("actions".to_owned(), turn.actions.iter().map(|action| text(action)).collect());
    }
    fields
}

/// Characters that people do not see, and that can hide instructions to a judge: control, bidirectional, zero-width and tag
/// characters.
fn is_invisible(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(
            letter,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Removes invisible characters. Of a text above the limit it keeps the start (three quarters of the limit) and the end
/// (one quarter), with a note about the omission.
fn shortened(text: &str, limit_bytes: usize) -> Cow<'_, str> {
    if text.contains(is_invisible) {
        let visible = text.replace(is_invisible, "");
        return Cow::Owned(cut(&visible, limit_bytes).into_owned());
    }
    cut(text, limit_bytes)
}

fn cut(text: &str, limit_bytes: usize) -> Cow<'_, str> {
    if text.len() <= limit_bytes {
        return Cow::Borrowed(text);
    }
    let head = boundary(text, limit_bytes / 4 * 3);
    let tail = boundary(text, text.len() - limit_bytes / 4);
    Cow::Owned(format!("{} […{} bytes left out…] {}", &text[..head], tail - head, &text[tail..]))
}
