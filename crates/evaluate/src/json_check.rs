//! `json_check`: the text is a JSON object, and the values at its paths satisfy checks.

use scenario::{Check, check};
use serde_json::Value;

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
            Ok(_) => return Outcome::fail("the text is JSON, but not an object").with_evidence(subject.reply),
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
            .unwrap_or_else(|| Outcome::pass("every value satisfies its checks"))
            .with_evidence(&json.to_string())
    }
}

impl Behaviour for JsonCheck {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}
