//! A reply as it arrives: all at once, or event by event with the times of its pieces.

use llm::{Receipt, Timing, Usage, hint};
use record::turn::{Said, ToolCall};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::response::Response;

use super::{
    Reading, ReplyPlaces, Trouble,
    found::{found, json, longest_text, pieces, plain, text_of},
    is_something, tool_calls,
};

/// The size limit of a reply.
const MOST_BYTES: usize = 1 << 20;
const MOST_ACTIONS: usize = 128;
/// Of the texts of tool calls and actions.
const MOST_CALL_BYTES: usize = 1 << 20;
/// Of all events of one reply, wrapping and all.
const MOST_STREAM_BYTES: usize = 64 << 20;
/// The size limit of the agent's conversation id, and of each value to remember.
const MOST_SESSION_BYTES: usize = 4 << 10;
/// The last event of many servers, including OpenAI's.
const END_MARK: &[u8] = b"[DONE]";

#[derive(Debug)]
pub(crate) struct Heard<'a> {
    reading: &'a Reading,
    pub(crate) text: String,
    /// Messages that came whole.
    messages: Vec<Said>,
    /// Where in the text the pieces of an incomplete message start, and the number of calls before it.
    pieces_from: Option<(usize, u32)>,
    /// The pieces of a message ended with a tool call: the next piece begins another message.
    interrupted: bool,
    tool_calls: Vec<ToolCall>,
    actions: Vec<String>,
    pub(crate) session: Option<String>,
    /// By the names of the settings.
    pub(crate) remembered: Map<String, Value>,
    usage: Usage,
    /// Of all events.
    bytes: usize,
    pieces: u32,
    first: Option<Instant>,
    last: Option<Instant>,
    /// Whether anything was found that can be a reply, including an empty text.
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
            interrupted: false,
            tool_calls: Vec::new(),
            actions: Vec::new(),
            session: None,
            remembered: Map::new(),
            usage: Usage::default(),
            bytes: 0,
            pieces: 0,
            first: None,
            last: None,
            found: false,
            answered: false,
        }
    }

    /// Takes a complete answer: JSON, or text if no path is set.
    pub(crate) fn whole(&mut self, body: &[u8]) -> Result<(), Trouble> {
        if body.trim_ascii().is_empty() {
            return Err(Trouble("the body is empty".to_owned()));
        }
        match &self.reading.text {
            None if self.reading.delta.is_none() => self.say(&plain(body)?),
            _ => {
                let value = json(body)?;
                self.take("", &value, u32::MAX)?;
                // A stream that is not one: all pieces in one body.
                for piece in pieces(self.reading.delta.as_ref().filter(|_| self.text.is_empty()), "", &value)? {
                    self.found = true;
                    self.add(&piece)?;
                }
                if self.found || self.is_silent(&value) { Ok(()) } else { Err(self.nothing(Some(&value))) }
            }
        }
    }

    /// Takes an answer that is not the reply yet: an error, the session, and values to remember.
    pub(crate) fn glance(&mut self, value: &Value) -> Result<(), Trouble> {
        if let Some(message) = self.reading.error_of("", value) {
            return Err(Trouble(format!("an error: {message}")));
        }
        self.keep_values("", value)
    }

    /// Takes an event of a streamed answer, with its name if it has one. Returns whether the reply is over.
    pub(crate) fn event(&mut self, name: &str, data: &[u8], came: Instant) -> Result<bool, Trouble> {
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
        // Events that no path reads need not even be JSON.
        if !self.reading.is_read_in(name) {
            return Ok(false);
        }
        let value = json(data)?;
        for piece in pieces(self.reading.delta.as_ref(), name, &value)? {
            self.piece(&piece, came)?;
        }
        let (before, calls) = (self.text.len(), self.tool_calls.len());
        self.take(name, &value, u32::try_from(calls).unwrap_or(u32::MAX))?;
        if self.text.len() != before {
            self.note(came);
        }
        self.interrupted |= self.tool_calls.len() != calls && self.pieces_from.is_some();
        Ok(self.reading.done.as_ref().is_some_and(|done| done.find(name, &value).into_iter().any(is_something)))
    }

    /// The end of a streamed answer. `said_so`: the last event marked it.
    pub(crate) fn ended(&self, said_so: bool) -> Result<(), Trouble> {
        if !said_so && self.reading.done.is_some() {
            let mend = "look into the agent's log; without `reply.done`, a reply ends where its stream ends";
            return Err(Trouble(hint::with("the stream ends before the reply does", Some(mend))));
        }
        if self.found || said_so { Ok(()) } else { Err(self.nothing(None)) }
    }

    /// Counts of what was found so far. If they change, an event had content.
    pub(crate) fn found(&self) -> (usize, usize, usize, u32) {
        (self.text.len(), self.tool_calls.len(), self.actions.len(), self.pieces)
    }

    /// Whether the whole text has arrived, which ends a reply without a `done` path.
    pub(crate) fn is_answered(&self) -> bool {
        self.answered
    }

    /// Whether a part of the text has come before the rest.
    pub(crate) fn is_streamed(&self) -> bool {
        self.pieces > 0
    }

    /// The reply to a call sent at `sent` and answered in full at `ended`.
    pub(crate) fn finish(mut self, sent: Instant, ended: Instant, streamed: bool) -> Response {
        self.close();
        let gaps = self.pieces.checked_sub(1).filter(|gaps| *gaps > 0);
        let between = gaps.and_then(|gaps| Some((self.last? - self.first?) / gaps));
        let timing = Timing {
            first_token: self.first.filter(|_| streamed).map(|first| first - sent),
            inter_token: between.filter(|_| streamed),
            total: ended - sent,
            ..Timing::default()
        };
        Response {
            messages: if self.messages.len() > 1 { self.messages } else { Vec::new() },
            text: self.text,
            tool_calls: self.tool_calls,
            actions: self.actions,
            receipt: Box::new(Receipt { usage: self.usage, timing, tries: 1, ..Receipt::default() }),
            ..Response::default()
        }
    }

    /// Everything but pieces of text. `calls_before` the texts: how many tool calls.
    fn take(&mut self, event: &str, value: &Value, calls_before: u32) -> Result<(), Trouble> {
        if let Some(message) = self.reading.error_of(event, value) {
            return Err(Trouble(format!("an error: {message}")));
        }
        if let Some(path) = &self.reading.text {
            let texts =
                path.find(event, value).into_iter().map(|found| text_of(path, found)).collect::<Result<Vec<_>, _>>()?;
            let text = texts.join("\n");
            self.answered |= !texts.is_empty();
            if !text.is_empty() {
                // The whole text replaces the pieces that came before.
                self.keep(texts.iter().filter(|text| !text.is_empty()), calls_before);
                self.text.clear();
            }
            if !texts.is_empty() {
                self.say(&text)?;
            }
        }
        for call in found(self.reading.tool_calls.as_ref(), event, value) {
            tool_calls::add(&mut self.tool_calls, call)?;
            self.found = true;
        }
        for result in found(self.reading.tool_results.as_ref(), event, value) {
            tool_calls::answer(&mut self.tool_calls, result)?;
        }
        for action in found(self.reading.actions.as_ref(), event, value) {
            let name = action.as_str().or_else(|| action.get("name").and_then(Value::as_str));
            if let Some(name) = name.filter(|_| self.actions.len() < MOST_ACTIONS) {
                self.actions.push(name.to_owned());
                self.found = true;
            }
        }
        let actions: usize = self.actions.iter().map(String::len).sum();
        if actions + tool_calls::bytes(&self.tool_calls) > MOST_CALL_BYTES {
            return Err(Trouble(format!("tool calls and actions of more than {MOST_CALL_BYTES} bytes")));
        }
        self.keep_values(event, value)?;
        let count =
            |path: &Option<ReplyPlaces>| found(path.as_ref(), event, value).first().and_then(|count| count.as_u64());
        self.usage.input = count(&self.reading.input_tokens).unwrap_or(self.usage.input);
        self.usage.output = count(&self.reading.output_tokens).unwrap_or(self.usage.output);
        Ok(())
    }

    /// Keeps the values that later calls of the conversation need.
    fn keep_values(&mut self, event: &str, value: &Value) -> Result<(), Trouble> {
        if let Some(id) = self.reading.session_of(event, value) {
            if id.len() > MOST_SESSION_BYTES {
                return Err(Trouble(format!("a session id of more than {MOST_SESSION_BYTES} bytes")));
            }
            self.session = Some(id);
        }
        for (name, found) in self.reading.remembered_of(event, value) {
            if json_bytes(found) > MOST_SESSION_BYTES {
                return Err(Trouble(format!("a value to remember as {name} of more than {MOST_SESSION_BYTES} bytes")));
            }
            self.remembered.insert(name.clone(), found.clone());
        }
        Ok(())
    }

    fn piece(&mut self, text: &str, came: Instant) -> Result<(), Trouble> {
        self.found = true;
        if text.is_empty() {
            return Ok(());
        }
        if !(self.reading.cumulative && self.pieces_from.is_some_and(|(from, _)| self.text[from..] == *text)) {
            self.note(came);
        }
        if std::mem::take(&mut self.interrupted) {
            self.close();
            self.text.clear();
        }
        self.add(text)
    }

    /// Adds a piece to the message that is coming.
    fn add(&mut self, text: &str) -> Result<(), Trouble> {
        let calls = u32::try_from(self.tool_calls.len()).unwrap_or(u32::MAX);
        let is_first = self.pieces_from.is_none();
        let (from, _) = *self.pieces_from.get_or_insert((self.text.len(), calls));
        if self.reading.cumulative {
            self.text.truncate(from);
        } else if let Some(join) = self.reading.join.as_ref().filter(|_| !is_first) {
            self.text.push_str(join);
        }
        self.text.push_str(text);
        self.check()
    }

    /// The pieces that came are a whole message.
    fn close(&mut self) {
        if let Some((from, tool_calls_before)) = self.pieces_from.take() {
            self.messages.push(Said { text: self.text[from..].to_owned(), tool_calls_before });
        }
    }

    /// Complete messages. A message that continues the previous one replaces it.
    fn keep<'t>(&mut self, texts: impl Iterator<Item = &'t String>, calls_before: u32) {
        let mut texts = texts.peekable();
        let first = texts.peek().copied();
        let goes_on = |from: usize| first.is_some_and(|text| text.starts_with(&self.text[from..]));
        if std::mem::take(&mut self.interrupted) && !self.pieces_from.is_some_and(|(from, _)| goes_on(from)) {
            self.close();
        }
        let pieces = self.pieces_from.take();
        for (index, text) in texts.enumerate() {
            let last =
                self.messages.last().filter(|last| index == 0 && pieces.is_none() && text.starts_with(&last.text));
            let begun = last.map(|last| last.tool_calls_before);
            if begun.is_some() {
                self.messages.pop();
            }
            let from_pieces = pieces.filter(|_| index == 0).map(|(_, calls)| calls);
            let tool_calls_before = begun.or(from_pieces).unwrap_or(calls_before);
            self.messages.push(Said { text: text.clone(), tool_calls_before });
        }
    }

    fn note(&mut self, came: Instant) {
        self.pieces += 1;
        self.first.get_or_insert(came);
        self.last = Some(came);
    }

    fn say(&mut self, text: &str) -> Result<(), Trouble> {
        self.found = true;
        self.text.push_str(text);
        self.check()
    }

    fn check(&self) -> Result<(), Trouble> {
        if self.text.len().max(self.messages.iter().map(|said| said.text.len()).sum()) > MOST_BYTES {
            return Err(Trouble(format!("a reply of more than {MOST_BYTES} bytes")));
        }
        Ok(())
    }

    /// Whether an answer without a reply says so explicitly: null in place of the text, or an empty list of messages.
    fn is_silent(&self, value: &Value) -> bool {
        let places = [&self.reading.text, &self.reading.delta];
        value.as_array().is_some_and(Vec::is_empty) || places.into_iter().flatten().any(|place| place.exist("", value))
    }

    /// There is nothing where the settings say; the hint names the place of the longest text.
    fn nothing(&self, body: Option<&Value>) -> Trouble {
        let paths: Vec<String> =
            [&self.reading.text, &self.reading.delta].into_iter().flatten().map(ReplyPlaces::written).collect();
        let message = format!("nothing at {}", paths.join(" or "));
        let mend = match body.and_then(longest_text) {
            Some(place) => format!("write `reply: {{ text: {place} }}` if that is the reply"),
            None => "write the path of the reply's text as `reply: { text: … }`".to_owned(),
        };
        Trouble(hint::with(&message, Some(&mend)))
    }
}

fn json_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests;
