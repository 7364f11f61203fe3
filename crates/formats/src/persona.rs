//! Reads personas: YAML files that hold one persona each, or a list of them.

use scenario::{
    conversation::KnowledgeLevel,
    format::Files,
    persona::{ALL, Library, Persona},
    user::Extras,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use yaml::{
    Diagnostic, Document, Findings, Part,
    path::{Path, Segment},
    schema,
};

use yaml::bounded::{ReplyTokens, Temperature, Words};

use crate::simulated_user::{self, put_prompts_in};

/// The simulated user.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(title = "Persona")]
struct PersonaDocument {
    /// The name for the command line and reports.
    name: Words,
    /// Who the user is, in words for the simulator.
    persona: Words,
    /// The user's goal. The default is the scenario's.
    objective: Option<String>,
    /// How the user speaks.
    style: Option<String>,
    /// Rules for the user.
    #[serde(default)]
    constraints: Vec<String>,
    /// How the user feels.
    emotional_state: Option<String>,
    /// The user's knowledge of the topic. The default is the scenario's.
    knowledge_level: Option<KnowledgeLevel>,
    /// The sampling temperature of the simulator, 0 to 2. The default is the scenario's.
    temperature: Option<Temperature>,
    /// The maximum length of a message, 50 to 500 tokens. The default is the scenario's.
    max_tokens: Option<ReplyTokens>,
    /// Keys that only gabfest knows. Those of the scenario win.
    #[serde(default)]
    gabfest: Extras,
}

/// The JSON Schema of one persona.
#[must_use]
pub fn schema() -> Value {
    schema::of::<PersonaDocument>()
}

/// Adds the personas of one file to the library. Faulty ones are left out.
#[must_use]
pub fn read(document: &mut Document, files: &mut dyn Files, library: &mut Library) -> Vec<Diagnostic> {
    let mut findings = Findings::new(&document.path);
    let personas: Vec<Path> = match document.value.as_array() {
        Some(list) => (0..list.len()).map(|index| Path(vec![Segment::Index(index)])).collect(),
        None => vec![Path::default()],
    };
    put_prompts_in(document, &personas, files, &mut findings);
    let root = document.root();
    let parts = if document.value.is_array() { root.items() } else { vec![root] };
    for part in parts {
        read_one(&part, &document.path, library, &mut findings);
    }
    findings.into_sorted()
}

fn read_one(part: &Part<'_>, path: &str, library: &mut Library, findings: &mut Findings) {
    let Some(written) = part.decode::<PersonaDocument>(findings) else { return };
    if let Some(ours) = part.get("gabfest") {
        simulated_user::check(&ours, &written.gabfest, findings);
    }
    let persona = written.into_persona();
    if persona.name == ALL {
        findings
            .error(part.spot_of("name"), format!("`{ALL}` selects every persona, so no persona can have this name"));
        return;
    }
    let name = persona.name.clone();
    if let Err(first) = library.add(persona, format!("{path}:{}", part.line())) {
        findings.error(part.spot_of("name"), format!("the persona `{name}` exists already: {first}"));
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
            extras: self.gabfest,
        }
    }
}
