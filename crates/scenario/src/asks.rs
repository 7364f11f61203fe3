//! Whom a scenario asks besides the agent: judges, models that measure texts, the simulated user.

use std::collections::BTreeSet;

use crate::{
    Action, Battery, Check, Conversation, Rule, Scenario,
    battery::{Answer, DataSet, Requirement, Tester},
    check::{ArgumentRule, ExpectedCall, RefusalMethod, SatisfactionMethod},
    conversation::{Condition, Stop},
};

/// Everybody without whom a trial of the scenario has no verdict. Checks that only inform ask nobody here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asks {
    /// Judges by their model type; `None`: the usual one.
    pub judges: BTreeSet<Option<String>>,
    pub measures: BTreeSet<Measure>,
    /// Simulated users by their model type.
    pub simulators: BTreeSet<String>,
}

/// What a text is measured for, by a model that the settings choose for it, or else by the usual judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    Similarity,
    Answer,
    NextSentence,
    Toxicity,
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
        self.verdict(&conversation.turn_checks);
        self.verdict(&conversation.final_checks);
        // Whether a conversation goes on is no opinion: without the answer there is nothing to judge.
        let asked = |stop: &Stop| stop.judge.is_some() && stop.condition != Condition::MaxTurnsReached;
        self.usual_judge_if(conversation.stops.iter().any(asked));
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

    /// Yes and no are read by rules; words are looked for in the reply, and compared with the right ones.
    fn answer(&mut self, set: &DataSet) {
        if set.extract.is_some() {
            self.measures.insert(Measure::Answer);
            if !matches!(set.answer, Some(Answer::Yes(_))) {
                self.measures.insert(Measure::Similarity);
            }
        }
    }

    fn verdict(&mut self, checks: &[Check]) {
        checks.iter().filter(|check| check.required).for_each(|check| self.rule(&check.rule));
    }

    fn nested(&mut self, checks: &[Check]) {
        checks.iter().for_each(|check| self.rule(&check.rule));
    }

    fn usual_judge_if(&mut self, asked: bool) {
        if asked {
            self.judges.insert(None);
        }
    }

    fn rule(&mut self, rule: &Rule) {
        match rule {
            Rule::LlmJudge(rule) => {
                self.judges.insert(rule.model_type.clone());
            }
            Rule::Rubric(rule) if rule.panel.is_empty() => {
                self.judges.insert(rule.model_type.clone());
            }
            Rule::Rubric(rule) => self.judges.extend(rule.panel.iter().cloned().map(Some)),
            Rule::Call(rule) => {
                self.judges.insert(Some(rule.plugin.clone()));
                self.nested(&rule.checks);
            }
            Rule::SemanticCondition { .. } | Rule::SemanticSimilar { .. } => self.usual_judge_if(true),
            Rule::ConversationFlow { required_patterns, .. } => self.usual_judge_if(!required_patterns.is_empty()),
            Rule::ContextRetention { test_memory_of, .. } => self.usual_judge_if(!test_memory_of.is_empty()),
            Rule::Refusal { method } => self.usual_judge_if(*method == RefusalMethod::LlmJudge),
            Rule::UserSatisfaction { method, .. } => {
                self.usual_judge_if(*method != SatisfactionMethod::KeywordAnalysis);
            }
            Rule::Similarity { .. } => {
                self.measures.insert(Measure::Similarity);
            }
            Rule::JsonPath { checks, .. } | Rule::AnyOf { checks } => self.nested(checks),
            Rule::JsonCheck { fields } | Rule::RegexMatch { captures: fields, .. } => {
                fields.iter().for_each(|(_, checks)| self.nested(checks));
            }
            Rule::ToolCalls(rule) => rule.calls.iter().for_each(|call| self.call(call)),
            Rule::StringContains { .. }
            | Rule::Contains { .. }
            | Rule::StartsWith { .. }
            | Rule::EndsWith { .. }
            | Rule::Equals { .. }
            | Rule::Empty
            | Rule::AnswerId { .. }
            | Rule::FileExists { .. }
            | Rule::FileContains { .. }
            | Rule::CommandExitCodeIs { .. }
            | Rule::TrajectoryContainsAction { .. }
            | Rule::TelephonyEvents { .. }
            | Rule::JsonSchema { .. }
            | Rule::Number { .. }
            | Rule::Length { .. }
            | Rule::Language { .. }
            | Rule::ExecutionTime { .. }
            | Rule::Latency { .. }
            | Rule::Spend { .. }
            | Rule::ConversationLength { .. } => {}
        }
    }

    fn call(&mut self, call: &ExpectedCall) {
        let arguments = call.arguments.iter().flatten().map(|(_, rule)| rule);
        for rule in arguments.chain(&call.result) {
            self.argument(rule);
        }
    }

    fn argument(&mut self, rule: &ArgumentRule) {
        match rule {
            ArgumentRule::Checks(checks) => self.nested(checks),
            ArgumentRule::Fields { fields, .. } => fields.iter().for_each(|(_, rule)| self.argument(rule)),
            ArgumentRule::Equals(_) | ArgumentRule::Anything | ArgumentRule::Optional => {}
        }
    }
}
