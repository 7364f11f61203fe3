//! The tools of one trial: the scenario's mocks, and which turn each call belongs to.
//!
//! A call belongs to the turn in which it arrived, whether the agent reports it in its reply or not. A call that arrives
//! after the reply and before the next message belongs to that reply's turn too.

mod merge;

use std::sync::Arc;

use agent::Tools;
use record::{Failure, FailureKind, Turn};
use scenario::Scenario;
use serde_json::Value;

use super::calling::Calling;
use crate::tool_server::{Registration, ToolServer};

/// Created on first use, and kept for the whole trial, even if the agent is opened again.
#[derive(Debug, Default)]
pub(crate) struct Toolbox {
    tools: Option<Arc<Tools>>,
    registration: Option<Registration>,
    /// The agent answers its tool calls itself.
    unused: bool,
    /// Calls of the latest turn that reached the tool server: the journal's number, and the index in the turn.
    latest: Vec<(u64, usize)>,
    /// The number of that turn.
    turn: u32,
}

impl Toolbox {
    /// The mocks of the scenario.
    pub(crate) fn tools(&mut self, scenario: &Scenario, calling: &Calling, now_millis: fn() -> i64) -> Arc<Tools> {
        let make = || {
            let known = &calling.context;
            let context = [
                ("scenario", &known.scenario),
                ("persona", &known.persona),
                // Not the id that the agent gets: a mock's answer must not depend on the attempt.
                ("conversation", &known.trial),
                ("run", &known.run),
            ];
            let context = context.map(|(key, text)| (key.to_owned(), text.clone().into())).into_iter().collect();
            let tools = Tools::new(scenario.mocks.clone(), calling.seed, context, now_millis);
            let state = scenario.environment.state.clone();
            Arc::new(tools.with_state(state).with_user_tools(scenario.user_tools()))
        };
        Arc::clone(self.tools.get_or_insert_with(make))
    }

    /// The mocks for the simulated user; `None` if nothing has created them yet.
    pub(crate) fn made(&self) -> Option<Arc<Tools>> {
        self.tools.clone()
    }

    /// The agent answers its tool calls itself.
    pub(crate) fn is_not_used(&mut self) {
        self.unused = true;
    }

    /// The current state of the mocks; `None` if no agent got them.
    pub(crate) fn state(&self) -> Option<Value> {
        self.tools.as_ref().filter(|_| !self.unused).map(|tools| tools.state())
    }

    /// Registers the tools at the tool server until the trial ends.
    pub(crate) async fn register(&mut self, server: &ToolServer) -> Result<&Registration, Failure> {
        let registration = match (self.registration.take(), &self.tools) {
            (Some(registration), _) => registration,
            (None, Some(tools)) => server
                .register(Arc::clone(tools))
                .await
                .map_err(|error| Failure::new(FailureKind::Misconfigured, format!("the worker cannot {error}")))?,
            (None, None) => return Err(Failure::new(FailureKind::Misconfigured, "the scenario has no mocks")),
        };
        Ok(self.registration.insert(registration))
    }

    /// Adds the calls since the last message to that message's turn.
    pub(crate) fn hand_over(&mut self, turn: &mut Turn) {
        (self.turn, self.latest) = (turn.number, Vec::new());
        let (Some(registration), Some(tools)) = (&self.registration, &self.tools) else {
            let all = u32::try_from(turn.tool_calls.len()).unwrap_or(u32::MAX);
            turn.messages.iter_mut().for_each(|said| said.tool_calls_before = said.tool_calls_before.min(all));
            return;
        };
        let taken = registration.journal().take();
        let reported = std::mem::take(&mut turn.tool_calls);
        let merged = merge::merge(taken.calls, reported, &|a, b| tools.is_same(a, b));
        for said in &mut turn.messages {
            // A message after some reported calls comes after all calls before them.
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

    /// Calls from now on belong to the next turn.
    pub(crate) fn begin_turn(&mut self, last: Option<&mut Turn>) {
        self.catch_up(last);
        if let Some(registration) = &self.registration {
            registration.journal().begin_turn();
        }
    }

    /// Adds what arrived after the reply to its turn: calls, and results of calls that the reply did not wait for. Before
    /// the first turn it keeps them for that turn.
    pub(crate) fn catch_up(&mut self, turn: Option<&mut Turn>) {
        let (Some(registration), Some(turn)) = (&self.registration, turn) else { return };
        let taken = registration.journal().take();
        if self.turn != turn.number {
            // A program has run since, which counts as a turn.
            (self.turn, self.latest) = (turn.number, Vec::new());
        }
        for (number, call) in taken.calls {
            self.latest.push((number, turn.tool_calls.len()));
            turn.tool_calls.push(call);
        }
        for (number, result) in taken.results {
            // A call of an earlier turn, which is with the coordinator already.
            let Some((_, index)) = self.latest.iter().find(|(known, _)| *known == number) else { continue };
            turn.tool_calls[*index].result = Some(result);
        }
    }
}
