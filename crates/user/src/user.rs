//! One person in one conversation: what it has been through, and what comes next.

use record::stop::{Signal, Stopper};
use scenario::{
    conversation::Simulator,
    user::{Farewell, SelfCheck},
};

use crate::{
    draft::Draft,
    examination,
    faults::Found,
    goal::Goal,
    handover,
    objection::{self, Objection},
    prompt::{self, Prompt},
    reply,
    situation::Situation,
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
    goal: Goal,
}

/// How the person ends the talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub who: Stopper,
    pub signal: Signal,
    /// Whether the agent gets the last words.
    pub says_farewell: bool,
}

impl<'a> User<'a> {
    /// # Errors
    /// The scenario's template does not compile.
    pub fn new(simulator: &'a Simulator, may_end: bool) -> Result<Self, Error> {
        let written = simulator.extras.prompt.as_ref();
        let template = written.map(|prompt| Template::new(&prompt.path, &prompt.text)).transpose()?;
        Ok(Self { simulator, may_end, template, goal: Goal::new(&simulator.extras.goal) })
    }

    #[must_use]
    pub fn simulator(&self) -> &'a Simulator {
        self.simulator
    }

    /// The agent has answered.
    pub fn hear(&mut self) {
        self.goal.was_answered();
    }

    /// What the model sees.
    ///
    /// # Errors
    /// The scenario's template does not render.
    pub fn prompt(&self, situation: &Situation<'_>) -> Result<Prompt, Error> {
        let template = self.template.as_ref();
        let rendered = template.map(|it| it.render(self.simulator, &self.goal, situation, self.may_end)).transpose()?;
        Ok(prompt::prompt(rendered, self.simulator, &self.goal, situation, self.may_end))
    }

    /// What the scenario has the person say now, word by word.
    #[must_use]
    pub fn scripted(&self, situation: &Situation<'_>) -> Option<&'a str> {
        self.simulator.extras.scripted(situation.line)
    }

    /// A line as the person types it; `None`: as it was written.
    #[must_use]
    pub fn typed(&self, say: &str, seed: u64) -> Option<String> {
        typing::typed(say, &self.simulator.extras, seed)
    }

    /// Reads the model's answer.
    #[must_use]
    pub fn read(&self, raw: String) -> Draft {
        reply::read(raw, &self.simulator.extras, self.may_end)
    }

    /// What no user would say in a draft. `instructions`: the first message that the model got.
    #[must_use]
    pub fn faults(&self, draft: &Draft, instructions: &str, situation: &Situation<'_>) -> Vec<Found> {
        if self.simulator.extras.self_check() == SelfCheck::Off {
            return Vec::new();
        }
        examination::faults(draft, self.simulator, instructions, situation)
    }

    /// Why a draft goes back to the model, if it does.
    #[must_use]
    pub fn objection(&self, draft: &Draft, situation: &Situation<'_>) -> Option<Objection> {
        let min_turns = self.simulator.extras.stops().min_turns.0;
        objection::to_signal(draft, situation.turns, situation.exchanges, min_turns)
    }

    /// Takes a draft as the person's next line: what it believes, and whether it ends the talk. Without a signal the talk ends
    /// where the person's patience does.
    ///
    /// A handover that the agent has not made does not count. The person's beliefs change nothing but its own prompt and
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

#[cfg(test)]
mod tests;
