//! The transcript that custom checks read: `gabfest.transcript/1`. Its schema is public, so fields are only added.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Scope, Turn,
    turn::{Origin, ToolCall},
};

/// The value of `schema`.
pub const SCHEMA: &str = "gabfest.transcript/1";

/// The largest transcript that a check gets, as JSON.
pub const MOST_BYTES: usize = 4 << 20;

/// What a custom check is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "gabfest.transcript/1")]
pub struct Transcript {
    /// `gabfest.transcript/1`.
    pub schema: String,
    /// The name of the check in `gabfest.yaml`.
    pub check: String,
    /// What the scenario hands to the check; `null` if it hands nothing.
    pub config: Value,
    /// The same number each time this trial is played; from 0 to 2^53 - 1.
    pub seed: u64,
    pub scenario: Scenario,
    /// The id of the case: the scenario with one combination of parameters, persona and agent.
    pub case: String,
    /// Which repeat of the case this is, from 0.
    pub repeat: u32,
    /// The step that is judged, from 1.
    pub step: u32,
    /// The turn that is judged. Left out where the check judges a whole step or conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Messages before the first turn.
    pub opening: Vec<Message>,
    /// All turns of the trial so far.
    pub turns: Vec<PublishedTurn>,
    pub end: End,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Stays the same over runs: the name of the file, a slash, the name of the scenario.
    pub id: String,
    pub name: String,
    pub tags: Vec<String>,
    /// The variables of the scenario, and the parameters of the case by their paths.
    pub vars: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// `system`, `user`, `agent` or `tool`.
    pub role: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Turn")]
pub struct PublishedTurn {
    /// From 1, over the whole trial.
    pub n: u32,
    /// The step that the turn belongs to, from 1.
    pub step: u32,
    /// `scripted` or `simulated`; `program` for a program that the scenario ran.
    pub origin: Origin,
    /// What the user said, or the program.
    pub user: String,
    /// All that the agent said, or what the program printed; `null` if nothing came.
    pub agent: Option<String>,
    /// The program's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub tool_calls: Vec<PublishedCall>,
    /// What the simulated user did with its own tools before it spoke.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_calls: Vec<PublishedCall>,
    /// Actions that the agent reports besides tool calls.
    pub actions: Vec<String>,
    /// Only with `sees: [times]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Times>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ToolCall")]
pub struct PublishedCall {
    pub id: String,
    pub name: String,
    /// As JSON; as text if the agent did not write JSON.
    pub arguments: Value,
    /// `null` if the call was not answered.
    pub result: Option<String>,
}

/// Times of a turn, without rate-limit waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// From the start of the trial to the user's message, in milliseconds.
    pub started_ms: u64,
    /// From the user's message to the end of the agent's reply, in milliseconds.
    pub duration_ms: u64,
    /// To the first token of a streamed reply, in milliseconds.
    pub first_token_ms: Option<u64>,
}

/// How the trial stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// The condition that ended the conversation; `null` while it lasts and for scripted steps.
    pub stop: Option<String>,
    /// The parts of the simulated user's goal; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal: Vec<GoalPart>,
    /// The state of the mocks; `null` if the scenario's mocks keep none.
    pub state: Value,
}

/// A part of the simulated user's goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoalPart {
    pub id: String,
    pub text: String,
    /// Whether the user believes that it is done. It proves nothing.
    pub believed_done: bool,
}

impl PublishedTurn {
    #[must_use]
    pub fn of(turn: &Turn, times: bool) -> Self {
        let millis = |micros: u64| micros / 1_000;
        let times = times.then(|| Times {
            started_ms: millis(turn.started_micros),
            duration_ms: millis(turn.duration_micros),
            first_token_ms: turn.first_token_micros().map(millis),
        });
        let published = |call: &ToolCall| PublishedCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::from(call.arguments.clone())),
            result: call.result.clone(),
        };
        Self {
            n: turn.number,
            step: turn.step,
            origin: turn.speaker,
            user: turn.user.clone(),
            agent: turn.said().map(std::borrow::Cow::into_owned),
            exit_code: turn.exit_code,
            tool_calls: turn.tool_calls.iter().map(published).collect(),
            user_calls: turn.user_calls().iter().map(published).collect(),
            actions: turn.actions.clone(),
            times,
        }
    }
}

/// The JSON Schema of version 1. It allows keys that are not in it, because later builds add some.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Transcript).to_value()
}

