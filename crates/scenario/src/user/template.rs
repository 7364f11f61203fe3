//! A custom prompt: its file, its text, and its variables.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A longer template is refused.
pub const MOST_TEMPLATE_BYTES: usize = 16 * 1_024;

/// The variables of a template, with their meanings.
pub const VARIABLES: &[(&str, &str)] = &[
    ("persona", "who the user is"),
    ("objective", "the user's goal in one sentence"),
    ("style", "how the user speaks"),
    ("constraints", "a list of rules for the user"),
    ("emotional_state", "how the user feels"),
    ("knowledge_level", "`beginner`, `intermediate` or `expert`"),
    ("agent_is", "what the user talks to"),
    ("language", "the language of the user"),
    ("facts", "a list of facts, each with `name`, `value` and `tell`"),
    ("unknown", "a list of things that the user does not know"),
    ("invent", "`nothing` or `harmless`"),
    ("goal", "a list of the goal's parts, each with `id`, `text`, `status` and `blocked`"),
    ("state", "what the state says: `say` and `mood`; empty without states"),
    ("tools", "a list of the user's tools, each with `name` and `description`"),
    ("turn", "the number of the line that the user is about to write"),
    ("turns_left", "the number of lines that the user can still write"),
    ("stop_rules", "how the user ends the talk"),
    ("reply_form", "the form of the reply; a template must contain it"),
];

/// A template file. The reader of files puts its text in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The name of the template file.
    pub path: String,
    /// The template.
    pub text: String,
}

impl JsonSchema for Prompt {
    fn schema_name() -> Cow<'static, str> {
        "UserPrompt".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "type": "string", "minLength": 1 },
            {
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "The name of the template file." },
                    "text": { "type": "string", "description": "The template." },
                },
                "required": ["path", "text"],
            },
        ] })
    }
}
