//! A reply put together from what a server sends: one whole completion, or the pieces of a stream.

use tokio::time::Instant;

use crate::{Reply, Request, Timing, Usage, estimate, model::ToolCall};

use super::{
    rejection::Fault,
    reply::{CallPiece, Completion, Content, Count, Said},
};

/// Of what is kept of a reply, in bytes. The pieces of a stream are mostly wrapping, so this and not the
/// stream's own length is what a megabyte of body compares with.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// Calls of one reply: as many as a server may be told of tools.
const MOST_CALLS: usize = 128;

#[derive(Debug, Default)]
pub(super) struct Gather {
    pub(super) text: String,
    calls: Vec<(u64, ToolCall)>,
    actions: Vec<String>,
    finish_reason: Option<String>,
    model: String,
    input: Count,
    output: Count,
    /// A choice has come, if only an empty one.
    begun: bool,
    /// Pieces that brought something, and when the first and the last of them came.
    pieces: u32,
    first: Option<Instant>,
    last: Option<Instant>,
}

/// Why what came is no reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    Malformed(String),
    Exhausted(String),
}

impl Gather {
    /// Adds what came at `at`.
    pub(super) fn take(&mut self, completion: Completion<'_>, at: Instant) -> Result<(), Trouble> {
        if let Some(error) = &completion.error {
            let Fault { message, no_money } = Fault::of(error);
            return Err(if no_money { Trouble::Exhausted(message) } else { Trouble::Malformed(message) });
        }
        if let Some(usage) = completion.usage {
            self.input = Count(usage.prompt_tokens.0.or(self.input.0));
            self.output = Count(usage.completion_tokens.0.or(self.output.0));
        }
        if let Some(model) = completion.model.filter(|_| self.model.is_empty()) {
            self.model.push_str(&model.0);
        }
        // Never more than one is asked for.
        let Some(choice) = completion.choices.0.into_iter().next() else { return Ok(()) };
        if let Some(reason) = choice.finish_reason {
            self.finish_reason = Some(reason.0.into_owned());
        }
        if let Some(said) = choice.message.or(choice.delta) {
            self.begun = true;
            if self.hear(said)? {
                self.pieces += 1;
                self.first.get_or_insert(at);
                self.last = Some(at);
            }
        }
        Ok(())
    }

    /// Whether the server has said that the reply is over.
    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// The reply, to `request` that was sent at `sent` and answered in full at `ended`.
    pub(super) fn finish(
        self,
        request: &Request,
        model: &str,
        sent: Instant,
        ended: Instant,
        streamed: bool,
    ) -> Result<Reply, Trouble> {
        if !self.begun {
            return Err(Trouble::Malformed("no choice in it".to_owned()));
        }
        let timing = Timing {
            first_token: self.first.filter(|_| streamed).map(|first| first - sent),
            inter_token: self.between().filter(|_| streamed),
            total: ended - sent,
            ..Timing::default()
        };
        Ok(Reply {
            usage: self.usage(request),
            tool_calls: self.calls.into_iter().map(|(_, call)| call).collect(),
            text: self.text,
            actions: self.actions,
            finish_reason: self.finish_reason,
            model: if self.model.is_empty() { model.to_owned() } else { self.model },
            timing,
            tries: 1,
            cost_nanos: None,
        })
    }

    /// Adds a message or a piece of one; whether there was anything in it.
    fn hear(&mut self, said: Said<'_>) -> Result<bool, Trouble> {
        let mut heard = false;
        let content = said.content.map(|Content(text)| text).filter(|text| !text.is_empty());
        if let Some(text) = content.or(said.refusal.map(|refusal| refusal.0)).filter(|text| !text.is_empty()) {
            self.text.push_str(&text);
            heard = true;
        }
        for piece in said.tool_calls.0 {
            self.hear_call(piece)?;
            heard = true;
        }
        self.actions.extend(said.actions.0.into_iter().filter_map(|action| action.0).map(|name| name.into_owned()));
        if self.size() > MOST_BYTES {
            return Err(Trouble::Malformed(format!("a reply of more than {MOST_BYTES} bytes")));
        }
        Ok(heard)
    }

    fn hear_call(&mut self, piece: CallPiece<'_>) -> Result<(), Trouble> {
        let id = piece.id.map(|id| id.0).unwrap_or_default();
        // A whole completion numbers its calls by their place; so do servers that stream each call at once.
        let place = self.calls.len() as u64;
        let index = piece.index.unwrap_or(if id.is_empty() { place.saturating_sub(1) } else { place });
        // Some servers give every call the index 0: another id is another call.
        let known = self
            .calls
            .iter()
            .rposition(|(of, call)| *of == index && (id.is_empty() || call.id.is_empty() || call.id == id));
        let known = known.unwrap_or_else(|| {
            self.calls.push((index, ToolCall::default()));
            self.calls.len() - 1
        });
        if self.calls.len() > MOST_CALLS {
            return Err(Trouble::Malformed(format!("more than {MOST_CALLS} tool calls")));
        }
        let call = &mut self.calls[known].1;
        if call.id.is_empty() {
            call.id.push_str(&id);
        }
        if let Some(function) = piece.function {
            if let Some(name) = function.name {
                call.name.push_str(&name.0);
            }
            if let Some(arguments) = function.arguments {
                call.arguments.push_str(&arguments.0);
            }
        }
        Ok(())
    }

    fn size(&self) -> usize {
        let calls: usize =
            self.calls.iter().map(|(_, call)| call.id.len() + call.name.len() + call.arguments.len()).sum();
        let actions: usize = self.actions.iter().map(|action| action.len() + size_of::<String>()).sum();
        self.text.len() + calls + actions
    }

    fn between(&self) -> Option<std::time::Duration> {
        let gaps = self.pieces.checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some((self.last? - self.first?) / gaps)
    }

    /// What the server counted, and an estimate of what it did not.
    fn usage(&self, request: &Request) -> Usage {
        let said =
            self.text.len() + self.calls.iter().map(|(_, call)| call.name.len() + call.arguments.len()).sum::<usize>();
        Usage {
            input_tokens: self.input.0.unwrap_or_else(|| estimate::tokens_of_bytes(estimate::request_bytes(request))),
            output_tokens: self.output.0.unwrap_or_else(|| estimate::tokens_of_bytes(said as u64)),
            estimated: self.input.0.is_none() || self.output.0.is_none(),
        }
    }
}
