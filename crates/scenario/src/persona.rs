//! Who the simulated user is: a reusable description that can be an axis of the matrix.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    conversation::{KnowledgeLevel, Simulator},
    user::Extras,
};

mod library;

pub use library::Library;

/// The name that selects every persona of the library.
pub const ALL: &str = "all";

/// A persona of the library. Keys that it does not set keep the scenario's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Persona {
    /// The name for the command line and reports.
    pub name: String,
    /// Who the user is, described for the simulator.
    pub persona: String,
    #[serde(default)]
    pub objective: Option<String>,
    #[serde(default)]
    pub style: Option<String>,
    #[serde(default)]
    pub constraints: Vec<String>,
    #[serde(default)]
    pub emotional_state: Option<String>,
    #[serde(default)]
    pub knowledge_level: Option<KnowledgeLevel>,
    /// 0 to 2.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// 50 to 500.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Keys that exist only in gabfest. The scenario's take precedence.
    #[serde(default, rename = "gabfest", skip_serializing_if = "Extras::is_empty")]
    pub extras: Extras,
}

impl Persona {
    /// Replaces the scenario's persona with this one.
    pub fn dress(&self, simulator: &mut Simulator) {
        simulator.persona.clone_from(&self.persona);
        simulator.style.clone_from(&self.style);
        simulator.constraints.clone_from(&self.constraints);
        simulator.emotional_state.clone_from(&self.emotional_state);
        if let Some(objective) = &self.objective {
            simulator.objective.clone_from(objective);
        }
        if let Some(level) = self.knowledge_level {
            simulator.knowledge_level = level;
        }
        if let Some(temperature) = self.temperature {
            simulator.temperature = temperature;
        }
        if let Some(max_tokens) = self.max_tokens {
            simulator.max_tokens = max_tokens;
        }
        simulator.extras.add(&self.extras);
    }
}