/// The turn that a scope names.
#[must_use]
pub fn turn_of(scope: Scope) -> Option<u32> {
    match scope {
        Scope::Turn { turn, .. } => Some(turn),
        Scope::Conversation { .. } | Scope::Step { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::turn::Said;

    fn turn() -> Turn {
        let call = |id: &str, arguments: &str, result: Option<&str>| ToolCall {
            id: id.to_owned(),
            name: "refund".to_owned(),
            arguments: arguments.to_owned(),
            result: result.map(str::to_owned),
        };
        Turn {
            agent: Some("It is done.".to_owned()),
            messages: vec![
                Said { text: "One moment.".to_owned(), tool_calls_before: 0 },
                Said { text: "It is done.".to_owned(), tool_calls_before: 1 },
            ],
            tool_calls: vec![call("c1", r#"{"order":7}"#, Some("ok")), call("c2", "order 7", None)],
            actions: vec!["END".to_owned()],
            duration_micros: 1_234_567,
            response_micros: None,
            ..Turn::new(2, 1, Origin::Simulated, "Refund order 7".to_owned(), 2_000_000)
        }
    }

    /// The golden form of version 1: checks of other people rely on it, so it may only grow.
    #[test]
    fn version_one_stays_as_it_is() {
        let transcript = Transcript {
            schema: SCHEMA.to_owned(),
            check: "totals".to_owned(),
            config: json!({ "max": 30 }),
            seed: 42,
            scenario: Scenario {
                id: "refund/Refund".to_owned(),
                name: "Refund".to_owned(),
                tags: vec!["smoke".to_owned()],
                vars: BTreeMap::from([("run[0].input".to_owned(), json!("Hi"))]),
            },
            case: "c1".to_owned(),
            repeat: 0,
            step: 1,
            turn: Some(2),
            opening: vec![Message { role: "system".to_owned(), text: "Be kind.".to_owned() }],
            turns: vec![PublishedTurn::of(&turn(), false)],
            end: End { stop: None, goal: Vec::new(), state: Value::Null },
        };
        let golden = json!({
            "schema": "gabfest.transcript/1",
            "check": "totals",
            "config": { "max": 30 },
            "seed": 42,
            "scenario": { "id": "refund/Refund", "name": "Refund", "tags": ["smoke"], "vars": { "run[0].input": "Hi" } },
            "case": "c1",
            "repeat": 0,
            "step": 1,
            "turn": 2,
            "opening": [{ "role": "system", "text": "Be kind." }],
            "turns": [{
                "n": 2, "step": 1, "origin": "simulated", "user": "Refund order 7", "agent": "One moment.\nIt is done.",
                "tool_calls": [
                    { "id": "c1", "name": "refund", "arguments": { "order": 7 }, "result": "ok" },
                    { "id": "c2", "name": "refund", "arguments": "order 7", "result": null },
                ],
                "actions": ["END"],
            }],
            "end": { "stop": null, "state": null },
        });
        assert_eq!(serde_json::to_string(&transcript).unwrap(), golden.to_string(), "the order of the keys too");
        assert_eq!(serde_json::from_value::<Transcript>(golden).unwrap(), transcript);
    }

    #[test]
    fn user_calls_and_goals_are_absent_if_empty() {
        let call =
            ToolCall { id: "user_2_1".to_owned(), name: "plane".to_owned(), arguments: "{}".to_owned(), result: None };
        let simulated = crate::Simulated { calls: vec![call], ..crate::Simulated::default() };
        let with_calls = PublishedTurn::of(&Turn { simulated: Some(Box::new(simulated)), ..turn() }, false);
        let written = serde_json::to_value(&with_calls).unwrap();
        let golden = json!([{ "id": "user_2_1", "name": "plane", "arguments": {}, "result": null }]);
        assert_eq!(written["user_calls"], golden);
        let goal = vec![GoalPart { id: "mail".to_owned(), text: "a mail".to_owned(), believed_done: true }];
        let end = serde_json::to_value(End { goal, ..End::default() }).unwrap();
        assert_eq!(end["goal"], json!([{ "id": "mail", "text": "a mail", "believed_done": true }]));
    }

    #[test]
    fn times_are_there_only_for_a_check_that_asks_for_them() {
        assert_eq!(PublishedTurn::of(&turn(), false).times, None);
        let times = Times { started_ms: 2_000, duration_ms: 1_234, first_token_ms: None };
        assert_eq!(PublishedTurn::of(&turn(), true).times, Some(times));
    }
}
