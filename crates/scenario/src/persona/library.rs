//! The persona library: YAML files that hold one persona each, or a list of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Persona;
use crate::{
    Diagnostic,
    conversation::KnowledgeLevel,
    format::eliza::{ReplyTokens, Temperature, Words},
    yaml::{Document, Findings, Part},
};

/// Who the simulated user is.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "Persona")]
pub(crate) struct PersonaDocument {
    /// How the command line and reports name it.
    name: Words,
    /// Who it is, in words for the simulator.
    persona: Words,
    /// What it wants; what the scenario says unless written.
    objective: Option<String>,
    /// How it speaks.
    style: Option<String>,
    /// Rules that it keeps.
    #[serde(default)]
    constraints: Vec<String>,
    /// How it feels.
    emotional_state: Option<String>,
    /// What it knows of the matter; what the scenario says unless written.
    knowledge_level: Option<KnowledgeLevel>,
    /// How freely the simulator writes, 0 to 2; what the scenario says unless written.
    temperature: Option<Temperature>,
    /// The longest line, 50 to 500 tokens; what the scenario says unless written.
    max_tokens: Option<ReplyTokens>,
}

/// All personas that were read, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Library {
    personas: BTreeMap<String, Persona>,
    /// `path:line` of each, to name the first where a second has its name.
    places: BTreeMap<String, String>,
}

impl Library {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Persona> {
        self.personas.get(name)
    }

    /// In the order of the alphabet.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.personas.keys().map(String::as_str)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.personas.is_empty()
    }

    /// Adds the personas of one file. A faulty one is left out, the others are kept.
    #[must_use]
    pub fn add(&mut self, document: &Document) -> Vec<Diagnostic> {
        let mut findings = Findings::new(&document.path);
        let root = document.root();
        let parts = if document.value.is_array() { root.items() } else { vec![root] };
        for part in parts {
            self.add_one(&part, &document.path, &mut findings);
        }
        findings.into_sorted()
    }

    fn add_one(&mut self, part: &Part<'_>, path: &str, findings: &mut Findings) {
        let Some(written) = part.decode::<PersonaDocument>(findings) else { return };
        let persona = written.into_persona();
        if persona.name == super::ALL {
            findings.error(
                part.spot_of("name"),
                format!("`{}` stands for every persona, so none can have the name", super::ALL),
            );
            return;
        }
        if let Some(first) = self.places.get(&persona.name) {
            findings.error(part.spot_of("name"), format!("the persona `{}` exists already: {first}", persona.name));
            return;
        }
        self.places.insert(persona.name.clone(), format!("{path}:{}", part.line()));
        self.personas.insert(persona.name.clone(), persona);
    }
}

impl PersonaDocument {
    fn into_persona(self) -> Persona {
        Persona {
            name: self.name.0,
            persona: self.persona.0,
            objective: self.objective,
            style: self.style,
            constraints: self.constraints,
            emotional_state: self.emotional_state,
            knowledge_level: self.knowledge_level,
            temperature: self.temperature.map(|temperature| temperature.0),
            max_tokens: self.max_tokens.map(|tokens| tokens.0),
        }
    }
}
