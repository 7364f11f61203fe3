//! Templates of requests to an agent: JSON, texts and addresses with placeholders.
//!
//! A text that is only a placeholder becomes its value, so that `"{{ history }}"` is a list. Inside a longer text, a
//! placeholder becomes text.

mod variables;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::LazyLock,
};

use minijinja::{Environment, ErrorKind, Output, State, UndefinedBehavior, value::Serde};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use scenario::template;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

pub(crate) use self::variables::{empty_variables, variables};
use crate::{
    connection::{last_words, unanswered},
    request::Request,
};

/// The names that placeholders may use.
pub(crate) const NAMES: [&str; 17] = [
    "case",
    "conversation",
    "history",
    "idempotency_key",
    "mcp_url",
    "message",
    "messages",
    "persona",
    "remembered",
    "run",
    "scenario",
    "seed",
    "session",
    "tools_url",
    "trial",
    "turn",
    "vars",
];

/// More than a template takes by a number, such as `history[-2]`.
const SAMPLE_MESSAGES: usize = 100;

/// In an address all but these is encoded (RFC 3986, 2.3).
const IN_ADDRESS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// JSON with placeholders in its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Value);

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(String);

/// A placeholder with an unknown name or a syntax error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

/// The values of the placeholders in one call.
#[derive(Debug)]
pub(crate) struct Values(Value);

impl Values {
    /// `remembered`: the values of the agent's answers so far, by the names in the settings.
    pub(crate) fn of(request: &Request, session: &str, remembered: &Map<String, Value>) -> Self {
        let first_new = unanswered(&request.messages);
        let (history, new) = request.messages.split_at(first_new);
        let context = &request.context;
        Self(json!({
            "message": last_words(new),
            "messages": listed(new),
            "history": listed(history),
            "conversation": context.conversation,
            "session": session,
            "remembered": remembered,
            "turn": context.turn,
            "run": context.run,
            "trial": context.trial,
            "case": context.case,
            "scenario": context.scenario,
            "persona": context.persona,
            "seed": request.seed,
            "idempotency_key": context.idempotency_key,
            "tools_url": context.tools_url,
            "mcp_url": context.mcp_url,
            "vars": context.vars.as_deref().unwrap_or(&Map::new()),
        }))
    }

