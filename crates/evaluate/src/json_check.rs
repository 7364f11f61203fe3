//! `json_check` and `json_path`: the text is JSON, and the values at its paths satisfy checks.

use scenario::{Check, check};
use serde_json::Value;

use crate::{
    error::Error,
    evaluator::{Behaviour, Compile, Found},
    excerpt::{SHORT_BYTES, excerpt},
    json_lookup::Lookup,
    judge_pool::JudgePool,
    loose_json,
    nested::Nested,
    outcome::Outcome,
    subject::Subject,
};

/// The limit of values that one path selects for judging.
const MOST_VALUES: usize = 1_000;

#[derive(Debug)]
pub(crate) struct JsonCheck {
    fields: Vec<(Lookup, Nested)>,
}

impl JsonCheck {
    pub(crate) fn new(rule: &check::JsonCheck, compile: Compile) -> Result<Self, Error> {
        if rule.fields.is_empty() {
            return Err(Error::Empty { field: "fields" });
        }
        let field = |(path, checks): &(String, Vec<Check>)| {
            Ok((Lookup::new(path, "fields")?, Nested::new(checks, "fields", compile)?))
        };
        Ok(Self { fields: rule.fields.iter().map(field).collect::<Result<_, Error>>()? })
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
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
        Nested::all(values, subject, pool)
            .await
            .unwrap_or_else(|| Outcome::pass("every value is as it should be"))
            .with_evidence(&json.to_string())
    }
}

impl Behaviour for JsonCheck {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

#[derive(Debug)]
pub(crate) struct JsonPath {
    path: Lookup,
    /// `None`: any value is enough.
    checks: Option<Nested>,
}

impl JsonPath {
    pub(crate) fn new(rule: &check::JsonPath, compile: Compile) -> Result<Self, Error> {
        let check::JsonPath { path, checks } = rule;
        let checks = if checks.is_empty() { None } else { Some(Nested::new(checks, "checks", compile)?) };
        Ok(Self { path: Lookup::new(path, "path")?, checks })
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
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
        Nested::all(values, subject, pool).await.unwrap_or_else(there).with_evidence(&evidence)
    }
}

impl Behaviour for JsonPath {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}
