//! One person in one conversation: the past, and the next action.

use record::stop::{Signal, Stopper};
use scenario::{
    conversation::Simulator,
    mock::Tool,
    user::{Farewell, SelfCheck, StateEnd},
};

use crate::{
    draft::Draft,
    examination,
    faults::{Doubt, Found},
    goal::Goal,
    handover,
    length::Limits,
    objection::{self, Objection},
    prompt::{self, Prompt, Sheet},
    refusal::Refusal,
    reply,
    situation::Situation,
    states::{Crossroads, Walk},
    template::{Error, Template},
    typing,
};

/// A person that a model plays.
#[derive(Debug)]
pub struct User<'a> {
    simulator: &'a Simulator,
    /// Whether the person may end the talk. The tester of a battery may not.
    may_end: bool,
    template: Option<Template>,
    limits: Limits,
    goal: Goal,
    states: Option<Walk<'a>>,
    /// The person's tools.
    tools: Vec<Tool>,
}

/// The next action, before a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cue<'a> {
    /// The states end the conversation.
    Stop(End),
    /// A line of the scenario, and whether it ends the conversation.
    Recite(&'a str, Option<End>),
    /// The model writes the line, and whether the line ends the conversation.
    Draft(Option<End>),
}

/// How the person ends the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub who: Stopper,
    pub signal: Signal,
    /// Whether the agent gets the last line.
    pub says_farewell: bool,
}

impl<'a> User<'a> {
    /// # Errors
    /// The scenario's template does not compile.
    pub fn new(simulator: &'a Simulator, may_end: bool) -> Result<Self, Error> {
        let written = simulator.extras.prompt.as_ref();
        let template = written.map(|prompt| Template::new(&prompt.path, &prompt.text)).transpose()?;
        let (goal, states) = (Goal::new(&simulator.extras.goal), Walk::new(&simulator.extras));
        // The states end the conversation, not the model.
        let may_end = may_end && states.is_none();
        Ok(Self { simulator, may_end, template, limits: Limits::of(simulator), goal, states, tools: Vec::new() })
    }

    /// The same person with tools.
    #[must_use]
    pub fn with_tools(self, tools: Vec<Tool>) -> Self {
        Self { tools, ..self }
    }

