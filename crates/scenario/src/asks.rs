//! The models that a scenario needs in addition to the agent: judges, models that score texts, simulated users.

use std::collections::BTreeSet;

use crate::{
    Action, Battery, Check, Conversation, Scenario,
    battery::{Answer, DataSet, Requirement, Tester},
    check::{Asked, Measure},
    conversation::{Condition, Stop},
};

/// The models without which a trial has no verdict. Checks that only inform do not count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asks {
    /// Judges by their model type; `None`: the default judge.
    pub judges: BTreeSet<Option<String>>,
    pub measures: BTreeSet<Measure>,
    /// Simulated users by their model type.
    pub simulators: BTreeSet<String>,
}

impl Asks {
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let mut asks = Self::default();
        for step in &scenario.steps {
            match &step.action {
                Action::Say { .. } | Action::Execute { .. } => {}
                Action::Converse(conversation) => asks.converse(conversation),
                Action::Examine(battery) => asks.examine(battery),
            }
            asks.verdict(&step.checks);
        }
        asks
    }

    fn converse(&mut self, conversation: &Conversation) {
        self.simulators.insert(conversation.simulator.model_type.clone());
        if conversation.simulator.extras.states.iter().any(|(_, state)| state.questions() > 0) {
            self.judges.insert(None);
        }
        self.verdict(&conversation.turn_checks);
        self.verdict(&conversation.final_checks);
        // The judge of a stop condition is always needed: without its answer the conversation cannot go on.
        let asked = |stop: &Stop| stop.judge.is_some() && stop.condition != Condition::MaxTurnsReached;
        if conversation.stops.iter().any(asked) {
            self.judges.insert(None);
        }
    }

    fn examine(&mut self, battery: &Battery) {
        if let (Tester::Model(simulator), None) = (&battery.tester, &battery.saved) {
            self.simulators.insert(simulator.model_type.clone());
        }
        for requirement in battery.requirements() {
            match requirement {
                Requirement::Stutter | Requirement::RepeatedQuestions | Requirement::InputFiltering => {}
                Requirement::ContextCoherence | Requirement::ReplyCoherence => {
                    self.measures.insert(Measure::NextSentence);
                }
                Requirement::Toxicity => {
                    self.measures.insert(Measure::Toxicity);
                }
                tested => {
                    let sets = battery.sets.iter().filter(|set| Some(set.kind) == tested.data());
                    sets.for_each(|set| self.answer(set));
                }
            }
        }
    }

    /// Rules read yes and no. Other answers are extracted from the reply and compared with the right one.
    fn answer(&mut self, set: &DataSet) {
        if set.extract.is_some() {
            self.measures.insert(Measure::Answer);
            if !matches!(set.answer, Some(Answer::Yes(_))) {
                self.measures.insert(Measure::Similarity);
            }
        }
    }

    fn verdict(&mut self, checks: &[Check]) {
        let required = checks.iter().filter(|check| check.required);
        for question in required.flat_map(Check::questions) {
            match question.to {
                Asked::Judge(model_type) => _ = self.judges.insert(model_type.map(str::to_owned)),
                Asked::Measure(measure) => _ = self.measures.insert(measure),
            }
        }
    }
}
