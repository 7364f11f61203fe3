//! Compares one expected call with one that the agent made: name, arguments, result.

use record::turn::ToolCall;
use scenario::check::{ArgumentRule, ExpectedCall};
use serde_json::{Map, Value};

use crate::{
    error::Error,
    evaluator::Compile,
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    loose_json,
    nested::{Named, Nested},
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(super) struct Expected {
    pub(super) name: String,
    arguments: Option<Fields>,
    result: Option<Rule>,
    /// Whether comparing can ask a model.
    pub(super) asks_a_model: bool,
}

/// What can be compared without a judge. `Err` holds why the call does not answer the expected one.
type Comparison = Result<(), Outcome>;

/// The required content of an object.
#[derive(Debug)]
struct Fields {
    listed: Vec<(String, Rule)>,
    partial: bool,
}

#[derive(Debug)]
enum Rule {
    Equals(Value),
    Checks(Nested),
    Anything,
    Optional,
    Fields(Fields),
}

impl Expected {
    pub(super) fn new(call: &ExpectedCall, compile: Compile) -> Result<Self, Error> {
        if call.name.trim().is_empty() {
            return Err(Error::Empty { field: "name" });
        }
        let arguments = call.arguments.as_ref();
        Ok(Self {
            name: call.name.clone(),
            arguments: arguments
                .map(|listed| Fields::new(listed, call.partial, "argument_checks", compile))
                .transpose()?,
            result: call.result.as_ref().map(|rule| Rule::new(rule, "result_checks", compile)).transpose()?,
            asks_a_model: !call.questions().is_empty(),
        })
    }

    pub(super) fn shown(&self) -> String {
        format!("{:?}", excerpt(&self.name, SHORT_BYTES))
    }

    /// The names are already equal. Judges are asked last.
    pub(super) async fn compare(&self, made: &ToolCall, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        let mut judged = Vec::new();
        match self.look(made, &mut judged) {
            Err(differs) => differs,
            Ok(()) => Nested::all(judged, subject, pool).await.unwrap_or_else(|| Outcome::pass("")),
        }
    }

    /// Values with checks are added to `judged`.
    fn look<'a>(&'a self, made: &ToolCall, judged: &mut Vec<Named<'a>>) -> Comparison {
        if let Some(fields) = &self.arguments {
            fields.compare(CallPart::Arguments, "", &arguments_of(made)?, judged)?;
        }
        match (&self.result, &made.result) {
            (None | Some(Rule::Optional), _) => {}
            (Some(_), None) => return Err(Outcome::fail("its result is not known")),
            // The author may mean a text that reads like a number.
            (Some(Rule::Equals(Value::String(expected))), Some(result)) if expected == result => {}
            (Some(Rule::Checks(checks)), Some(result)) => {
                judged.push((CallPart::Result.shown(""), result.clone(), checks));
            }
            (Some(rule), Some(result)) => {
                let value = serde_json::from_str(result).unwrap_or_else(|_| Value::from(result.as_str()));
                rule.compare(CallPart::Result, "", &value, judged)?;
            }
        }
        Ok(())
    }
}

impl Fields {
    fn new(
        listed: &[(String, ArgumentRule)],
        partial: bool,
        field: &'static str,
        compile: Compile,
    ) -> Result<Self, Error> {
        let rule = |(name, rule): &(String, ArgumentRule)| Ok((name.clone(), Rule::new(rule, field, compile)?));
        Ok(Self { listed: listed.iter().map(rule).collect::<Result<_, Error>>()?, partial })
    }

    /// `path` leads to the object. Values with checks are added to `judged`.
    fn compare<'a>(
        &'a self,
        place: CallPart,
        path: &str,
        given: &Map<String, Value>,
        judged: &mut Vec<Named<'a>>,
    ) -> Comparison {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let other = given.keys().find(|key| !self.listed.iter().any(|(name, _)| name == *key));
        if let Some(key) = other.filter(|_| !self.partial) {
            return Err(Outcome::fail(format!("{} was not expected", place.shown(&below(key)))));
        }
        for (name, rule) in &self.listed {
            let path = below(name);
            match (given.get(name), rule) {
                (_, Rule::Optional) => {}
                (None, _) => return Err(Outcome::fail(format!("{} is missing", place.shown(&path)))),
                (Some(value), rule) => rule.compare(place, &path, value, judged)?,
            }
        }
        Ok(())
    }
}

impl Rule {
    fn new(rule: &ArgumentRule, field: &'static str, compile: Compile) -> Result<Self, Error> {
        Ok(match rule {
            ArgumentRule::Equals(value) => Self::Equals(value.clone()),
            ArgumentRule::Checks(checks) => Self::Checks(Nested::new(checks, field, compile)?),
            ArgumentRule::Anything => Self::Anything,
            ArgumentRule::Optional => Self::Optional,
            ArgumentRule::Fields { fields, partial } => Self::Fields(Fields::new(fields, *partial, field, compile)?),
        })
    }

    fn compare<'a>(&'a self, place: CallPart, path: &str, value: &Value, judged: &mut Vec<Named<'a>>) -> Comparison {
        match self {
            Self::Anything | Self::Optional => Ok(()),
            Self::Equals(expected) => equal(&place.shown(path), value, expected),
            Self::Checks(checks) => {
                judged.push((place.shown(path), loose_json::text_of(value).into_owned(), checks));
                Ok(())
            }
            Self::Fields(fields) => match value {
                Value::Object(given) => fields.compare(place, path, given, judged),
                _ => Err(Outcome::fail(format!("{} is not a JSON object", place.shown(path)))),
            },
        }
    }
}

/// The side of a call that a value belongs to.
#[derive(Debug, Clone, Copy)]
enum CallPart {
    Arguments,
    Result,
}

impl CallPart {
    fn shown(self, path: &str) -> String {
        match (self, path) {
            (Self::Arguments, path) => format!("argument `{}`", excerpt(path, SHORT_BYTES)),
            (Self::Result, "") => "the result".to_owned(),
            (Self::Result, path) => format!("`{}` of the result", excerpt(path, SHORT_BYTES)),
        }
    }
}

fn arguments_of(made: &ToolCall) -> Result<Map<String, Value>, Outcome> {
    let text = made.arguments.trim();
    match serde_json::from_str(if text.is_empty() { "{}" } else { text }) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(Value::Null) => Ok(Map::new()),
        _ => {
            let shown = excerpt(text, SHORT_BYTES);
            Err(Outcome::fail(format!("its arguments are not a JSON object: {shown:?}")))
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

/// JSON equality, with 1 equal to 1.0.
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
