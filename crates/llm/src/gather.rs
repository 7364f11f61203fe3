//! Collects a reply: text, tool calls, counts and times, from a whole body or from the pieces of a stream.

mod stencil;

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use self::stencil::Stencil;
use crate::{
    Receipt, Timing, Usage,
    call::Request as _,
    chat::{Finish, Reply, Request},
    estimate, json,
    message::FunctionCall,
    thinking::Thinking,
};

/// The size limit of a reply, in bytes. The pieces of a stream are mostly framing, so the limit applies to their
/// content and not to the stream's own length.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// The limit of calls in one reply: as many as the tools that a request may offer.
const MOST_CALLS: usize = 128;

/// Every dialect writes into it.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    pub(crate) text: String,
    calls: Vec<(u64, FunctionCall)>,
    actions: Vec<String>,
    thinking: Thinking,
    finish: Option<Finish>,
    refused: bool,
    model: String,
    fingerprint: String,
    pub(crate) counts: Counts,
    /// A reply has started, even an empty one.
    begun: bool,
    /// Whether the current event had content.
    stirred: bool,
    /// Pieces that brought something, and when the first and the last of them came.
    pieces: u32,
    first: Option<Instant>,
    last: Option<Instant>,
    first_text: Option<Instant>,
    /// What the API requires back with the calls, each part with its position.
    echo: Vec<(u64, Value)>,
    echo_bytes: usize,
    pub(crate) stencil: Stencil,
}

/// The tokens that a server counted; `None` for missing counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// All that the model read, `cached_input` and `cache_write` included.
    pub(crate) input: Option<u64>,
    /// All that it wrote, `reasoning` included.
    pub(crate) output: Option<u64>,
    pub(crate) cached_input: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    /// The cost of the call as the server reports it.
    pub(crate) cost_nanos: Option<i64>,
}

impl Counts {
    /// Takes the counts of a later piece of a stream: they are totals.
    pub(crate) fn update(&mut self, later: Self) {
        let Self { input, output, cached_input, cache_write, reasoning, cost_nanos } = later;
        self.input = input.or(self.input);
        self.output = output.or(self.output);
        self.cached_input = cached_input.or(self.cached_input);
        self.cache_write = cache_write.or(self.cache_write);
        self.reasoning = reasoning.or(self.reasoning);
        self.cost_nanos = cost_nanos.or(self.cost_nanos);
    }
}

/// The limit for one call: a higher count is an error of the server, and sums of it would overflow.
const MOST_TOKENS: u64 = 1 << 40;

/// The server's count, if it is plausible.
pub(crate) fn tokens(count: Option<u64>) -> Option<u64> {
    count.filter(|count| *count <= MOST_TOKENS)
}

/// A tool call, or a piece of one.
#[derive(Debug, Default)]
pub(crate) struct Piece<'a> {
    /// The call of the reply to which it belongs, if the server says so.
    pub(crate) index: Option<u64>,
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a str,
}

/// Why the answer is not a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Malformed(String),
    Exhausted(String),
    /// An error inside an answer that began with success, and the status that the server gives it elsewhere.
    Status(u16, String),
}

impl Gather {
    /// Takes what `read` finds in a body or an event that arrived at `at`.
    pub(crate) fn take<T>(
        &mut self,
        at: Instant,
        read: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        self.stirred = false;
        let text = self.text.len();
        let outcome = read(self)?;
        if self.stirred {
            self.pieces += 1;
            self.first.get_or_insert(at);
            self.last = Some(at);
            if self.text.len() > text {
                self.first_text.get_or_insert(at);
            }
        }
        self.check_size()?;
        Ok(outcome)
    }

    /// Marks that a reply exists, even an empty one.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    /// Sets the model that answers; the first name counts.
    pub(crate) fn name_model(&mut self, name: &str) {
        if self.model.is_empty() {
            self.model.push_str(name);
        }
    }

    /// Sets the build of the model; the first name counts.
    pub(crate) fn name_build(&mut self, name: &str) {
        if self.fingerprint.is_empty() {
            self.fingerprint.push_str(name);
        }
    }

    /// Why the reply ended.
    pub(crate) fn end(&mut self, finish: Finish) {
        self.finish = Some(finish);
    }

    /// Marks a refusal, whatever the end of the reply says.
    pub(crate) fn refuse(&mut self) {
        self.refused = true;
    }

    /// Adds text. A `<think>` block at the start is reasoning.
    pub(crate) fn say(&mut self, text: &str) {
        let before = self.text.len();
        self.thinking.hear(text, &mut self.text);
        self.stirred |= self.text.len() > before;
    }

    /// Adds reasoning that the server separates itself.
    pub(crate) fn think(&mut self, text: &str) {
        self.thinking.add(text);
    }

    pub(crate) fn act(&mut self, action: String) {
        self.actions.push(action);
    }

