//! Which language a scenario file is written in, and its reader.

pub mod eliza;

use serde_json::Value;

use crate::{Diagnostic, Format, Scenario, schema, yaml::Document};

/// What a scenario file says: the scenario, and what it is multiplied by unless a matrix or the caller says more.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub scenario: Scenario,
    /// Names of personas of the library; empty: the scenario's own only.
    pub personas: Vec<String>,
    pub repeats: Option<u32>,
}

impl Format {
    /// The format of a file by its name; `None` for files that are no scenarios.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        [".scenario.yaml", ".scenario.yml"].iter().any(|ending| name.ends_with(ending)).then_some(Self::Eliza)
    }

    /// Turns a document into a scenario. The findings are in the order of the lines; with an error among them
    /// there is no scenario.
    #[must_use]
    pub fn read(self, document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
        match self {
            Self::Eliza => eliza::read(document),
        }
    }

    /// The JSON Schema of the format's files.
    #[must_use]
    pub fn schema(self) -> Value {
        match self {
            Self::Eliza => schema::scenario(),
        }
    }
}
