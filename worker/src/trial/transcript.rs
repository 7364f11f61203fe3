//! The turns of a trial and what they cost, on their way to the coordinator.
//!
//! A turn is sent when the next one starts. Until then judges add their calls to it, and so do tool calls that arrive
//! after the agent's reply.

use std::{sync::Arc, time::Duration};

use record::{
    Call, Failure, Simulated, Trial, Turn,
    call::{ErrorKind, Spend},
    call_times::CallTimes,
    trial::TurnLatency,
    turn::{Note, Origin, ToolCall},
};
use telemetry::metrics::TrialSeries;

use super::size::Size;
use crate::{
    outbox::{Attempt, Outbox},
    recorder::CallLog,
};

pub(crate) struct Transcript {
    turns: Vec<Turn>,
    /// Calls before the first turn.
    turnless: Vec<Call>,
    latencies: Vec<TurnLatency>,
    /// Turns in which the agent gave no answer.
    unanswered: u32,
    /// Notes for the next turn.
    notes: Vec<Note>,
    /// The draft for the next turn.
    simulated: Option<Box<Simulated>>,
    size: Size,
    log: Arc<CallLog>,
    emission: Emission,
}

/// Where finished turns go.
struct Emission {
    attempt: Attempt,
    outbox: Outbox,
    /// Counts turns, calls and the end in the worker's metrics.
    place: TrialSeries,
    /// How many turns the outbox has.
    emitted: usize,
}

impl Transcript {
    pub(super) fn new(attempt: Attempt, outbox: Outbox, place: TrialSeries, log: Arc<CallLog>) -> Self {
        Self {
            turns: Vec::new(),
            turnless: Vec::new(),
            latencies: Vec::new(),
            unanswered: 0,
            notes: Vec::new(),
            simulated: None,
            size: Size::default(),
            log,
            emission: Emission { attempt, outbox, place, emitted: 0 },
        }
    }

