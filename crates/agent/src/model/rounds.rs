//! One turn of a model that calls tools: what its replies come to together.

use std::time::Duration;

use record::{FailureKind, turn::ToolCall};

use crate::{Error, Reply, Spent};

#[derive(Debug, Default)]
pub(super) struct Rounds {
    whole: Reply,
    count: u32,
    /// Calls that stand before those of the latest reply.
    earlier_calls: usize,
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
        self.whole.timing.total
    }

    pub(super) fn waited_for_tools(&mut self, time: Duration) {
        self.whole.timing.total += time;
    }

    /// The calls of the latest reply.
    pub(super) fn unanswered(&mut self) -> &mut [ToolCall] {
        &mut self.whole.tool_calls[self.earlier_calls..]
    }

    pub(super) fn add(&mut self, reply: Reply) {
        self.count += 1;
        let whole = &mut self.whole;
        self.earlier_calls = whole.tool_calls.len();
        if self.count == 1 {
            self.whole = reply;
            return;
        }
        whole.tool_calls.extend(reply.tool_calls);
        whole.actions.extend(reply.actions);
        whole.notes.extend(reply.notes);
        // What a model says before it has called its tools is no answer, unless it leaves it at that.
        if !reply.text.trim().is_empty() {
            whole.text = reply.text;
        }
        whole.model = reply.model;
        whole.usage = match (whole.usage, reply.usage) {
            (Some(a), Some(b)) => Some(llm::Usage {
                input_tokens: a.input_tokens + b.input_tokens,
                output_tokens: a.output_tokens + b.output_tokens,
                estimated: a.estimated || b.estimated,
            }),
            (a, b) => a.or(b),
        };
        whole.cost_nanos = whole.cost_nanos.zip(reply.cost_nanos).map(|(a, b)| a.saturating_add(b));
        whole.tries += reply.tries.saturating_sub(1);
        whole.lost_tries += reply.lost_tries;
        let timing = &mut whole.timing;
        timing.wait += reply.timing.wait;
        timing.retried += reply.timing.retried;
        timing.connect = timing.connect.or(reply.timing.connect);
        // The user sees the first word of the answer after all that went before it.
        timing.first_token = reply.timing.first_token.map(|first| timing.total + first);
        timing.inter_token = reply.timing.inter_token;
        timing.total += reply.timing.total;
    }

    /// The error of a later round, with what the earlier ones have cost.
    pub(super) fn broken(&mut self, error: Error) -> Error {
        match error.spent {
            Spent::Nothing if self.count > 0 => {
                Error { spent: Spent::Known(Box::new(std::mem::take(&mut self.whole))), ..error }
            }
            _ => error,
        }
    }

    pub(super) fn finish(mut self, endpoint: &str, is_silent: bool) -> Result<Reply, Error> {
        if is_silent && self.whole.text.trim().is_empty() {
            let message = format!("{endpoint} answered nothing once it had called its tools");
            return Err(self.broken(Error { kind: FailureKind::AgentEmpty, message, spent: Spent::Nothing }));
        }
        Ok(self.whole)
    }
}
