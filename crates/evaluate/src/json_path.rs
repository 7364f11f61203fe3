//! `json_path`: a path selects values of the text's JSON, and each of them satisfies checks.

use scenario::check;

use crate::{
    error::Error,
    evaluator::{Behaviour, Compile, Found},
    excerpt::{SHORT_BYTES, excerpt},
    json_lookup::{Lookup, MOST_VALUES},
    judge_pool::JudgePool,
    loose_json,
    nested::Nested,
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct JsonPath {
    path: Lookup,
    /// `None`: any value.
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