    pub(super) fn turns(&self) -> &[Turn] {
        &self.turns
    }

    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    pub(super) fn last(&self) -> Option<&Turn> {
        self.turns.last()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Turn> {
        self.turns.last_mut()
    }

    /// How many turns there are: the number of the last one.
    pub(super) fn number(&self) -> u32 {
        u32::try_from(self.turns.len()).unwrap_or(u32::MAX - 1)
    }

    pub(super) fn next_number(&self) -> u32 {
        self.number() + 1
    }

    /// The agent's last answer: its text after its last tool call.
    pub(super) fn last_reply(&self) -> &str {
        self.last().and_then(|turn| turn.agent.as_deref()).unwrap_or("")
    }

    /// All that the agent said in the last turn.
    pub(super) fn last_said(&self) -> String {
        self.last().and_then(Turn::said).unwrap_or_default().into_owned()
    }

    /// How long the agent, its tools and programs worked in the turns from this index on.
    pub(super) fn agents_time(&self, first_turn: usize) -> Duration {
        Duration::from_micros(self.turns[first_turn..].iter().map(|turn| turn.duration_micros).sum())
    }

    /// Adds a note to the next turn, or to the last one if none follows.
    pub(super) fn note(&mut self, kind: &str, text: impl Into<String>) {
        self.notes.push(Note { kind: kind.to_owned(), text: text.into() });
    }

    /// Keeps the draft for the next turn.
    pub(super) fn simulated(&mut self, simulated: Simulated) {
        self.simulated = simulated.boxed();
    }

    /// Keeps with the last turn which parts of its goal the user believes to be done after it.
    pub(super) fn parts_done(&mut self, parts: Vec<String>) {
        if let Some(turn) = self.turns.last_mut().filter(|_| !parts.is_empty()) {
            turn.simulated.get_or_insert_default().parts_done = parts;
        }
    }

    /// Keeps with the last turn how many questions of the user's state no judge answered after it.
    pub(super) fn failed_asks(&mut self, failed: u32) {
        if let Some(turn) = self.turns.last_mut().filter(|_| failed > 0) {
            turn.simulated.get_or_insert_default().failed_asks = failed;
        }
    }

    /// Adds the calls of the user's own tools to the last turn, if no line followed.
    pub(super) fn user_calls(&mut self, calls: Vec<ToolCall>) {
        if let Some(turn) = self.turns.last_mut().filter(|_| !calls.is_empty()) {
            turn.simulated.get_or_insert_default().calls.extend(calls);
        }
    }

    /// A new turn, with the calls that led to it and its notes.
    pub(super) fn begin(&mut self, step: u32, speaker: Origin, user: String, started_micros: u64) -> Turn {
        Turn {
            calls: self.log.take(),
            notes: std::mem::take(&mut self.notes),
            simulated: self.simulated.take(),
            ..Turn::new(self.next_number(), step, speaker, user, started_micros)
        }
    }

    pub(super) fn answered(&mut self, latency: TurnLatency) {
        self.latencies.push(latency);
    }

    pub(super) fn not_answered(&mut self) {
        self.unanswered += 1;
    }

    /// Keeps a turn. The turn before it is complete and goes to the coordinator.
    pub(super) fn push(&mut self, turn: Turn) {
        self.emit();
        self.turns.push(turn);
    }

    /// Keeps an exchange with the agent. Fails once the whole conversation is too long to record.
    pub(super) fn push_exchange(&mut self, turn: Turn) -> Result<(), Failure> {
        let speaker = turn.speaker;
        self.size.add(&turn);
        self.push(turn);
        self.size.failure(speaker).map_or(Ok(()), Err)
    }

    /// Adds the calls since the last turn to that turn.
    pub(super) fn settle(&mut self) {
        let calls = self.log.take();
        self.keep(calls);
    }

    /// Adds the calls since the last turn to the trial: they belong to no turn.
    pub(super) fn settle_trial(&mut self) {
        let mut calls = self.log.take();
        calls.iter_mut().for_each(|call| call.of_trial = true);
        self.keep(calls);
    }

    /// Sends every turn that the coordinator does not have.
    pub(super) fn emit(&mut self) {
        let Emission { attempt, outbox, place, emitted } = &mut self.emission;
        for turn in &mut self.turns[*emitted..] {
            // The turn stays in memory until the trial ends.
            turn.calls.shrink_to_fit();
            place.turn(turn);
            outbox.turn(attempt, turn.clone());
        }
        *emitted = self.turns.len();
    }

    /// Sends how the trial ended.
    pub(super) fn end(&self, trial: Trial) {
        let Emission { attempt, outbox, place, .. } = &self.emission;
        place.ended(&trial);
        outbox.ended(&attempt.run, trial);
    }

    pub(super) fn turnless(&self) -> &[Call] {
        &self.turnless
    }

    pub(super) fn latencies(&self) -> &[TurnLatency] {
        &self.latencies
    }

    pub(super) fn unanswered(&self) -> u32 {
        self.unanswered
    }

    pub(super) fn spend(&self) -> Spend {
        let mut spend = Spend::default();
        self.calls().for_each(|call| spend.add_call(call));
        spend
    }

    pub(super) fn call_times(&self) -> CallTimes {
        let mut call_times = CallTimes::default();
        self.calls().for_each(|call| call_times.add_call(call));
        call_times
    }

    /// Whether a provider reported that its quota or credit is used up, even if the trial passed.
    pub(super) fn is_exhausted(&self) -> bool {
        self.calls().any(|call| call.error_kind == Some(ErrorKind::Exhausted))
    }

    /// Whether a call was not made because the budget of the run is used up.
    pub(super) fn has_no_money(&self) -> bool {
        self.calls().any(|call| call.error_kind == Some(ErrorKind::NoMoney))
    }

    fn calls(&self) -> impl Iterator<Item = &Call> {
        self.turnless.iter().chain(self.turns.iter().flat_map(|turn| &turn.calls))
    }

    /// The last turn holds the calls. Calls before the first turn are sent as spending at once.
    fn keep(&mut self, calls: Vec<Call>) {
        if let Some(turn) = self.turns.last_mut() {
            turn.calls.extend(calls);
            turn.notes.append(&mut self.notes);
            return;
        }
        for call in &calls {
            self.emission.place.call(call);
        }
        self.emission.outbox.spent(&self.emission.attempt.run, calls.clone());
        self.turnless.extend(calls);
    }
}
