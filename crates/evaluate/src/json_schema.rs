//! `json_schema`: the text is JSON that fits a JSON Schema.

use jsonschema::{PatternOptions, Validator};
use scenario::check;
use serde_json::Value;

use crate::{
    error::Error,
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    loose_json,
    outcome::Outcome,
    pattern::PATTERN_BYTES,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct JsonSchema {
    validator: Validator,
}

impl JsonSchema {
    pub(crate) fn new(rule: &check::JsonSchema) -> Result<Self, Error> {
        Ok(Self { validator: validator(&rule.schema)? })
    }
}

impl Immediate for JsonSchema {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
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

/// Compiles any JSON Schema that refers to no other document. Its patterns run in linear time.
pub(crate) fn validator(schema: &Value) -> Result<Validator, Error> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
        .offline()
        .build(schema)
        .map_err(|error| Error::Schema { message: error.to_string() })
}
