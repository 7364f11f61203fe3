//! `call`: a model acts as a function of the conversation, and its result satisfies checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yaml::Part;

use super::{
    Check,
    kind::Kind,
    place::{Nested, Place},
    question::{self, Question},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRule {
    /// The model type to ask, if `models` in the settings has it; otherwise the usual judge answers.
    pub plugin: String,
    pub function: String,
    /// In the order of the file; each name once.
    pub arguments: Vec<(String, String)>,
    /// Checks of the result as text; at least one.
    pub checks: Vec<Check>,
}

/// A model acts as a function of the conversation, and its result satisfies the evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "CallFunction")]
pub struct Written {
    /// The model type to ask, if `models` in the settings has it; otherwise the usual judge answers.
    plugin: String,
    /// The function's name.
    function: String,
    /// The arguments, in this order.
    #[serde(default, rename = "arguments")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    _arguments: Map<String, Value>,
    /// The evaluations of the result as text.
    #[serde(rename = "checks")]
    #[schemars(with = "Vec<Nested>", length(min = 1))]
    _checks: Vec<Value>,
}

impl Kind for CallRule {
    type Written = Written;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        let mut arguments = Vec::new();
        for (name, value) in place.part.get("arguments").iter().flat_map(Part::entries) {
            let Value::String(text) = value.value() else {
                place.findings.error(value.spot(), format!("expected a text for `{name}`"));
                continue;
            };
            arguments.push((name.to_owned(), text.clone()));
        }
        let checks = place.some_checks("checks");
        Some(Self { plugin: written.plugin, function: written.function, arguments, checks })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let mut questions = vec![Question::judge_of_type(Some(&self.plugin), 1)];
        questions.extend(question::of_checks(&self.checks));
        questions
    }
}
