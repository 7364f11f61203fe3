//! One turn of a model that calls tools: joins its replies into one.

use std::time::Duration;

use record::{
    FailureKind,
    turn::{Said, ToolCall},
};

use crate::{Error, Reply, Spent};

/// The size limit of one turn of a model, with its tool calls and their results: more than any model reads.
pub(super) const MOST_BYTES: usize = record::bounds::MOST_EXCHANGE_BYTES;

#[derive(Debug, Default)]
pub(super) struct Rounds {
    whole: Reply,
    count: u32,
    bytes: usize,
    /// The number of calls before those of the latest reply.
    earlier_calls: usize,
    said: Vec<Said>,
}

impl Rounds {
    pub(super) fn is_first(&self) -> bool {
        self.count == 0
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The agent's time so far: its own and its tools'.
    pub(super) fn took(&self) -> Duration {
        self.whole.took()
    }

    pub(super) fn waited_for_tools(&mut self, time: Duration) {
        self.whole.tools += time;
    }

    /// The calls of the latest reply.
    pub(super) fn unanswered(&mut self) -> &mut [ToolCall] {
        &mut self.whole.tool_calls[self.earlier_calls..]
    }

    /// Bytes that the turn may still use.
    pub(super) fn room(&self) -> usize {
        MOST_BYTES.saturating_sub(self.bytes)
    }

    /// Adds this many bytes to the turn. Returns whether it has become too large.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes > MOST_BYTES
    }

    /// The error of a turn that has become too large.
    pub(super) fn excessive(&mut self, endpoint: &str) -> Error {
        let (rounds, calls) = (self.count, self.whole.tool_calls.len());
        let message = format!(
            "{endpoint} came to more than {MOST_BYTES} bytes in one turn, with {calls} tool calls in {rounds} replies"
        );
        self.ended_with(FailureKind::AgentExcessive, message)
    }

    /// The error of a turn in which the agent refused. Words before a filter stopped them are no reply.
    pub(super) fn refused(&mut self, endpoint: &str) -> Error {
        self.ended_with(FailureKind::AgentRefused, format!("{endpoint} refused, or a filter held its reply back"))
    }

    /// Adds a reply. Returns whether the turn has become too large.
    pub(super) fn add(&mut self, reply: Reply) -> bool {
        let calls = reply.tool_calls.iter().map(|call| call.id.len() + call.name.len() + call.arguments.len());
        let said = reply.text.len() + reply.actions.iter().map(String::len).sum::<usize>();
        let is_excessive = self.take(calls.sum::<usize>() + said);
        self.join(reply);
        is_excessive
    }

    fn join(&mut self, reply: Reply) {
        self.count += 1;
        let mut before = std::mem::replace(&mut self.whole, reply);
        let whole = &mut self.whole;
        self.earlier_calls = before.tool_calls.len();
        whole.own_calls = whole.tool_calls.len();
        if !whole.text.trim().is_empty() {
            let tool_calls_before = u32::try_from(self.earlier_calls).unwrap_or(u32::MAX);
            self.said.push(Said { text: whole.text.clone(), tool_calls_before });
        }
        if self.count == 1 {
            return;
        }
        // Text before a tool call is not the answer, unless no other text follows.
        if whole.text.trim().is_empty() {
            whole.text = std::mem::take(&mut before.text);
        }
        whole.tool_calls.splice(0..0, std::mem::take(&mut before.tool_calls));
        whole.actions.splice(0..0, std::mem::take(&mut before.actions));
        whole.notes.splice(0..0, std::mem::take(&mut before.notes));
        whole.earlier = std::mem::take(&mut before.earlier);
        whole.earlier.push(before);
    }

    /// A request failed: the error carries the results of the turn so far.
    pub(super) fn broken(self, error: Error) -> Error {
        let earlier = (self.count > 0).then(|| Box::new(Reply { messages: self.said, ..self.whole }));
        Error { earlier, ..error }
    }

    /// No request failed, but there is no reply.
    pub(super) fn ended_with(&mut self, kind: FailureKind, message: String) -> Error {
        let messages = std::mem::take(&mut self.said);
        let whole = Reply { messages, ..std::mem::take(&mut self.whole) };
        Error::new(kind, message, Spent::Known(Box::new(whole)))
    }

    pub(super) fn finish(mut self, endpoint: &str, is_silent: bool) -> Result<Reply, Error> {
        if is_silent && self.whole.text.trim().is_empty() {
            let message = format!("{endpoint} answered nothing once it had called its tools");
            return Err(self.ended_with(FailureKind::AgentEmpty, message));
        }
        let calls = self.whole.tool_calls.len();
        let is_plain = match self.said.as_slice() {
            [] => true,
            [one] => usize::try_from(one.tool_calls_before).is_ok_and(|before| before == calls),
            _ => false,
        };
        if self.count > 1 && !is_plain {
            self.whole.messages = self.said;
        }
        Ok(self.whole)
    }
}
