//! The tools of one trial: an agent's calls, answered by the scenario's mocks.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use scenario::{
    ids::seed_of,
    mock::{self, Answer, Call, Mock, Tool},
};
use serde_json::{Map, Value};

/// Answers tool calls, each with its own random draws.
#[derive(Debug)]
pub struct Tools {
    mocks: Vec<Mock>,
    seed: u64,
    context: Map<String, Value>,
    now_millis: fn() -> i64,
    /// How often the same call was made, by its seed: concurrent calls arrive in any order, and the answer to one must
    /// not depend on the others.
    asked: Mutex<HashMap<u64, u64>>,
    /// Null if the mocks keep none.
    state: Mutex<Value>,
    /// The names of mocks that only the simulated user has. The agent does not get them.
    of_user: Vec<String>,
}

impl Tools {
    /// `context` is what the mocks' `when.context` sees; `seed` draws their failures.
    #[must_use]
    pub fn new(mocks: Vec<Mock>, seed: u64, context: Map<String, Value>, now_millis: fn() -> i64) -> Self {
        Self { mocks, seed, context, now_millis, asked: Mutex::default(), state: Mutex::default(), of_user: Vec::new() }
    }

    /// The same, with a state that the mocks read and change.
    #[must_use]
    pub fn with_state(self, state: Value) -> Self {
        Self { state: Mutex::new(state), ..self }
    }

    /// The same, with these tools for the simulated user and not for the agent. Both share the state.
    #[must_use]
    pub fn with_user_tools(self, names: Vec<String>) -> Self {
        Self { of_user: names, ..self }
    }

    /// The current state; null if the mocks keep none.
    #[must_use]
    pub fn state(&self) -> Value {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tools for an agent.
    #[must_use]
    pub fn offered(&self) -> Vec<Tool> {
        if self.of_user.is_empty() {
            return mock::tools(&self.mocks);
        }
        let own: Vec<Mock> = self.mocks.iter().filter(|mock| !self.is_of_user(mock)).cloned().collect();
        mock::tools(&own)
    }

    /// The tools with these names for the simulated user.
    #[must_use]
    pub fn offered_to_user(&self, names: &[String]) -> Vec<Tool> {
        let is_named = |mock: &&Mock| names.iter().any(|name| mock.answers(name));
        let own: Vec<Mock> = self.mocks.iter().filter(is_named).cloned().collect();
        mock::tools(&own)
    }

    fn is_of_user(&self, mock: &Mock) -> bool {
        self.of_user.iter().any(|name| mock.answers(name))
    }

    /// Whether two names mean one tool.
    #[must_use]
    pub fn is_same(&self, a: &str, b: &str) -> bool {
        a == b || self.mocks.iter().any(|mock| mock.answers(a) && mock.answers(b))
    }

    /// The answer to a call after its delay; `None` if no mock answers it.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Option<Answer> {
        let answer = self.answer(tool, arguments)?;
        if answer.delay > Duration::ZERO {
            tokio::time::sleep(answer.delay).await;
        }
        Some(answer)
    }

    /// The answer without waiting, for callers that handle the delay themselves.
    pub fn answer(&self, tool: &str, arguments: &Value) -> Option<Answer> {
        let is_users = || self.mocks.iter().any(|mock| mock.answers(tool) && self.is_of_user(mock));
        if !self.of_user.is_empty() && is_users() {
            return None;
        }
        self.answer_anyone(tool, arguments)
    }

    /// The answer to a call of the simulated user after its delay; `None` if the user does not have this tool.
    pub async fn call_as_user(&self, tool: &str, arguments: &Value) -> Option<Answer> {
        if !self.mocks.iter().any(|mock| mock.answers(tool) && self.is_of_user(mock)) {
            return None;
        }
        let answer = self.answer_anyone(tool, arguments)?;
        if answer.delay > Duration::ZERO {
            tokio::time::sleep(answer.delay).await;
        }
        Some(answer)
    }

    fn answer_anyone(&self, tool: &str, arguments: &Value) -> Option<Answer> {
        // Held until the state is changed, so that calls that are made side by side change it one after the other.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let call = Call { tool, arguments, context: &self.context, state: &state, now_millis: (self.now_millis)() };
        let found = mock::find(&self.mocks, &call)?;
        let answer = found.answer(self.draw(tool, arguments));
        if answer.result.is_err() {
            return Some(answer);
        }
        match found.change() {
            Ok(None) => Some(answer),
            Ok(Some(changed)) => {
                *state = changed;
                Some(answer)
            }
            Err(error) => Some(Answer { result: Err(error), ..answer }),
        }
    }

    /// The seed of this call, which is another one each time it is made.
    fn draw(&self, tool: &str, arguments: &Value) -> u64 {
        let same = seed_of(&[b"mock", &self.seed.to_le_bytes(), tool.as_bytes(), arguments.to_string().as_bytes()]);
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let times = asked.entry(same).or_default();
        *times += 1;
        seed_of(&[&same.to_le_bytes(), &times.to_le_bytes()])
    }
}

