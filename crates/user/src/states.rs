//! The states of the person: the exits that the agent's answers take, and the person's action in each.

use record::{Turn, turn::Origin};
use regex::Regex;
use scenario::user::{Exit, Extras, Fact, Named, State, When};

use crate::situation::Situation;

/// A person on the way through its states.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    states: &'a Named<State>,
    facts: &'a Named<Fact>,
    /// The place of the state in the scenario.
    current: usize,
    /// The number of turns when the person entered the state; `None`: it is the first state.
    since: Option<usize>,
    /// Lines said in each state.
    visits: Vec<u32>,
    /// The patterns of the current state's exits.
    patterns: Vec<Option<Regex>>,
}

/// The next state after the agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Crossroads<'a> {
    /// The state that a condition without a judge leads to. It comes first.
    pub sure: Option<usize>,
    /// Questions to a judge, and the states that a yes leads to. The first yes decides.
    pub asks: Vec<(&'a str, usize)>,
    /// The state without a condition.
    pub otherwise: Option<usize>,
}

impl<'a> Walk<'a> {
    /// `None` for a person without states.
    pub(crate) fn new(extras: &'a Extras) -> Option<Self> {
        let (states, facts) = (&extras.states, &extras.facts);
        let visits = vec![0; states.iter().count()];
        let patterns = patterns(states.at(0).map(|(_, state)| state));
        (!states.is_empty()).then_some(Self { states, facts, current: 0, since: None, visits, patterns })
    }

    pub(crate) fn name(&self) -> &'a str {
        self.states.at(self.current).map_or("", |(name, _)| name)
    }

    pub(crate) fn state(&self) -> Option<&'a State> {
        self.states.at(self.current).map(|(_, state)| state)
    }

    /// The next state after the agent's last answer.
    pub(crate) fn crossroads(&self, situation: &Situation<'_>) -> Crossroads<'a> {
        let mut found = Crossroads::default();
        for (index, Exit { when, go }) in self.state().into_iter().flat_map(|state| &state.next).enumerate() {
            let Some(place) = self.states.position(go) else { continue };
            match when {
                None => found.otherwise = found.otherwise.or(Some(place)),
                Some(when) if !self.holds(when, index, situation) => {}
                Some(When { ask: Some(question), .. }) => found.asks.push((question, place)),
                Some(_) => found.sure = found.sure.or(Some(place)),
            }
        }
        found
    }

    /// The person goes to a state.
    pub(crate) fn enter(&mut self, place: usize, situation: &Situation<'_>) {
        self.current = place;
        self.since = Some(situation.turns.len());
        self.patterns = patterns(self.state());
    }

    /// Whether the person has used up its lines in this state.
    pub(crate) fn is_worn_out(&self) -> bool {
        let most = self.state().and_then(|state| state.max_visits);
        most.is_some_and(|most| self.visits.get(self.current).is_some_and(|visits| *visits >= most.0))
    }

    /// The person says a line in this state.
    pub(crate) fn visit(&mut self) {
        if let Some(visits) = self.visits.get_mut(self.current) {
            *visits += 1;
        }
    }

    /// Whether everything but the question to a judge holds.
    fn holds(&self, when: &When, index: usize, situation: &Situation<'_>) -> bool {
        let turns = situation.turns;
        // The talk's first line belongs to the first state.
        let exchanges = usize::try_from(situation.exchanges).unwrap_or(usize::MAX);
        let since = self.since.unwrap_or_else(|| turns.len().saturating_sub(exchanges));
        let here = &turns[since.min(turns.len())..];
        let matches = || {
            let pattern = self.patterns.get(index).and_then(Option::as_ref);
            let said = turns.last().and_then(Turn::said);
            pattern.is_some_and(|pattern| said.is_some_and(|said| pattern.is_match(&said)))
        };
        let called = || {
            let calls = here.iter().flat_map(|turn| &turn.tool_calls);
            when.called().is_none_or(|wanted| calls.into_iter().any(|call| wanted.is(&call.name, &call.arguments)))
        };
        let waited = || when.after_turns.is_none_or(|turns| here.len() >= turns.0 as usize);
        (when.agent_matches.is_none() || matches())
            && called()
            && waited()
            && when.fact_told.as_deref().is_none_or(|name| self.has_told(name, situation))
    }

    fn has_told(&self, name: &str, situation: &Situation<'_>) -> bool {
        let Some(fact) = self.facts.get(name) else { return false };
        let value = fact.value.trim().to_lowercase();
        let mut lines = situation.turns.iter().filter(|turn| turn.speaker != Origin::Program).map(Turn::meant);
        lines.any(|line| line.to_lowercase().contains(&value))
    }
}

