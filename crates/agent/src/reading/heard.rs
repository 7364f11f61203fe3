//! A reply as it arrives: all at once, or event by event with the times of its pieces.

use llm::{Receipt, Timing, Usage, hint};
use record::turn::ToolCall;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    path::Path,
    response::{Response, several},
};

use super::Reading;

/// Of what is kept of a reply.
const MOST_BYTES: usize = 1 << 20;
const MOST_CALLS: usize = 128;
/// Of the texts of tool calls and actions.
const MOST_CALL_BYTES: usize = 1 << 20;
/// Of the name and the id of a tool call: a record keeps 256 bytes of them, and a conversation all.
const MOST_NAME_BYTES: usize = 1 << 10;
/// Of all events of one reply, wrapping and all.
const MOST_STREAM_BYTES: usize = 64 << 20;
/// Of the id by which an agent knows the conversation.
const MOST_SESSION_BYTES: usize = 4 << 10;
/// What many servers send as their last event, as OpenAI does.
const END_MARK: &[u8] = b"[DONE]";

/// Why an answer is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Trouble(pub(crate) String);

#[derive(Debug)]
pub(crate) struct Heard<'a> {
    reading: &'a Reading,
    pub(crate) text: String,
    /// Messages that came whole.
    messages: Vec<String>,
    /// Where in the text the pieces of a message begin that has not come whole.
    pieces_from: Option<usize>,
    tool_calls: Vec<ToolCall>,
    actions: Vec<String>,
    pub(crate) session: Option<String>,
    usage: Usage,
    /// Of all events.
    bytes: usize,
    pieces: u32,
    first: Option<Instant>,
    last: Option<Instant>,
    /// Something was found that a reply can be made of, if only an empty text.
    found: bool,
    /// The whole text has come.
    answered: bool,
}

impl<'a> Heard<'a> {
    pub(crate) fn new(reading: &'a Reading) -> Self {
        Self {
            reading,
            text: String::new(),
            messages: Vec::new(),
            pieces_from: None,
            tool_calls: Vec::new(),
            actions: Vec::new(),
            session: None,
            usage: Usage::default(),
            bytes: 0,
            pieces: 0,
            first: None,
            last: None,
            found: false,
            answered: false,
        }
    }

    /// Takes an answer that is whole: JSON, or text where no path says otherwise.
    pub(crate) fn whole(&mut self, body: &[u8]) -> Result<(), Trouble> {
        if body.trim_ascii().is_empty() {
            return Err(Trouble("the body is empty".to_owned()));
        }
        match &self.reading.text {
            None if self.reading.delta.is_none() => self.say(plain(body)?),
            _ => {
                let value = json(body)?;
                self.take(&value)?;
                // A stream that is not one: all pieces in one body.
                for piece in pieces(self.reading.delta.as_ref().filter(|_| self.text.is_empty()), &value)? {
                    self.say(piece)?;
                }
                Ok(())
            }
        }?;
        if self.found { Ok(()) } else { Err(self.nothing(serde_json::from_slice(body).ok().as_ref())) }
    }

    /// Takes an event of a streamed answer; whether the reply is over.
    pub(crate) fn event(&mut self, data: &[u8], came: Instant) -> Result<bool, Trouble> {
        self.bytes = self.bytes.saturating_add(data.len());
        if self.bytes > MOST_STREAM_BYTES {
            return Err(Trouble(format!("events of more than {MOST_STREAM_BYTES} bytes for one reply")));
        }
        if data.trim_ascii() == END_MARK {
            return Ok(true);
        }
        if self.reading.text.is_none() && self.reading.delta.is_none() {
            self.piece(&plain(data)?, came)?;
            return Ok(false);
        }
        let value = json(data)?;
        let calls = self.tool_calls.len();
        for piece in pieces(self.reading.delta.as_ref(), &value)? {
            self.piece(&piece, came)?;
        }
        let before = self.text.len();
        self.take(&value)?;
        if self.text.len() != before || self.tool_calls.len() != calls {
            self.note(came);
        }
        Ok(self.reading.done.as_ref().is_some_and(|done| done.find(&value).into_iter().any(is_something)))
    }

    /// The end of a streamed answer came; `said_so`: by its own last event.
    pub(crate) fn ended(&self, said_so: bool) -> Result<(), Trouble> {
        if !said_so && self.reading.done.is_some() {
            return Err(Trouble("the stream ends before the reply does".to_owned()));
        }
        if self.found || said_so { Ok(()) } else { Err(self.nothing(None)) }
    }

    /// What was found so far: a change shows that an event brought something.
    pub(crate) fn found(&self) -> (usize, usize, usize, u32) {
        (self.text.len(), self.tool_calls.len(), self.actions.len(), self.pieces)
    }

    /// Whether the whole text has come, which ends a reply without a `done` path.
    pub(crate) fn is_answered(&self) -> bool {
        self.answered
    }