/// Arguments as an agent wrote them. Arguments that are not JSON, or are several values, become a text.
#[must_use]
pub fn read(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(Map::new());
    }
    let text = || Value::String(arguments.to_owned());
    if llm::json::check(arguments.as_bytes()).is_err() {
        return text();
    }
    serde_json::from_str(arguments).unwrap_or_else(|_| text())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flaky() -> Tools {
        let mock = json!({ "service": "shop", "method": "look", "when": null, "response": "fine", "response_fn": null,
            "error": null, "delay_ms": 0, "failure_probability": 0.5 });
        Tools::new(vec![serde_json::from_value(mock).unwrap()], 7, Map::new(), || 0)
    }

    async fn fails(tools: &Tools, tool: &str, arguments: &Value) -> bool {
        tools.call(tool, arguments).await.expect("a mock answers").result.is_err()
    }

    #[tokio::test]
    async fn an_answer_does_not_depend_on_other_calls() {
        let calls: Vec<(&str, Value)> =
            (0..40).map(|n| (if n % 2 == 0 { "look" } else { "shop_look" }, json!({ "n": n / 4 }))).collect();
        let (forward, backward) = (flaky(), flaky());
        let mut first = Vec::new();
        for (tool, arguments) in &calls {
            first.push((*tool, arguments.to_string(), fails(&forward, tool, arguments).await));
        }
        let mut second = Vec::new();
        for (tool, arguments) in calls.iter().rev() {
            second.push((*tool, arguments.to_string(), fails(&backward, tool, arguments).await));
        }
        first.sort();
        second.sort();
        assert_eq!(first, second);
        assert!(first.iter().any(|call| call.2) && first.iter().any(|call| !call.2), "some fail and some do not");
    }

    #[test]
    fn a_call_changes_the_state_that_later_calls_see() {
        let mock = |method: &str, more: Value| {
            let mut mock = json!({ "service": null, "method": method, "when": null, "response": null, "response_fn": null,
                "error": null, "delay_ms": 0, "failure_probability": 0.0 });
            mock.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value(mock).unwrap()
        };
        let mocks = vec![
            mock("look", json!({ "response": "{{state.orders[input.id].status}}" })),
            mock("refund", json!({ "set": [["orders.{{input.id}}.status", "refunded"]], "response": "done" })),
            mock(
                "broken",
                json!({ "set": [["gone", true]], "error": { "code": "E", "message": "m", "status": null } }),
            ),
            mock("astray", json!({ "set": [["orders.7.status.deeper", 1]], "response": "done" })),
            mock(
                "late",
                json!({ "when": { "args": null, "input": null, "context": null, "partial_args": null,
                "matcher": "state.orders['7'].status === 'refunded'" }, "response": "too late" }),
            ),
        ];
        let state = json!({ "orders": { "7": { "status": "open" } } });
        let tools = Tools::new(mocks, 7, Map::new(), || 0).with_state(state.clone());
        let says = |tool: &str| tools.answer(tool, &json!({ "id": 7 })).map(|answer| answer.text());
        assert_eq!(says("look").as_deref(), Some("open"));
        assert_eq!((says("late"), tools.state()), (None, state.clone()));
        assert!(says("broken").unwrap().contains("E: m"));
        assert!(says("astray").unwrap().contains("leads through a value that is no mapping"));
        assert_eq!(tools.state(), state, "a call that failed changes nothing");
        assert_eq!(says("refund").as_deref(), Some("done"));
        assert_eq!(says("look").as_deref(), Some("refunded"));
        assert_eq!(says("late").as_deref(), Some("too late"));
        assert_eq!(tools.state(), json!({ "orders": { "7": { "status": "refunded" } } }));
    }

    #[tokio::test]
    async fn tools_of_the_user_are_not_the_agents_and_share_their_state() {
        let mock = |method: &str, set: Value, response: &str| -> Mock {
            let mock = json!({ "service": null, "method": method, "when": null, "response": response, "response_fn": null,
                "error": null, "delay_ms": 5, "failure_probability": 0.0, "set": set });
            serde_json::from_value(mock).unwrap()
        };
        let mocks = vec![
            mock("airplane_mode", json!([["plane", "{{input.on}}"]]), "ok"),
            mock("signal", json!([]), "plane: {{state.plane}}"),
        ];
        let tools = Tools::new(mocks, 7, Map::new(), || 0)
            .with_state(json!({ "plane": true }))
            .with_user_tools(vec!["airplaneMode".to_owned()]);
        let names = |tools: Vec<Tool>| tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(names(tools.offered()), ["signal"]);
        assert_eq!(names(tools.offered_to_user(&["airplane_mode".to_owned()])), ["airplane_mode"]);
        assert_eq!(tools.call("airplane_mode", &json!({ "on": false })).await, None);
        assert_eq!(tools.call_as_user("signal", &json!({})).await, None);
        assert_eq!(tools.call_as_user("airplane_mode", &json!({ "on": false })).await.unwrap().text(), "ok");
        assert_eq!(tools.call("signal", &json!({})).await.unwrap().text(), "plane: false");
    }

    #[test]
    fn names_of_one_tool_are_the_same() {
        let tools = flaky();
        let rows = [
            ("look", "shop_look", true),
            ("Shop.Look", "shop-look", true),
            ("other", "other", true),
            ("look", "other", false),
        ];
        for (a, b, same) in rows {
            assert_eq!(tools.is_same(a, b), same, "{a} {b}");
        }
    }
}
