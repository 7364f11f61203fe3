//! `llm_judge`: a judge answers a question about the agent's work, and the answer is the expected one.

mod expected;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yaml::bounded::Temperature;

pub use self::expected::Expected;
use super::{kind::Kind, place::Place, question::Question, wording};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeRule {
    pub prompt: String,
    pub expected: Expected,
    pub model_type: Option<String>,
    pub temperature: Option<f64>,
    /// A JSON Schema that the judge's reply must satisfy.
    pub json_schema: Option<Value>,
    /// What the reply must show, each judged by itself; empty: none asked for.
    pub capabilities: Vec<String>,
    /// Judges the capabilities in the same call as the question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub batch: bool,
}

/// A language model judges the reply.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "LlmJudge")]
pub struct Written {
    /// The question to the judge.
    prompt: String,
    /// The expected answer: `yes`, `no`, `0.8+`, `0.3-`, `0.4-0.6`, or a word of the judgment.
    expected: String,
    /// The model type of the judge.
    model_type: Option<String>,
    /// The temperature of the judge, 0 to 2.
    temperature: Option<Temperature>,
    /// A JSON Schema that the judge's reply must satisfy.
    json_schema: Option<Map<String, Value>>,
    /// What the reply should show. Each is judged on its own and does not affect the finding.
    #[schemars(length(min = 1))]
    capabilities: Option<Vec<String>>,
    /// Whether the judge answers the question and all capabilities in one call. A `json_schema` always does.
    #[serde(default)]
    batch: bool,
}

impl Kind for JudgeRule {
    type Written = Written;
    const ASKS_JUDGE: bool = true;
    const SHOWS_MATERIAL: bool = true;

    fn read(written: Written, place: &mut Place<'_, '_>) -> Option<Self> {
        if written.capabilities.as_ref().is_some_and(Vec::is_empty) {
            place.error("capabilities", "`capabilities` is empty: name at least one, or remove the key");
        }
        let expected = match expected::parse(&written.expected) {
            Ok(expected) => expected,
            Err(fault) => {
                place.error("expected", fault);
                place.help("`yes`, `no`, `0.8+` (at least), `0.3-` (at most), `0.4-0.6`, or a word of the judgment");
                return None;
            }
        };
        wording::check_question("`prompt`", &written.prompt, place.part.spot_of("prompt"), place.findings);
        for capability in written.capabilities.iter().flatten() {
            let what = format!("the capability `{capability}`");
            wording::check_criterion(&what, capability, place.part.spot_of("capabilities"), place.findings);
        }
        Some(Self {
            prompt: written.prompt,
            expected,
            model_type: written.model_type,
            temperature: written.temperature.map(|temperature| temperature.0),
            json_schema: written.json_schema.map(Value::Object),
            capabilities: written.capabilities.unwrap_or_default(),
            batch: written.batch,
        })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        let together = self.batch || self.json_schema.is_some();
        let times = if together { 1 } else { 1 + self.capabilities.len() as u64 };
        vec![Question::judge_of_type(self.model_type.as_deref(), times)]
    }
}