    /// Sample values: of a long conversation, or with `full: false` of its start, where many are empty. `remembered` and `vars`: the
    /// names that a template uses.
    fn sample(full: bool, remembered: &BTreeSet<&str>, vars: &BTreeSet<&str>) -> Self {
        let (text, count) = if full { ("x", SAMPLE_MESSAGES) } else { ("", 0) };
        let messages = Value::from(vec![json!({ "role": "user", "content": "x" }); count]);
        let mut values: Map<String, Value> = NAMES.iter().map(|name| ((*name).to_owned(), json!(text))).collect();
        for (name, value) in
            [("messages", messages.clone()), ("history", messages), ("turn", json!(1)), ("seed", json!(1))]
        {
            values.insert(name.to_owned(), value);
        }
        for (place, names) in [("remembered", remembered), ("vars", vars)] {
            let named: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), json!(text))).collect();
            values.insert(place.to_owned(), named.into());
        }
        Self(Value::Object(values))
    }

    /// All values for placeholders, as an object.
    pub(crate) fn object(self) -> Map<String, Value> {
        match self.0 {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    fn context(&self) -> minijinja::Value {
        minijinja::Value::from(Serde(&self.0))
    }

    /// Why these texts cannot be written, if they use a variable that the scenario does not have.
    fn without_variable(&self, written: &Value) -> Option<Error> {
        let missing = variables(written).into_iter().find(|name| self.0["vars"].get(name).is_none())?;
        let message = format!("it has {{{{ vars.{missing} }}}}, and the scenario has no variable {missing}");
        let hint = format!("write `gabfest: {{ vars: {{ {missing}: … }} }}` in the scenario");
        Some(Error(llm::hint::with(&message, Some(&hint))))
    }
}

/// All texts of a value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// What is wrong with a text that has a placeholder `{{ remembered.NAME }}` whose name is not one of these.
pub(crate) fn misremembered<T>(text: &str, remember: &BTreeMap<String, T>) -> Option<String> {
    if !text.contains("remembered") {
        return None;
    }
    let named = TEXTS.template_from_str(text).ok()?.undeclared_variables(true);
    let named = named.iter().filter_map(|name| name.strip_prefix("remembered.")?.split('.').next());
    let unknown: BTreeSet<&str> = named.filter(|name| !remember.contains_key(*name)).collect();
    let name = unknown.first()?;
    let known = remember.keys().map(String::as_str);
    let hint = match remember.is_empty() {
        true => format!("write `reply: {{ remember: {{ {name}: PATH }} }}`"),
        false => yaml::suggest::known_names(name, known),
    };
    Some(format!("has {{{{ remembered.{name} }}}}, and `reply.remember` has no {name}\nhint: {hint}"))
}

impl Template {
    pub(crate) fn misremembered<T>(&self, remember: &BTreeMap<String, T>) -> Option<String> {
        texts(&self.0).into_iter().find_map(|text| misremembered(text, remember))
    }

    pub(crate) fn render(&self, values: &Values) -> Result<Value, Error> {
        filled(&self.0, &TEXTS, &values.context()).map_err(|error| values.without_variable(&self.0).unwrap_or(error))
    }
}

impl Text {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        check(text)?;
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn render(&self, values: &Values) -> Result<String, Error> {
        self.render_by(&TEXTS, values)
    }

    /// With the values percent-encoded, as parts of an address.
    pub(crate) fn render_address(&self, values: &Values) -> Result<String, Error> {
        self.render_by(&ADDRESSES, values)
    }

    fn render_by(&self, environment: &Environment<'_>, values: &Values) -> Result<String, Error> {
        let rendered = environment.render_str(&self.0, values.context());
        rendered.map_err(|error| values.without_variable(&json!(self.0)).unwrap_or_else(|| Error::of(error)))
    }

    pub(crate) fn written(&self) -> &str {
        &self.0
    }

    pub(crate) fn misremembered<T>(&self, remember: &BTreeMap<String, T>) -> Option<String> {
        misremembered(&self.0, remember)
    }

    /// The written address, without the values of its query, which may hold keys.
    pub(crate) fn shown(&self) -> String {
        let Some((path, query)) = self.0.split_once('?') else { return self.0.clone() };
        let names: Vec<String> =
            query.split('&').map(|pair| format!("{}=…", pair.split('=').next().unwrap_or_default())).collect();
        format!("{path}?{}", names.join("&"))
    }

    /// The address with a sample value for each placeholder, to check that it is valid. `remembered`: the names in the
    /// settings.
    pub(crate) fn sample_address<'a>(&self, remembered: impl Iterator<Item = &'a String>) -> Result<String, Error> {
        let mut names: Map<String, Value> = NAMES.iter().map(|name| ((*name).to_owned(), json!("x"))).collect();
        let remembered: Map<String, Value> = remembered.map(|name| (name.clone(), json!("x"))).collect();
        names.insert("remembered".to_owned(), remembered.into());
        let vars: Map<String, Value> = variables(&json!(self.0)).into_iter().map(|name| (name, json!("x"))).collect();
        names.insert("vars".to_owned(), vars.into());
        self.render_address(&Values(Value::Object(names)))
    }
}

impl Error {
    /// In a text of several lines, with the line.
    fn at(text: &str, line: Option<usize>, error: Self) -> Self {
        match line {
            Some(line) if text.lines().nth(1).is_some() => Self(format!("line {line} of the text: {error}")),
            _ => error,
        }
    }

    fn of(error: minijinja::Error) -> Self {
        Self(error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind())))
    }
}

/// For bodies and headers.
static TEXTS: LazyLock<Environment<'static>> = LazyLock::new(environment);

/// For addresses, whose values are percent-encoded.
static ADDRESSES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = environment();
    environment.set_formatter(encode);
    environment
});

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("tojson", to_json);
    environment.add_filter("urlencode", |value: &minijinja::Value| percent_encoded(value));
    environment
}

/// A value as JSON, for bodies that are texts: a message as `"it said \"no\""`, quotes and all.
fn to_json(value: &minijinja::Value) -> Result<String, minijinja::Error> {
    serde_json::to_string(value).map_err(|error| minijinja::Error::new(ErrorKind::BadSerialization, error.to_string()))
}

fn percent_encoded(value: &minijinja::Value) -> String {
    utf8_percent_encode(&value.to_string(), IN_ADDRESS).to_string()
}