    #[must_use]
    pub fn simulator(&self) -> &'a Simulator {
        self.simulator
    }

    /// The agent has answered.
    pub fn hear(&mut self) {
        self.goal.was_answered();
    }

    /// The prompt for the model. `refusal`: the refused drafts of this line.
    ///
    /// # Errors
    /// The scenario's template does not render.
    pub fn prompt(&self, situation: &Situation<'_>, refusal: Option<&Refusal>) -> Result<Prompt, Error> {
        let sheet = Sheet {
            simulator: self.simulator,
            limits: self.limits,
            goal: &self.goal,
            state: self.states.as_ref().and_then(Walk::state),
            tools: &self.tools,
            situation,
            may_end: self.may_end,
        };
        let rendered = self.template.as_ref().map(|template| template.render(&sheet)).transpose()?;
        Ok(prompt::prompt(rendered, &sheet, refusal))
    }

    /// The next state after the agent's answer; `None` for a person without states.
    #[must_use]
    pub fn crossroads(&self, situation: &Situation<'_>) -> Option<Crossroads<'a>> {
        Some(self.states.as_ref()?.crossroads(situation))
    }

    /// The person goes to the state at this place.
    pub fn enter(&mut self, place: usize, situation: &Situation<'_>) {
        if let Some(states) = &mut self.states {
            states.enter(place, situation);
        }
    }

    /// The name of the state that the person is in.
    #[must_use]
    pub fn state(&self) -> Option<&'a str> {
        self.states.as_ref().map(Walk::name)
    }

    /// The next action: the script's line, or else the state's.
    pub fn cue(&mut self, situation: &Situation<'_>) -> Cue<'a> {
        let by_script = |signal| End { who: Stopper::Script, signal, says_farewell: false };
        let state = self.states.as_ref().and_then(Walk::state);
        let end = state.and_then(|state| state.end).map(|end| by_script(signal_of(end)));
        if let (Some(end), Some(state)) = (end, state)
            && !state.speaks()
        {
            return Cue::Stop(end);
        }
        if self.states.as_ref().is_some_and(Walk::is_worn_out) {
            return Cue::Stop(by_script(Signal::GaveUp));
        }
        if let Some(words) = self.simulator.extras.scripted(situation.line) {
            return Cue::Recite(words, None);
        }
        if let Some(states) = &mut self.states {
            states.visit();
        }
        let farewell = end.map(|end| End { says_farewell: true, ..end });
        match state.and_then(|state| state.verbatim.as_deref()) {
            Some(words) => Cue::Recite(words, farewell),
            None => Cue::Draft(farewell),
        }
    }

    /// A line as the person types it; `None` if it is unchanged.
    #[must_use]
    pub fn typed(&self, say: &str, seed: u64) -> Option<String> {
        typing::typed(say, &self.simulator.extras, seed)
    }

    /// Reads the model's answer.
    #[must_use]
    pub fn read(&self, raw: String) -> Draft {
        reply::read(raw, &self.simulator.extras, self.may_end)
    }

    /// Faults of a draft. `instructions`: the first message of the model's prompt.
    #[must_use]
    pub fn faults(&self, draft: &Draft, instructions: &str, situation: &Situation<'_>) -> Vec<Found> {
        if self.simulator.extras.self_check() == SelfCheck::Off {
            return Vec::new();
        }
        examination::faults(draft, self.simulator, self.limits, instructions, situation)
    }

    /// Why a draft goes back to the model, if it does.
    #[must_use]
    pub fn objection(&self, draft: &Draft, situation: &Situation<'_>) -> Option<Objection> {
        let min_turns = self.simulator.extras.stops().min_turns.0;
        objection::to_signal(draft, situation.turns, situation.exchanges, min_turns)
    }

    /// Why a draft goes back to the model although it has no fault: it may be the other side's line.
    #[must_use]
    pub fn doubt(&self, draft: &Draft, situation: &Situation<'_>) -> Option<Doubt> {
        if self.simulator.extras.self_check() == SelfCheck::Off {
            return None;
        }
        examination::doubt(draft, self.simulator, self.limits, situation)
    }

    /// Takes a draft as the person's next line: its beliefs, and whether it ends the conversation. Without a signal,
    /// the conversation ends when the person's patience does.
    ///
    /// A handover that the agent has not made does not count. The person's beliefs affect only its own prompt and
    /// patience.
    pub fn speak(&mut self, draft: &mut Draft, situation: &Situation<'_>) -> Option<End> {
        let parts = &self.simulator.extras.goal;
        self.goal.believe_done(parts, &draft.parts_done);
        self.goal.was_pursued(parts);
        if draft.signal == Some(Signal::HandedOver) && !handover::is_shown(situation.turns) {
            draft.signal = None;
        }
        let Some(signal) = draft.signal else {
            let patience = self.simulator.extras.stops().patience.0;
            let end = End { who: Stopper::Script, signal: Signal::GaveUp, says_farewell: false };
            return (self.may_end && self.goal.is_hopeless(patience)).then_some(end);
        };
        let sends = self.simulator.extras.stops().farewell == Farewell::Send;
        let says_farewell = sends && !draft.say.is_empty() && signal != Signal::OutOfScope;
        Some(End { who: Stopper::User, signal, says_farewell })
    }
}

fn signal_of(end: StateEnd) -> Signal {
    match end {
        StateEnd::Done => Signal::Done,
        StateEnd::GaveUp => Signal::GaveUp,
        StateEnd::HandedOver => Signal::HandedOver,
    }
}

#[cfg(test)]
pub(crate) mod tests;
