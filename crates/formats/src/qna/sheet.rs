//! One `.qna` or `.lu` file as written, before other files are merged.

use scenario::question::Filter;

use super::base::{Alteration, Prompt};

#[derive(Debug, Default)]
pub(super) struct Sheet {
    /// (`@kb.name`, text).
    pub(super) info: Vec<(String, String)>,
    pub(super) pairs: Vec<Written>,
    pub(super) links: Vec<Link>,
    pub(super) alterations: Vec<Alteration>,
    /// LUIS intents with their utterances, for references to them.
    pub(super) intents: Vec<(String, Vec<String>)>,
}

/// A written pair: questions may still be references.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) line: u32,
    pub(super) id: Option<u32>,
    pub(super) source: Option<String>,
    /// With their lines.
    pub(super) questions: Vec<(String, u32)>,
    pub(super) filters: Vec<Filter>,
    pub(super) answer: Option<String>,
    /// With their lines.
    pub(super) prompts: Vec<(Prompt, u32)>,
}

/// `[name](target)` on its own line.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) line: u32,
    pub(super) name: String,
    pub(super) target: String,
}

/// The name and the target of a text that is exactly one Markdown link.
pub(super) fn link(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(')')?;
    let (name, target) = inner.split_once("](")?;
    let plain = !name.contains(['[', ']']) && !target.contains(['(', ')']);
    plain.then_some((name.trim(), target.trim()))
}