fn encode(out: &mut Output, _: &mut State<'_, '_>, value: &minijinja::Value) -> Result<(), minijinja::Error> {
    fmt::Write::write_str(out, &percent_encoded(value))?;
    Ok(())
}

fn listed(messages: &[llm::Message]) -> Value {
    messages.iter().map(|message| json!({ "role": message.role.name(), "content": message.content })).collect()
}

fn filled(value: &Value, environment: &Environment<'_>, context: &minijinja::Value) -> Result<Value, Error> {
    Ok(match value {
        Value::String(text) => match lone(text) {
            Some(expression) => {
                let compiled = environment.compile_expression(expression).map_err(Error::of)?;
                let found = compiled.eval(context.clone()).map_err(Error::of)?;
                if found.is_undefined()
                    && compiled.undeclared_variables(true).iter().any(|name| name.starts_with("vars."))
                {
                    return Err(Error("undefined value".to_owned()));
                }
                serde_json::to_value(found).map_err(|error| Error(error.to_string()))?
            }
            None if text.contains('{') => environment.render_str(text, context.clone()).map_err(Error::of)?.into(),
            None => value.clone(),
        },
        Value::Array(list) => {
            Value::Array(list.iter().map(|value| filled(value, environment, context)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| Ok((key.clone(), filled(value, environment, context)?)));
            Value::Object(pairs.collect::<Result<_, Error>>()?)
        }
        other => other.clone(),
    })
}

/// The expression of a text that is exactly one placeholder.
fn lone(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then(|| inner.trim())
}

fn check(text: &str) -> Result<(), Error> {
    if !text.contains('{') {
        return Ok(());
    }
    let template = TEXTS.template_from_str(text).map_err(|error| Error::at(text, error.line(), Error::of(error)))?;
    let unknown: BTreeSet<String> =
        template.undeclared_variables(false).into_iter().filter(|name| !NAMES.contains(&name.as_str())).collect();
    if let Some(name) = unknown.first() {
        let line = text.lines().position(|line| line.contains(name.as_str()));
        let message = format!("there is no placeholder {{{{ {name} }}}}; there are {}", NAMES.join(", "));
        return Err(Error::at(text, line.map(|line| line + 1), Error(message)));
    }
    for used in template::used(text) {
        let unknown = TEXTS.compile_expression(&used.probe()).and_then(|probe| probe.eval(()));
        if let Err(error) = unknown
            && matches!(error.kind(), ErrorKind::UnknownFilter | ErrorKind::UnknownTest)
        {
            return Err(Error::at(text, Some(used.line), Error::of(error)));
        }
    }
    // Other names are only looked up when the text is written.
    let nested = template.undeclared_variables(true);
    // A remembered value or a variable can be a list or an object, whose parts cannot be known here.
    let is_known = !["remembered", "vars"].iter().any(|name| text.contains(name));
    let named = |place: &'static str| {
        nested.iter().filter_map(move |name| name.strip_prefix(place)?.split('.').next()).collect::<BTreeSet<&str>>()
    };
    let (remembered, vars) = (named("remembered."), named("vars."));
    for is_full in [true, false] {
        let Err(error) = template.render(Values::sample(is_full, &remembered, &vars).context()) else { continue };
        match error.kind() {
            ErrorKind::UnknownFunction | ErrorKind::UnknownMethod => {
                return Err(Error::at(text, error.line(), Error::of(error)));
            }
            ErrorKind::UndefinedError if is_full && is_known => {
                return Err(Error::at(text, error.line(), Error(UNDEFINED.to_owned())));
            }
            _ => {}
        }
    }
    Ok(())
}

const UNDEFINED: &str = "it takes an attribute that does not exist: items of messages and history have role and content, \
    and other placeholders are texts or numbers";

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        llm::json::read(deserializer, Placeholders).map(Self)
    }
}

/// Texts are checked where they are written, so that a fault names its own line instead of that of the whole body.
#[derive(Clone, Copy)]
struct Placeholders;

impl llm::json::Rules for Placeholders {
    fn text(self, text: &str) -> Result<(), String> {
        check(text).map_err(|error| error.to_string())
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl JsonSchema for Template {
    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": format!("JSON whose texts may hold placeholders: {{{{ {} }}}}.", NAMES.join(" }}, {{ ")) })
    }
}

impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": format!("A text with placeholders: {{{{ {} }}}}.", NAMES.join(" }}, {{ ")),
            "type": "string",
        })
    }
}

#[cfg(test)]
mod tests;
