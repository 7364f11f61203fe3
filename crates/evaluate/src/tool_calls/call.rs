//! One expected call beside one that was made: name, arguments, result.

use record::turn::ToolCall;
use scenario::check::{ArgumentRule, ExpectedCall};
use serde_json::{Map, Value};

use super::Comparison;
use crate::{
    Bench, Subject, compile,
    excerpt::{SHORT_BYTES, excerpt},
    loose_json,
    nested::Nested,
    outcome::Outcome,
};

#[derive(Debug)]
pub(super) struct Expected {
    pub(super) name: String,
    arguments: Option<Vec<(String, Rule)>>,
    partial: bool,
    result: Option<Rule>,
}

#[derive(Debug)]
enum Rule {
    Equals(Value),
    Checks(Nested),
    Anything,
}

impl Rule {
    fn new(rule: &ArgumentRule, field: &'static str) -> Result<Self, compile::Error> {
        Ok(match rule {
            ArgumentRule::Equals(value) => Self::Equals(value.clone()),
            ArgumentRule::Checks(checks) => Self::Checks(Nested::new(checks, field)?),
            ArgumentRule::Anything => Self::Anything,
        })
    }

    fn asks_a_model(&self) -> bool {
        matches!(self, Self::Checks(checks) if checks.asks_a_model())
    }
}

impl Expected {
    pub(super) fn new(call: &ExpectedCall) -> Result<Self, compile::Error> {
        if call.name.trim().is_empty() {
            return Err(compile::Error::Empty { field: "name" });
        }
        let argument = |(name, rule): &(String, ArgumentRule)| Ok((name.clone(), Rule::new(rule, "argument_checks")?));
        Ok(Self {
            name: call.name.clone(),
            arguments: call
                .arguments
                .as_ref()
                .map(|arguments| arguments.iter().map(argument).collect::<Result<_, compile::Error>>())
                .transpose()?,
            partial: call.partial,
            result: call.result.as_ref().map(|rule| Rule::new(rule, "result_checks")).transpose()?,
        })
    }

    pub(super) fn asks_a_model(&self) -> bool {
        let arguments = self.arguments.iter().flatten().map(|(_, rule)| rule);
        arguments.chain(&self.result).any(Rule::asks_a_model)
    }

    pub(super) fn shown(&self) -> String {
        format!("{:?}", excerpt(&self.name, SHORT_BYTES))
    }

    /// The names are equal already. What can be told without a judge is told first.
    pub(super) async fn compare(&self, made: &ToolCall, subject: &Subject<'_>, bench: &dyn Bench) -> Comparison {
        let given = match &self.arguments {
            Some(listed) => self.arguments_of(listed, made)?,
            None => Map::new(),
        };
        let mut judged = Vec::new();
        for (name, rule) in self.arguments.iter().flatten() {
            let shown = format!("argument `{}`", excerpt(name, SHORT_BYTES));
            let Some(value) = given.get(name) else { return Err(Outcome::fail(format!("{shown} is missing"))) };
            match rule {
                Rule::Anything => {}
                Rule::Equals(expected) => equal(&shown, value, expected)?,
                Rule::Checks(checks) => judged.push((shown, loose_json::text_of(value).into_owned(), checks)),
            }
        }
        match (&self.result, &made.result) {
            (None, _) | (Some(Rule::Anything), Some(_)) => {}
            (Some(_), None) => return Err(Outcome::fail("its result is not known")),
            (Some(Rule::Equals(expected)), Some(result)) => {
                let value = serde_json::from_str(result).unwrap_or_else(|_| Value::from(result.as_str()));
                // A result that reads like a number may have been meant as text.
                if expected.as_str() != Some(result) {
                    equal("the result", &value, expected)?;
                }
            }
            (Some(Rule::Checks(checks)), Some(result)) => {
                judged.push(("the result".to_owned(), result.clone(), checks))
            }
        }
        match Nested::all(judged, subject, bench).await {
            Some(outcome) if outcome.finding != record::Finding::Pass => Err(outcome),
            _ => Ok(()),
        }
    }

    fn arguments_of(&self, listed: &[(String, Rule)], made: &ToolCall) -> Result<Map<String, Value>, Outcome> {
        let text = made.arguments.trim();
        let given = match serde_json::from_str(if text.is_empty() { "{}" } else { text }) {
            Ok(Value::Object(given)) => given,
            Ok(Value::Null) => Map::new(),
            _ => {
                let shown = excerpt(text, SHORT_BYTES);
                return Err(Outcome::fail(format!("its arguments are no JSON object: {shown:?}")));
            }
        };
        let other = given.keys().find(|key| !listed.iter().any(|(name, _)| name == *key));
        match other.filter(|_| !self.partial) {
            Some(key) => Err(Outcome::fail(format!("argument `{}` was not expected", excerpt(key, SHORT_BYTES)))),
            None => Ok(given),
        }
    }
}

fn equal(what: &str, value: &Value, expected: &Value) -> Comparison {
    if same(value, expected) {
        return Ok(());
    }
    let (value, expected) = (value.to_string(), expected.to_string());
    let (value, expected) = (excerpt(&value, SHORT_BYTES), excerpt(&expected, SHORT_BYTES));
    Err(Outcome::fail(format!("{what} is {value}, expected {expected}")))
}

/// 1 and 1.0 are one number.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}
