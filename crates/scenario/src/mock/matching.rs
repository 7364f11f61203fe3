//! Selects the mock that answers a call, and computes its answer.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    Mock, MockError, When,
    expression::{Expression, Scope, is_equal},
    state,
};
use crate::battery::chance::Chance;

/// A tool call of an agent.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// As the agent gave them; usually an object.
    pub arguments: &'a Value,
    /// Facts about the conversation for `when.context`; gains `argsCount`, `hasObjectArgs` and `timestamp`.
    pub context: &'a Map<String, Value>,
    /// The state of the trial's mocks; null if they keep none.
    pub state: &'a Value,
    /// Unix milliseconds.
    pub now_millis: i64,
}

/// The mock that answers a call, with the call as its conditions took it.
#[derive(Debug, Clone)]
pub struct Found<'a> {
    mock: &'a Mock,
    taken: Taken,
    state: &'a Value,
    now_millis: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Waited for first, even if the answer is a failure.
    pub delay: Duration,
    pub result: Result<Value, MockError>,
}

/// A call's arguments as a list and by name.
#[derive(Debug, Clone)]
struct Taken {
    args: Vec<Value>,
    input: Map<String, Value>,
    context: Map<String, Value>,
}

/// The most specific mock of the tool whose conditions all hold; the first one if several are equally specific.
#[must_use]
pub fn find<'a>(mocks: &'a [Mock], call: &Call<'a>) -> Option<Found<'a>> {
    let mut candidates: Vec<&Mock> = mocks.iter().filter(|mock| mock.answers(call.tool)).collect();
    candidates.sort_by_key(|mock| std::cmp::Reverse(mock.specificity()));
    let readings = Taken::readings(call);
    candidates.into_iter().find_map(|mock| {
        let taken = readings.iter().find(|taken| mock.applies(taken, call))?;
        Some(Found { mock, taken: taken.clone(), state: call.state, now_millis: call.now_millis })
    })
}

impl Mock {
    /// args 10, input 8, context 6, matcher 4, partialArgs 2, added up.
    fn specificity(&self) -> u32 {
        let Some(when) = &self.when else { return 0 };
        let weighed = [
            (when.args.is_some(), 10),
            (when.input.is_some(), 8),
            (when.context.is_some(), 6),
            (when.matcher.is_some(), 4),
            (when.partial_args.is_some(), 2),
        ];
        weighed.into_iter().filter(|(written, _)| *written).map(|(_, weight)| weight).sum()
    }

    fn applies(&self, taken: &Taken, call: &Call<'_>) -> bool {
        let Some(When { args, input, context, matcher, partial_args }) = &self.when else { return true };
        let is_list = |expected: &Vec<Value>| equal_lists(expected, &taken.args);
        let is_prefix =
            |expected: &Vec<Value>| taken.args.get(..expected.len()).is_some_and(|first| equal_lists(expected, first));
        args.as_ref().is_none_or(is_list)
            && partial_args.as_ref().is_none_or(is_prefix)
            && input.as_ref().is_none_or(|expected| is_part(expected, &taken.input))
            && context.as_ref().is_none_or(|expected| is_part(expected, &taken.context))
            && matcher.as_ref().is_none_or(|text| {
                Expression::matcher(text)
                    .is_ok_and(|expression| expression.holds(&taken.scope(call.state, call.now_millis)))
            })
    }
}

impl Found<'_> {
    /// The state after the call; `None`: unchanged. Call it only if the call does not fail.
    ///
    /// # Errors
    /// A value or a path of `set` cannot be computed.
    pub fn change(&self) -> Result<Option<Value>, MockError> {
        if self.mock.set.is_empty() {
            return Ok(None);
        }
        let error =
            |error: state::StateError| MockError { code: "STATE".to_owned(), message: error.to_string(), status: None };
        state::changed(&self.mock.set, &self.scope()).map(Some).map_err(error)
    }

    fn scope(&self) -> Scope<'_> {
        self.taken.scope(self.state, self.now_millis)
    }

    /// `seed` draws whether the call fails.
    #[must_use]
    pub fn answer(&self, seed: u64) -> Answer {
        let mock = self.mock;
        let failed = |code: &str, message: String| MockError { code: code.to_owned(), message, status: None };
        let result = if Chance::new(seed).unit() < mock.failure_probability {
            Err(failed("RANDOM_FAILURE", "Random mock failure".to_owned()))
        } else if let Some(error) = &mock.error {
            Err(error.clone())
        } else if let Some(text) = &mock.response_fn {
            Expression::response(text)
                .and_then(|expression| expression.value(&self.scope()))
                .map_err(|error| failed("RESPONSE_FN", format!("the mock's responseFn has no value: {error}")))
        } else if self.state.is_null() {
            Ok(mock.response.clone())
        } else {
            state::fill(&mock.response, &self.scope()).map_err(|error| failed("STATE", error.to_string()))
        };
        Answer { delay: Duration::from_millis(mock.delay_ms), result }
    }
}

impl Answer {
    /// As a tool's result: a text unchanged, anything else as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.result {
            Ok(Value::String(text)) => text.clone(),
            Ok(value) => value.to_string(),
            Err(MockError { code, message, status }) => {
                let mut error = json!({ "error": format!("{code}: {message}"), "code": code });
                if let Some(status) = status {
                    error["status"] = json!(status);
                }
                error.to_string()
            }
        }
    }
}

impl Taken {
    /// Tools are called with named arguments, methods of services with a list: an object is taken as the one argument,
    /// then as its values in their order. An object `{args: […]}` is that list.
    fn readings(call: &Call<'_>) -> Vec<Self> {
        let lists = match call.arguments {
            Value::Null => vec![Vec::new()],
            Value::Array(list) => vec![list.clone()],
            Value::Object(map) => match (map.len(), map.get("args")) {
                (1, Some(Value::Array(list))) => vec![list.clone()],
                _ => vec![vec![call.arguments.clone()], map.values().cloned().collect()],
            },
            other => vec![vec![other.clone()]],
        };
        lists.into_iter().map(|args| Self::of(args, call)).collect()
    }

    fn of(args: Vec<Value>, call: &Call<'_>) -> Self {
        let mut input = Map::new();
        if let Value::Object(map) = call.arguments {
            input.extend(map.clone());
        }
        for (index, argument) in args.iter().enumerate() {
            match argument {
                Value::Object(map) => input.extend(map.clone()),
                Value::String(_) | Value::Number(_) => {
                    input.insert(format!("arg{index}"), argument.clone());
                }
                Value::Null | Value::Bool(_) | Value::Array(_) => {}
            }
        }
        let mut context = call.context.clone();
        context.insert("argsCount".to_owned(), args.len().into());
        context.insert("hasObjectArgs".to_owned(), args.iter().any(Value::is_object).into());
        context.insert("timestamp".to_owned(), call.now_millis.into());
        Self { args, input, context }
    }

    fn scope<'a>(&'a self, state: &'a Value, now_millis: i64) -> Scope<'a> {
        Scope { args: &self.args, input: &self.input, context: &self.context, state, now_millis }
    }
}

fn equal_lists(expected: &[Value], found: &[Value]) -> bool {
    expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| is_equal(a, b))
}

fn is_part(expected: &Map<String, Value>, found: &Map<String, Value>) -> bool {
    expected.iter().all(|(key, value)| found.get(key).is_some_and(|other| is_equal(value, other)))
}