    /// Whether a part of the text has come before the rest.
    pub(crate) fn is_streamed(&self) -> bool {
        self.pieces > 0
    }

    /// The reply to a call sent at `sent` and answered in full at `ended`.
    pub(crate) fn finish(mut self, sent: Instant, ended: Instant, streamed: bool) -> Response {
        self.messages.extend(self.pieces_from.map(|from| self.text[from..].to_owned()));
        let gaps = self.pieces.checked_sub(1).filter(|gaps| *gaps > 0);
        let between = gaps.and_then(|gaps| Some((self.last? - self.first?) / gaps));
        let timing = Timing {
            first_token: self.first.filter(|_| streamed).map(|first| first - sent),
            inter_token: between.filter(|_| streamed),
            total: ended - sent,
            ..Timing::default()
        };
        Response {
            messages: several(&self.messages),
            text: self.text,
            tool_calls: self.tool_calls,
            actions: self.actions,
            receipt: Receipt { usage: self.usage, timing, tries: 1, ..Receipt::default() },
            ..Response::default()
        }
    }

    /// Everything but pieces of text.
    fn take(&mut self, value: &Value) -> Result<(), Trouble> {
        if let Some(error) = &self.reading.error
            && let Some(found) = error.find(value).into_iter().find(|found| is_something(found))
        {
            return Err(Trouble(format!("an error: {}", words(found))));
        }
        if let Some(path) = &self.reading.text {
            let texts =
                path.find(value).into_iter().map(|found| text_of(path, found)).collect::<Result<Vec<_>, _>>()?;
            let text = texts.join("\n");
            self.answered |= !texts.is_empty();
            if !text.is_empty() {
                // The whole text stands for the pieces that came before.
                self.text.clear();
                self.keep(texts.iter().filter(|text| !text.is_empty()));
            }
            if !texts.is_empty() {
                self.say(text)?;
            }
        }
        for call in found(self.reading.tool_calls.as_ref(), value) {
            self.tool_calls.push(call_of(call)?);
            self.found = true;
        }
        if self.tool_calls.len() > MOST_CALLS {
            return Err(Trouble(format!("more than {MOST_CALLS} tool calls")));
        }
        for action in found(self.reading.actions.as_ref(), value) {
            let name = action.as_str().or_else(|| action.get("name").and_then(Value::as_str));
            if let Some(name) = name.filter(|_| self.actions.len() < MOST_CALLS) {
                self.actions.push(name.to_owned());
                self.found = true;
            }
        }
        let actions: usize = self.actions.iter().map(String::len).sum();
        if actions + self.tool_calls.iter().map(size_of_call).sum::<usize>() > MOST_CALL_BYTES {
            return Err(Trouble(format!("tool calls and actions of more than {MOST_CALL_BYTES} bytes")));
        }
        if let Some(id) = self.reading.session_of(value) {
            if id.len() > MOST_SESSION_BYTES {
                return Err(Trouble(format!("a session id of more than {MOST_SESSION_BYTES} bytes")));
            }
            self.session = Some(id);
        }
        let count = |path: &Option<Path>| found(path.as_ref(), value).first().and_then(|count| count.as_u64());
        self.usage.input = count(&self.reading.input_tokens).unwrap_or(self.usage.input);
        self.usage.output = count(&self.reading.output_tokens).unwrap_or(self.usage.output);
        Ok(())
    }

    fn piece(&mut self, text: &str, came: Instant) -> Result<(), Trouble> {
        self.found = true;
        if text.is_empty() {
            return Ok(());
        }
        self.note(came);
        self.pieces_from.get_or_insert(self.text.len());
        self.text.push_str(text);
        self.check()
    }

    /// Messages that came whole. One that goes on where the one before it ended is that one, as far as it has come.
    fn keep<'t>(&mut self, texts: impl Iterator<Item = &'t String>) {
        let had_pieces = self.pieces_from.take().is_some();
        for (index, text) in texts.enumerate() {
            let goes_on = index == 0 && !had_pieces && self.messages.last().is_some_and(|last| text.starts_with(last));
            if goes_on {
                self.messages.pop();
            }
            self.messages.push(text.clone());
        }
    }

    fn note(&mut self, came: Instant) {
        self.pieces += 1;
        self.first.get_or_insert(came);
        self.last = Some(came);
    }

    fn say(&mut self, text: String) -> Result<(), Trouble> {
        self.found = true;
        self.text.push_str(&text);
        self.check()
    }

    fn check(&self) -> Result<(), Trouble> {
        if self.text.len().max(self.messages.iter().map(String::len).sum()) > MOST_BYTES {
            return Err(Trouble(format!("a reply of more than {MOST_BYTES} bytes")));
        }
        Ok(())
    }

    /// Nothing stands where the settings say; the hint names where the longest text stands.
    fn nothing(&self, body: Option<&Value>) -> Trouble {
        let paths: Vec<&str> =
            [&self.reading.text, &self.reading.delta].into_iter().flatten().map(Path::written).collect();
        let message = format!("nothing at {}", paths.join(" or "));
        let mend = match body.and_then(longest_text) {
            Some(place) => format!("write `reply: {{ text: {place} }}` if the reply stands there"),
            None => "write the path of the reply's text as `reply: { text: … }`".to_owned(),
        };
        Trouble(hint::with(&message, Some(&mend)))
    }
}

