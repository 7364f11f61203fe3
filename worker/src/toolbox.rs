//! The tools of one trial: answered by the scenario's mocks, called here or from outside, and every call in its turn.
//!
//! A call belongs to the turn in which it came, whether the agent mentions it in its reply or not. One that comes after
//! the reply and before the next message belongs to that reply's turn too.

mod merge;

use std::sync::Arc;

use agent::Tools;
use record::{Failure, FailureKind, Turn};
use scenario::Scenario;

use crate::{
    bench::Bench,
    tool_server::{Seat, ToolServer},
};

/// Made when they are first needed; they last for the trial, also where the agent is opened anew.
#[derive(Debug, Default)]
pub(crate) struct Toolbox {
    tools: Option<Arc<Tools>>,
    seat: Option<Seat>,
    /// Calls of the latest turn that came from outside: the journal's number, and where it stands in the turn.
    latest: Vec<(u64, usize)>,
    /// The number of that turn.
    turn: u32,
}

impl Toolbox {
    /// The mocks of the scenario.
    pub(crate) fn tools(&mut self, scenario: &Scenario, bench: &Bench, now_millis: fn() -> i64) -> Arc<Tools> {
        let make = || {
            let known = &bench.template;
            let context = [
                ("scenario", &known.scenario),
                ("persona", &known.persona),
                // Not the id that the agent is sent: what a mock answers must not depend on the attempt.
                ("conversation", &known.trial),
                ("run", &known.run),
            ];
            let context = context.map(|(key, text)| (key.to_owned(), text.clone().into())).into_iter().collect();
            Arc::new(Tools::new(scenario.mocks.clone(), bench.seed, context, now_millis))
        };
        Arc::clone(self.tools.get_or_insert_with(make))
    }

    /// Where these tools are called from outside, until the trial ends.
    pub(crate) async fn seat(&mut self, server: &ToolServer) -> Result<&Seat, Failure> {
        let seat = match (self.seat.take(), &self.tools) {
            (Some(seat), _) => seat,
            (None, Some(tools)) => server
                .seat(Arc::clone(tools))
                .await
                .map_err(|error| Failure::new(FailureKind::Misconfigured, format!("the worker cannot {error}")))?,
            (None, None) => return Err(Failure::new(FailureKind::Misconfigured, "the scenario has no mocks")),
        };
        Ok(self.seat.insert(seat))
    }

    /// Brings what came from outside since the last message into the turn of that message.
    pub(crate) fn hand_over(&mut self, turn: &mut Turn) {
        (self.turn, self.latest) = (turn.number, Vec::new());
        let (Some(seat), Some(tools)) = (&self.seat, &self.tools) else {
            let all = u32::try_from(turn.tool_calls.len()).unwrap_or(u32::MAX);
            turn.messages.iter_mut().for_each(|said| said.tool_calls_before = said.tool_calls_before.min(all));
            return;
        };
        let taken = seat.journal().take();
        let reported = std::mem::take(&mut turn.tool_calls);
        let merged = merge::merge(taken.calls, reported, &|a, b| tools.is_same(a, b));
        for said in &mut turn.messages {
            // What was said after so many of the reported calls stands after all of these.
            let reported = usize::try_from(said.tool_calls_before).unwrap_or(usize::MAX);
            let after = if reported > merged.places.len() {
                merged.calls.len()
            } else {
                merged.places[..reported].iter().max().map_or(0, |place| place + 1)
            };
            said.tool_calls_before = u32::try_from(after).unwrap_or(u32::MAX);
        }
        for (index, (number, call)) in merged.calls.into_iter().enumerate() {
            self.latest.extend(number.map(|number| (number, index)));
            turn.tool_calls.push(call);
        }
    }

    /// What the agent calls from now on belongs to another turn than what it has called.
    pub(crate) fn begin_turn(&mut self, last: Option<&mut Turn>) {
        self.catch_up(last);
        if let Some(seat) = &self.seat {
            seat.journal().begin_turn();
        }
    }

    /// Brings what came after the reply into its turn: calls, and results of calls that the reply did not wait for.
    /// Before the first turn there is none: what comes then waits for it.
    pub(crate) fn catch_up(&mut self, turn: Option<&mut Turn>) {
        let (Some(seat), Some(turn)) = (&self.seat, turn) else { return };
        let taken = seat.journal().take();
        if self.turn != turn.number {
            // A program ran since, which is a turn too.
            (self.turn, self.latest) = (turn.number, Vec::new());
        }
        for (number, call) in taken.calls {
            self.latest.push((number, turn.tool_calls.len()));
            turn.tool_calls.push(call);
        }
        for (number, result) in taken.results {
            // A call of an earlier turn: that turn is with the coordinator already.
            let Some((_, index)) = self.latest.iter().find(|(known, _)| *known == number) else { continue };
            turn.tool_calls[*index].result = Some(result);
        }
    }
}
