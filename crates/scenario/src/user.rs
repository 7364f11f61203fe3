//! Keys of a simulated user that exist only in gabfest: `gabfest` of `user_simulator` and of personas.

mod called_tool;
mod fact;
mod goal;
mod length;
mod named;
mod pause;
mod script;
mod state;
mod stops;
mod template;
mod typing;
mod violation;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::{Words, all_words, some_words};

pub use self::{
    called_tool::CalledTool,
    fact::{Fact, Tell},
    goal::{DoneWhen, Part},
    length::{Length, WordRange},
    named::Named,
    pause::{Pauses, ThinkKind, ThinkTime, TypingSpeed},
    script::{LaterTurn, ScriptedLine},
    state::{Exit, State, StateEnd, When},
    stops::{Farewell, SomeTurns, Stops},
    template::{MOST_TEMPLATE_BYTES, Prompt, VARIABLES},
    typing::{Case, Punctuation, Typing, Typos},
    violation::{SelfCheck, Violation},
};

yaml::bounded! {
    /// The length of a conversation with gabfest's own key, in turns.
    pub ManyTurns: u32, "integer", 2.0 to Some(500.0);
    /// A budget of tokens for what the simulated user remembers.
    pub HistoryTokens: u32, "integer", 200.0 to Some(1_000_000.0);
}

/// Keys of the simulated user that exist only in gabfest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "SimulatedUser")]
pub struct Extras {
    /// What the user talks to, such as `the assistant of an online shop`. The default is `an assistant`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub agent_is: Option<String>,
    /// The language of the user: a code such as `de`, or a name. The default is the language of the objective.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub language: Option<String>,
    /// What the user knows, by name. With facts, the user knows nothing else.
    #[serde(skip_serializing_if = "Named::is_empty")]
    pub facts: Named<Fact>,
    /// What the user does not know and says so, such as `the warranty number`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "all_words")]
    #[schemars(with = "Vec<Words>")]
    pub unknown: Vec<String>,
    /// What the user may make up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invent: Option<Invent>,
    /// The parts of the goal. The user ends the talk when it believes that all are done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub goal: Vec<Part>,
    /// How the user ends the talk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stops: Option<Stops>,
    /// The maximum number of exchanges, 2 to 500. Overrides the conversation's `max_turns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<ManyTurns>,
    /// How long the user's lines are. The default follows from `style`: 1 to 15 words for a terse one, 25 to 120 for a
    /// talkative one, else 5 to 40.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// How the user types. The default is as the model writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typing: Option<Typing>,
    /// How long the user thinks before each line but the first. Played in a load, and with `--think-time`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_time: Option<ThinkTime>,
    /// How fast the user types, which is a wait before each line but the first. Played in a load, and with `--think-time`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typing_speed: Option<TypingSpeed>,
    /// How much of the conversation the user's model sees word by word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Memory>,
    /// A file with a template (minijinja) that replaces the prompt. The path is relative to this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
    /// The form in which the user's model replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<ReplyForm>,
    /// Lines that the user says word by word at certain turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<ScriptedLine>,
    /// States that the user goes through, by name. The first one is the beginning. With states, the states end the talk, not
    /// the user's model.
    #[serde(skip_serializing_if = "Named::is_empty")]
    pub states: Named<State>,
    /// The tools that the user has: names of mocks in `setup.mocks`. The agent does not get them.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "all_words")]
    #[schemars(with = "Vec<Words>")]
    pub tools: Vec<String>,
    /// Who examines the user's lines for faults. The default is `rules`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_check: Option<SelfCheck>,
    /// What the user must not do. A judge reads each line for it, which needs `self_check: model`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
}

/// What the user may make up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Invent {
    /// Nothing.
    #[default]
    Nothing,
    /// Small talk that nobody acts on, such as the weather.
    Harmless,
}

/// How much of the conversation the user's model sees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserHistory")]
pub struct Memory {
    /// The budget in tokens of 3 bytes. The oldest turns beyond it are summed up. The default is 6,000.
    pub tokens: HistoryTokens,
}

/// The form in which the user's model replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyForm {
    /// Plain text, with marks such as `###DONE###`. Small models handle it best.
    #[default]
    Text,
    /// A JSON object, with a schema if the endpoint supports one.
    Json,
}

impl Extras {
    /// Tokens of the recent history that a model sees verbatim.
    pub const USUAL_HISTORY_TOKENS: u32 = 6_000;

    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    #[must_use]
    pub fn agent_is(&self) -> &str {
        self.agent_is.as_deref().unwrap_or("an assistant")
    }

    #[must_use]
    pub fn stops(&self) -> Stops {
        self.stops.unwrap_or_default()
    }

    #[must_use]
    pub fn history_tokens(&self) -> u32 {
        self.history.map_or(Self::USUAL_HISTORY_TOKENS, |memory| memory.tokens.0)
    }

    /// The scripted line of this turn of the conversation.
    #[must_use]
    pub fn scripted(&self, turn: u32) -> Option<&str> {
        self.script.iter().find(|line| line.turn.0 == turn).map(|line| line.verbatim.as_str())
    }

    #[must_use]
    pub fn pauses(&self) -> Pauses {
        Pauses { think_time: self.think_time, typing_speed: self.typing_speed }
    }

    #[must_use]
    pub fn self_check(&self) -> SelfCheck {
        self.self_check.unwrap_or_default()
    }