/// The path of the longest text in it.
fn longest_text(value: &Value) -> Option<String> {
    fn walk(value: &Value, place: &str, best: &mut Option<(usize, String)>) {
        match value {
            Value::String(text) if best.as_ref().is_none_or(|(length, _)| text.len() > *length) => {
                *best = Some((text.len(), place.to_owned()));
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| walk(item, &format!("{place}[{index}]"), best));
            }
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                let plain = key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
                let below = if plain { format!("{place}.{key}") } else { format!("{place}['{key}']") };
                walk(item, &below, best);
            }),
            _ => {}
        }
    }
    let mut best = None;
    walk(value, "$", &mut best);
    best.map(|(_, place)| place)
}

fn size_of_call(call: &ToolCall) -> usize {
    call.id.len() + call.name.len() + call.arguments.len() + call.result.as_ref().map_or(0, String::len)
}

fn json(body: &[u8]) -> Result<Value, Trouble> {
    llm::json::check(body).map_err(|error| Trouble(error.to_string()))?;
    serde_json::from_slice(body).map_err(|error| Trouble(format!("it is no JSON: {error}")))
}

/// A body that is the reply itself; JSON's own text loses its quotes.
fn plain(body: &[u8]) -> Result<String, Trouble> {
    llm::json::check(body).map_err(|error| Trouble(error.to_string()))?;
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::String(text)) => Ok(text),
        Ok(Value::Object(_) | Value::Array(_)) => {
            let place = serde_json::from_slice(body).ok().as_ref().and_then(longest_text);
            let mend = format!("write `reply: {{ text: {} }}`", place.as_deref().unwrap_or("$.PATH"));
            let message = "it is JSON, and the agent's settings do not say where the text stands";
            Err(Trouble(hint::with(message, Some(&mend))))
        }
        _ => String::from_utf8(body.to_vec()).map_err(|_| Trouble("it is no text".to_owned())),
    }
}

fn pieces(path: Option<&Path>, value: &Value) -> Result<Vec<String>, Trouble> {
    let Some(path) = path else { return Ok(Vec::new()) };
    path.find(value).into_iter().map(|found| text_of(path, found)).collect()
}

fn text_of(path: &Path, value: &Value) -> Result<String, Trouble> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Array(list) => {
            Ok(list.iter().map(|value| text_of(path, value)).collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        Value::Null => Ok(String::new()),
        Value::Object(_) => Err(Trouble(format!("what stands at {} is an object and no text", path.written()))),
    }
}

/// What a path finds, lists taken apart.
fn found<'a>(path: Option<&Path>, value: &'a Value) -> Vec<&'a Value> {
    let Some(path) = path else { return Vec::new() };
    let mut all = Vec::new();
    for found in path.find(value) {
        match found {
            Value::Array(list) => all.extend(list.iter().filter(|value| !value.is_null())),
            other => all.push(other),
        }
    }
    all
}

fn call_of(value: &Value) -> Result<ToolCall, Trouble> {
    let function = value.get("function").filter(|function| function.is_object());
    let get = |keys: &[&str]| {
        let inside = |object: Option<&'_ Value>| {
            keys.iter().find_map(|key| object?.get(key).filter(|it| !it.is_null()).cloned())
        };
        inside(Some(value)).or_else(|| inside(function))
    };
    let name =
        value.as_str().map(str::to_owned).or_else(|| get(&["name", "tool", "tool_name"])?.as_str().map(str::to_owned));
    let Some(name) = name.or_else(|| Some(value.get("function")?.as_str()?.to_owned())) else {
        return Err(Trouble("a tool call without a name".to_owned()));
    };
    let id = get(&["id", "call_id", "tool_call_id"]).as_ref().map(words).unwrap_or_default();
    if name.len().max(id.len()) > MOST_NAME_BYTES {
        return Err(Trouble(format!("a tool call whose name or id has more than {MOST_NAME_BYTES} bytes")));
    }
    Ok(ToolCall {
        id,
        name,
        arguments: get(&["arguments", "args", "input", "parameters"]).as_ref().map_or_else(|| "{}".to_owned(), words),
        result: get(&["result", "output"]).as_ref().map(words),
    })
}

/// A text as it is, all else as JSON.
fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn is_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

#[cfg(test)]
mod tests;
