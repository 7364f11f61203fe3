//! `user_satisfaction`: how satisfied the user is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml::bounded::Share;

use super::{kind::Kind, place::Place, question::Question};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserSatisfaction {
    pub satisfaction_threshold: f64,
    /// The words that keyword analysis counts; `None`: the usual ones.
    pub positive: Option<Vec<String>>,
    pub negative: Option<Vec<String>>,
    pub method: SatisfactionMethod,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SatisfactionMethod {
    SentimentAnalysis,
    KeywordAnalysis,
    #[default]
    LlmJudge,
}

/// The user was satisfied.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UserSatisfaction")]
pub struct Written {
    /// The minimum score.
    #[serde(default = "seven_tenths")]
    satisfaction_threshold: Share,
    /// The words that `keyword_analysis` counts.
    indicators: Option<Indicators>,
    /// How to measure satisfaction.
    #[serde(default)]
    measurement_method: SatisfactionMethod,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Indicators {
    /// Words of a satisfied user.
    positive: Option<Vec<String>>,
    /// Words of a dissatisfied user.
    negative: Option<Vec<String>>,
}

impl Kind for UserSatisfaction {
    type Written = Written;
    const ASKS_JUDGE: bool = true;

    fn read(written: Written, _: &mut Place<'_, '_>) -> Option<Self> {
        let Indicators { positive, negative } = written.indicators.unwrap_or_default();
        Some(Self {
            satisfaction_threshold: written.satisfaction_threshold.0,
            positive,
            negative,
            method: written.measurement_method,
        })
    }

    fn questions(&self) -> Vec<Question<'_>> {
        match self.method {
            SatisfactionMethod::KeywordAnalysis => Vec::new(),
            SatisfactionMethod::SentimentAnalysis | SatisfactionMethod::LlmJudge => vec![Question::judge(1)],
        }
    }
}

fn seven_tenths() -> Share {
    Share(0.7)
}