/// Compiled once for each visit of the state. The reader has refused invalid patterns.
fn patterns(state: Option<&State>) -> Vec<Option<Regex>> {
    let pattern = |exit: &Exit| Regex::new(exit.when.as_ref()?.agent_matches.as_deref()?).ok();
    state.into_iter().flat_map(|state| &state.next).map(pattern).collect()
}

#[cfg(test)]
mod tests {
    use record::turn::ToolCall;
    use serde_json::{Value, json};

    use super::*;

    fn extras(next: Value) -> Extras {
        let facts = json!({ "order": { "value": "W-4711" } });
        let states = json!({ "ask": { "say": "ask", "next": next }, "push": { "say": "insist", "max_visits": 2 }, "end": { "end": "done" } });
        serde_json::from_value(json!({ "facts": facts, "states": states })).unwrap()
    }

    fn turn(number: u32, user: &str, agent: &str, tool: Option<&str>) -> Turn {
        let call = |name: &str| ToolCall {
            id: String::new(),
            name: name.to_owned(),
            arguments: r#"{"eur":30}"#.to_owned(),
            result: None,
        };
        Turn {
            agent: Some(agent.to_owned()),
            tool_calls: tool.map(call).into_iter().collect(),
            ..Turn::new(number, 1, Origin::Simulated, user.to_owned(), 0)
        }
    }

    fn after(turns: &[Turn]) -> Situation<'_> {
        let exchanges = u32::try_from(turns.len()).unwrap();
        Situation {
            opening: &[],
            turns,
            steps: &[],
            calls: &[],
            exchanges,
            line: exchanges + 1,
            lines_left: 9,
            seed: 1,
        }
    }

    #[test]
    fn a_condition_holds_if_all_its_keys_do() {
        let turns = [turn(1, "Hi", "Hello.", None), turn(2, "It is w-4711.", "One MOMENT.", Some("refund_create"))];
        for (when, expected) in [
            (json!({ "agent_matches": "(?i)moment" }), true),
            (json!({ "agent_matches": "Hello" }), false),
            (json!({ "tool": "refund.create" }), true),
            (json!({ "tool": "refund.create", "arguments": { "eur": 30.0 } }), true),
            (json!({ "tool": "refund.create", "arguments": { "eur": 31 } }), false),
            (json!({ "after_turns": 2 }), true),
            (json!({ "after_turns": 3 }), false),
            (json!({ "fact_told": "order" }), true),
            (json!({ "fact_told": "nothing" }), false),
            (json!({ "fact_told": "order", "agent_matches": "no" }), false),
        ] {
            let extras = extras(json!([{ "if": when.clone(), "go": "end" }]));
            let walk = Walk::new(&extras).unwrap();
            assert_eq!(walk.crossroads(&after(&turns)).sure, expected.then_some(2), "{when}");
        }
    }

    #[test]
    fn conditions_without_a_judge_come_first_and_the_exit_without_one_comes_last() {
        let extras = extras(json!([
            { "go": "end" },
            { "if": { "ask": "Is it refused?" }, "go": "end" },
            { "if": { "ask": "Is it done?", "after_turns": 9 }, "go": "push" },
            { "if": { "after_turns": 1 }, "go": "push" },
            { "if": { "after_turns": 1 }, "go": "end" },
        ]));
        let walk = Walk::new(&extras).unwrap();
        let turns = [turn(1, "Hi", "Hello.", None)];
        let found = walk.crossroads(&after(&turns));
        assert_eq!(found, Crossroads { sure: Some(1), asks: vec![("Is it refused?", 2)], otherwise: Some(2) });
    }

    #[test]
    fn a_state_starts_again_on_each_visit() {
        let extras = extras(json!([{ "if": { "tool": "refund_create" }, "go": "push" }]));
        let mut walk = Walk::new(&extras).unwrap();
        let turns = [turn(1, "Hi", "Hello.", Some("refund_create"))];
        assert_eq!(walk.crossroads(&after(&turns)).sure, Some(1));
        walk.enter(0, &after(&turns));
        assert_eq!(walk.crossroads(&after(&turns)).sure, None, "the call was before");
        walk.enter(1, &after(&turns));
        assert_eq!((walk.name(), walk.is_worn_out()), ("push", false));
        walk.visit();
        walk.visit();
        assert!(walk.is_worn_out());
        assert!(Walk::new(&Extras::default()).is_none());
    }
}