    /// How many questions a judge gets about each line that the user's model writes: about its role, its facts and its
    /// instructions, and one for each violation. None unless `self_check: model`.
    #[must_use]
    pub fn self_check_questions(&self) -> u64 {
        if self.self_check() == SelfCheck::Model { 3 + self.violations.len() as u64 } else { 0 }
    }

    /// Adds a persona's keys. The scenario's keys take precedence; facts and unknown things are merged.
    pub fn add(&mut self, persona: &Self) {
        fn or<T: Clone>(own: &mut Option<T>, other: &Option<T>) {
            if own.is_none() {
                own.clone_from(other);
            }
        }
        or(&mut self.agent_is, &persona.agent_is);
        or(&mut self.language, &persona.language);
        self.facts.add(&persona.facts);
        let new = persona.unknown.iter().filter(|thing| !self.unknown.contains(thing)).cloned().collect::<Vec<_>>();
        self.unknown.extend(new);
        or(&mut self.invent, &persona.invent);
        if self.goal.is_empty() {
            self.goal.clone_from(&persona.goal);
        }
        or(&mut self.stops, &persona.stops);
        or(&mut self.max_turns, &persona.max_turns);
        or(&mut self.length, &persona.length);
        or(&mut self.typing, &persona.typing);
        or(&mut self.think_time, &persona.think_time);
        or(&mut self.typing_speed, &persona.typing_speed);
        or(&mut self.history, &persona.history);
        or(&mut self.prompt, &persona.prompt);
        or(&mut self.reply, &persona.reply);
        if self.script.is_empty() {
            self.script.clone_from(&persona.script);
        }
        if self.states.is_empty() {
            self.states.clone_from(&persona.states);
        }
        if self.tools.is_empty() {
            self.tools.clone_from(&persona.tools);
        }
        or(&mut self.self_check, &persona.self_check);
        let has = |id: &str| self.violations.iter().any(|own| own.id == id);
        let new: Vec<_> = persona.violations.iter().filter(|other| !has(&other.id)).cloned().collect();
        self.violations.extend(new);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn extras(value: serde_json::Value) -> Extras {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_scenario_wins_over_the_persona_and_facts_are_put_together() {
        let mut own = extras(json!({
            "agent_is": "the assistant of a shop",
            "facts": { "order": { "value": "W-1" }, "name": { "value": "Ana" } },
            "unknown": ["the colour"],
            "stops": { "patience": 3 },
        }));
        own.add(&extras(json!({
            "agent_is": "a bank", "language": "de",
            "facts": { "name": { "value": "Bob" }, "mail": { "value": "b@example.com", "tell": "first" } },
            "unknown": ["the colour", "the size"],
            "goal": [{ "id": "a", "text": "done" }],
            "stops": { "patience": 9 },
            "max_turns": 60,
            "script": [{ "turn": 3, "verbatim": "Are you a robot?" }],
            "length": { "words": [3, 40] },
            "typing": { "case": "lower" },
            "think_time": { "ms": 500 },
        })));
        let facts: Vec<(&str, &str)> = own.facts.iter().map(|(name, fact)| (name, fact.value.as_str())).collect();
        assert_eq!(facts, [("order", "W-1"), ("name", "Ana"), ("mail", "b@example.com")]);
        assert_eq!((own.agent_is(), own.language.as_deref()), ("the assistant of a shop", Some("de")));
        assert_eq!(own.unknown, ["the colour", "the size"]);
        assert_eq!((own.stops().patience.0, own.goal.len(), own.max_turns.map(|most| most.0)), (3, 1, Some(60)));
        assert_eq!((own.scripted(2), own.scripted(3)), (None, Some("Are you a robot?")));
        assert_eq!(own.length.unwrap().words, WordRange(3, 40));
        assert_eq!(own.typing.unwrap().case, Case::Lower);
        assert_eq!(own.pauses().before(1, 2, "hi").as_millis(), 500);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let written = json!({
            "agent_is": "a tutor",
            "facts": { "card": { "value": "4242", "tell": "never", "asked_by": ["card number"] } },
            "goal": [
                { "id": "a", "text": "t", "after": ["b"], "done_when": { "tool": "refund", "arguments": { "eur": 30 } } },
                { "id": "b", "text": "u", "done_when": { "said": "sent" } },
            ],
            "stops": { "min_turns": 1, "farewell": "send" },
            "history": { "tokens": 500 },
            "prompt": { "path": "p.j2", "text": "{{ objective }}{{ reply_form }}" },
            "reply": "json",
            "tools": ["toggle_airplane_mode"],
            "states": {
                "ask": { "say": "ask", "next": [{ "if": { "tool": "refund", "arguments": { "eur": 30 } }, "go": "end" }] },
                "end": { "end": "gave_up" },
            },
            "script": [{ "turn": 2, "verbatim": "Hm." }],
            "length": { "words": [1, 1] },
            "typing": { "typos": 0.02, "punctuation": "sparse" },
            "think_time": { "kind": "lognormal", "ms": 3000, "sigma": 0.5 },
            "typing_speed": { "words_per_minute": 40, "sd": 8 },
        });
        let read = extras(written);
        assert_eq!(extras(serde_json::to_value(&read).unwrap()), read);
        assert!(Extras::default().is_empty() && !read.is_empty());
        assert_eq!(serde_json::to_value(Extras::default()).unwrap(), json!({}));
    }
}
