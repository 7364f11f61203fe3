//! `json_check`, `json_path` and `json_schema`: the text is JSON, and its values are as they should be.

use jsonschema::{PatternOptions, Validator};
use scenario::Check;
use serde_json::Value;

use crate::{
    Bench, Subject,
    compile::{self, PATTERN_BYTES},
    excerpt::{SHORT_BYTES, excerpt},
    json_lookup::Lookup,
    loose_json,
    nested::Nested,
    outcome::Outcome,
};

/// How many values a path may select to be judged each by itself.
const MOST_VALUES: usize = 1_000;

#[derive(Debug)]
pub(crate) struct JsonCheck {
    fields: Vec<(Lookup, Nested)>,
}

impl JsonCheck {
    pub(crate) fn new(fields: &[(String, Vec<Check>)]) -> Result<Self, compile::Error> {
        if fields.is_empty() {
            return Err(compile::Error::Empty { field: "fields" });
        }
        let field =
            |(path, checks): &(String, Vec<Check>)| Ok((Lookup::new(path, "fields")?, Nested::new(checks, "fields")?));
        Ok(Self { fields: fields.iter().map(field).collect::<Result<_, compile::Error>>()? })
    }

    pub(crate) fn asks_a_model(&self) -> bool {
        self.fields.iter().any(|(_, checks)| checks.asks_a_model())
    }

    pub(crate) async fn find(&self, subject: &Subject<'_>, bench: &dyn Bench) -> Outcome {
        let json = match loose_json::read(subject.reply) {
            Ok(json @ Value::Object(_)) => json,
            Ok(_) => return Outcome::fail("the text is JSON, but no object").with_evidence(subject.reply),
            Err(why) => return Outcome::fail(why).with_evidence(subject.reply),
        };
        let mut values = Vec::with_capacity(self.fields.len());
        for (path, checks) in &self.fields {
            let shown = excerpt(path.written(), SHORT_BYTES);
            let found = path.all(&json);
            if found.is_empty() {
                return Outcome::fail(format!("there is no `{shown}` in the JSON")).with_evidence(&json.to_string());
            }
            for value in found.into_iter().take(MOST_VALUES) {
                values.push((format!("`{shown}`"), loose_json::text_of(value).into_owned(), checks));
            }
        }
        Nested::all(values, subject, bench)
            .await
            .unwrap_or_else(|| Outcome::pass("every value is as it should be"))
            .with_evidence(&json.to_string())
    }
}

#[derive(Debug)]
pub(crate) struct JsonPath {
    path: Lookup,
    /// `None`: it is enough that something is there.
    checks: Option<Nested>,
}

impl JsonPath {
    pub(crate) fn new(path: &str, checks: &[Check]) -> Result<Self, compile::Error> {
        let checks = if checks.is_empty() { None } else { Some(Nested::new(checks, "checks")?) };
        Ok(Self { path: Lookup::new(path, "path")?, checks })
    }

    pub(crate) fn asks_a_model(&self) -> bool {
        self.checks.as_ref().is_some_and(Nested::asks_a_model)
    }

    pub(crate) async fn find(&self, subject: &Subject<'_>, bench: &dyn Bench) -> Outcome {
        let json = match loose_json::read(subject.reply) {
            Ok(json) => json,
            Err(why) => return Outcome::fail(why).with_evidence(subject.reply),
        };
        let shown = excerpt(self.path.written(), SHORT_BYTES);
        let found = self.path.all(&json);
        let count = found.len();
        let Some(first) = found.first() else {
            return Outcome::fail(format!("`{shown}` selects nothing")).with_evidence(&json.to_string());
        };
        let evidence = first.to_string();
        let there = || Outcome::pass(format!("`{shown}` selects {count} value{}", if count == 1 { "" } else { "s" }));
        let Some(checks) = &self.checks else { return there().with_evidence(&evidence) };
        let values = found.into_iter().take(MOST_VALUES);
        let values =
            values.map(|value| (format!("`{shown}`"), loose_json::text_of(value).into_owned(), checks)).collect();
        Nested::all(values, subject, bench).await.unwrap_or_else(there).with_evidence(&evidence)
    }
}

#[derive(Debug)]
pub(crate) struct JsonSchema {
    validator: Validator,
}

impl JsonSchema {
    pub(crate) fn new(schema: &Value) -> Result<Self, compile::Error> {
        Ok(Self { validator: validator(schema)? })
    }

    pub(crate) fn find(&self, subject: &Subject<'_>) -> Outcome {
        const FAULTS_SHOWN: usize = 3;
        let json = match loose_json::read(subject.reply) {
            Ok(json) => json,
            Err(why) => return Outcome::fail(why).with_evidence(subject.reply),
        };
        let faults: Vec<String> = self
            .validator
            .iter_errors(&json)
            .take(FAULTS_SHOWN)
            .map(|error| {
                let place = error.instance_path().to_string();
                let place = if place.is_empty() { "the JSON".to_owned() } else { format!("`{place}`") };
                format!("{place}: {}", excerpt(&error.masked().to_string(), 2 * SHORT_BYTES))
            })
            .collect();
        if faults.is_empty() {
            return Outcome::pass("the JSON fits the schema");
        }
        let reason = format!("the JSON does not fit the schema: {}", faults.join("; "));
        Outcome::fail(reason).with_evidence(&json.to_string())
    }
}

/// Of any JSON Schema; it may not refer to other documents, and its patterns are the linear-time kind.
pub(crate) fn validator(schema: &Value) -> Result<Validator, compile::Error> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
        .offline()
        .build(schema)
        .map_err(|error| compile::Error::Schema { message: error.to_string() })
}
