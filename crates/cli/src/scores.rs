//! `scores` of `gabfest.yaml`: which model measures what.

use std::sync::Arc;

use anyhow::anyhow;
use evaluate::scorer::Models;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who gives the scores that checks compare with a threshold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    /// How alike two texts are in meaning. An endpoint is asked for embeddings.
    pub(crate) similarity: Source,
    /// What part of a text answers a question. No endpoint has an address for it.
    pub(crate) answer: Source,
    /// How well a reply follows what was said before. No endpoint has an address for it.
    pub(crate) next_sentence: Source,
    /// Seven scores of harm. An endpoint is asked for moderations.
    pub(crate) toxicity: Source,
}

/// Where a score comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// The endpoint of `roles.judge`, asked in words.
    #[default]
    Judge,
    /// An endpoint with embeddings or moderations, by its name.
    Endpoint(String),
}

impl Settings {
    /// Each measure that names an endpoint, with that name.
    ///
    /// # Errors
    /// When one names an endpoint for what endpoints cannot do.
    pub(crate) fn endpoints(&self) -> anyhow::Result<Vec<(&'static str, &str)>> {
        let mut named = Vec::new();
        for (measure, source, served) in [
            ("similarity", &self.similarity, true),
            ("answer", &self.answer, false),
            ("next_sentence", &self.next_sentence, false),
            ("toxicity", &self.toxicity, true),
        ] {
            let Source::Endpoint(name) = source else { continue };
            if !served {
                return Err(anyhow!(
                    "scores.{measure} names the endpoint {name:?}, and endpoints have no address for that\nhint: write `{measure}: judge`"
                ));
            }
            named.push((measure, name.as_str()));
        }
        Ok(named)
    }
}

/// The models that the settings choose, each endpoint opened by `open`.
pub(crate) fn models(
    settings: &Settings,
    open: &mut dyn FnMut(&str) -> anyhow::Result<Arc<dyn llm::Model>>,
) -> anyhow::Result<Models> {
    let mut of = |source: &Source| match source {
        Source::Judge => Ok(None),
        Source::Endpoint(name) => open(name).map(Some),
    };
    Ok(Models {
        similarity: of(&settings.similarity)?,
        answer: of(&settings.answer)?,
        next_sentence: of(&settings.next_sentence)?,
        toxicity: of(&settings.toxicity)?,
    })
}