    pub(crate) fn call(&mut self, piece: &Piece<'_>) -> Result<(), Trouble> {
        self.stirred = true;
        let Piece { id, .. } = *piece;
        // A whole completion numbers its calls by position; so do servers that stream each call at once.
        let place = self.calls.len() as u64;
        let index = piece.index.unwrap_or(if id.is_empty() { place.saturating_sub(1) } else { place });
        // Some servers give every call the index 0: another id is another call.
        let known = self
            .calls
            .iter()
            .rposition(|(of, call)| *of == index && (id.is_empty() || call.id.is_empty() || call.id == id));
        let known = known.unwrap_or_else(|| {
            self.calls.push((index, FunctionCall::default()));
            self.calls.len() - 1
        });
        if self.calls.len() > MOST_CALLS {
            return Err(Trouble::Malformed(format!("more than {MOST_CALLS} tool calls")));
        }
        let call = &mut self.calls[known].1;
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        call.name.push_str(piece.name);
        call.arguments.push_str(piece.arguments);
        Ok(())
    }

    /// Ends a call. Missing arguments become empty ones.
    pub(crate) fn complete_call(&mut self, index: u64) {
        let call = self.calls.iter_mut().rev().find(|(of, _)| *of == index);
        if let Some((_, call)) = call.filter(|(_, call)| call.arguments.is_empty()) {
            call.arguments.push_str("{}");
        }
    }

    pub(crate) fn calls_count(&self) -> u64 {
        self.calls.len() as u64
    }

    /// Keeps a part of the reply that goes back unchanged if there are calls; see [`Reply::echo`].
    pub(crate) fn keep(&mut self, index: u64, part: Value) {
        self.echo_bytes += usize::try_from(json::bytes(&part)).unwrap_or(usize::MAX);
        self.echo.push((index, part));
    }

    /// Whether the part at this position is kept.
    pub(crate) fn keeps(&self, index: u64) -> bool {
        self.echo.iter().any(|(of, _)| *of == index)
    }

    /// Adds text to a field of a kept part.
    pub(crate) fn keep_more(&mut self, index: u64, field: &str, text: &str) {
        self.echo_bytes += text.len();
        let part = self.echo.iter_mut().find(|(of, _)| *of == index);
        if let Some(Value::String(kept)) = part.and_then(|(_, part)| part.get_mut(field)) {
            kept.push_str(text);
        }
    }

    /// Whether the server has said that the reply is over.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// The reply, to `request` that was sent at `sent` and answered in full at `ended`.
    pub(crate) fn finish(
        mut self,
        request: &Request,
        model: &str,
        sent: Instant,
        ended: Instant,
        streamed: bool,
    ) -> Result<Reply, Trouble> {
        if !self.begun {
            return Err(Trouble::Malformed("no choice in it".to_owned()));
        }
        let streamed_text = self.text.len();
        self.thinking.end(&mut self.text);
        if self.text.len() > streamed_text {
            self.first_text.get_or_insert(ended);
        }
        let timing = Timing {
            first_token: self.first_text.or(self.first).filter(|_| streamed).map(|first| first - sent),
            inter_token: self.between().filter(|_| streamed),
            total: ended - sent,
            ..Timing::default()
        };
        let usage = self.usage(request);
        let echo = Some(self.echo).filter(|echo| !echo.is_empty() && !self.calls.is_empty());
        let model = if self.model.is_empty() { model.to_owned() } else { self.model };
        Ok(Reply {
            tool_calls: self.calls.into_iter().map(|(_, call)| call).collect(),
            notes: self.thinking.into_note().into_iter().collect(),
            text: self.text,
            actions: self.actions,
            echo: echo.map(|parts| Box::new(parts.into_iter().map(|(_, part)| part).collect())),
            finish: if self.refused { Finish::Refused } else { self.finish.unwrap_or_default() },
            receipt: Box::new(Receipt {
                usage,
                model,
                fingerprint: self.fingerprint,
                timing,
                tries: 1,
                reported_cost_nanos: self.counts.cost_nanos,
                ..Receipt::default()
            }),
        })
    }

    fn check_size(&self) -> Result<(), Trouble> {
        let calls: usize =
            self.calls.iter().map(|(_, call)| call.id.len() + call.name.len() + call.arguments.len()).sum();
        let actions: usize = self.actions.iter().map(|action| action.len() + size_of::<String>()).sum();
        if self.text.len() + calls + actions + self.echo_bytes > MOST_BYTES {
            return Err(Trouble::Malformed(format!("a reply of more than {MOST_BYTES} bytes")));
        }
        Ok(())
    }

    fn between(&self) -> Option<Duration> {
        let gaps = self.pieces.checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some((self.last? - self.first?) / gaps)
    }

    /// The server's counts, and estimates for missing ones.
    fn usage(&self, request: &Request) -> Usage {
        let said = self.text.len()
            + self.thinking.bytes()
            + self.calls.iter().map(|(_, call)| call.name.len() + call.arguments.len()).sum::<usize>();
        let counts = self.counts;
        let input = counts.input.unwrap_or_else(|| estimate::tokens_of_bytes(request.input_bytes()));
        let output = counts.output.unwrap_or_else(|| estimate::tokens_of_bytes(said as u64));
        // A part is never more than the whole, even if a server says so.
        let cached_input = counts.cached_input.unwrap_or(0).min(input);
        Usage {
            input,
            output,
            cached_input,
            cache_write: counts.cache_write.unwrap_or(0).min(input - cached_input),
            reasoning: counts.reasoning.unwrap_or(0).min(output),
            estimated: counts.input.is_none() || counts.output.is_none(),
        }
    }
}
