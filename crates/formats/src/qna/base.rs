//! A QnA Maker knowledge base: pairs of questions and an answer, and their properties.

use std::collections::{BTreeMap, BTreeSet};

use scenario::question::Filter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of a pair that names none.
pub const DEFAULT_SOURCE: &str = "custom editorial";

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];

/// One knowledge base from `.qna` or JSON. Texts are trimmed and use `
/// ` as line end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnowledgeBase {
    /// `> !# @kb.name = …`, or the JSON's `name`; empty if there is none.
    pub name: String,
    /// Other model information, as (`@app.desc`, text).
    pub info: Vec<(String, String)>,
    pub pairs: Vec<Pair>,
    pub alterations: Vec<Alteration>,
    /// Web pages that the service is to read; a test run never does.
    pub urls: Vec<String>,
    /// Documents that the service is to read; a test run never does.
    pub files: Vec<FileLink>,
}

/// Questions that have the same answer. At least one question; no question twice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// `<a id = "N"></a>`; never 0.
    #[serde(default)]
    pub id: Option<u32>,
    #[serde(default = "default_source")]
    pub source: String,
    /// The heading, then its variants.
    pub questions: Vec<String>,
    #[serde(default)]
    pub filters: Vec<Filter>,
    pub answer: String,
    #[serde(default)]
    pub prompts: Vec<Prompt>,
}

/// A follow-up that the agent offers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    pub display: String,
    /// The id of another pair, or `?` and one of its questions, with `-` for blanks if one likes.
    pub link: String,
    /// The pair behind it is reached by this prompt only.
    #[serde(default)]
    pub context_only: bool,
}

/// Synonyms; the first word replaces the others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Alteration {
    pub words: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct FileLink {
    pub name: String,
    pub uri: String,
}

impl KnowledgeBase {
    /// Notes a web address, which is never fetched; its ending says what it is. Names and addresses are kept in a form
    /// that a link in a `.qna` file can have.
    pub(super) fn note_address(&mut self, name: &str, target: &str) {
        const DOCUMENTS: &[&str] = &[".pdf", ".doc", ".docx", ".xls", ".xlsx", ".tsv", ".txt"];
        let ends = |text: &str| {
            let plain = text.split(['?', '#']).next().unwrap_or_default().trim_end().to_ascii_lowercase();
            DOCUMENTS.iter().any(|ending| plain.ends_with(ending))
        };
        let name = one_line(name).replace('[', "(").replace(']', ")");
        let uri = encoded(target);
        if ends(&uri) || ends(&name) {
            let file = FileLink { name, uri };
            if !self.files.contains(&file) {
                self.files.push(file);
            }
        } else if !self.urls.contains(&uri) {
            self.urls.push(uri);
        }
    }

    /// The possible targets of prompts.
    #[must_use]
    pub fn targets(&self) -> Targets {
        let mut targets = Targets::default();
        for (index, pair) in self.pairs.iter().enumerate() {
            if let Some(id) = pair.id {
                targets.ids.entry(id).or_insert(index);
            }
            // Pairs that a cross-training tool added answer for other files, not for a prompt of this one.
            if !pair.source.eq_ignore_ascii_case("crosstrained") {
                for question in &pair.questions {
                    targets.questions.entry(spaced(question)).or_insert(index);
                }
            }
        }
        targets
    }

    /// The pairs that are reached by prompts only.
    #[must_use]
    pub fn context_only(&self) -> BTreeSet<usize> {
        let targets = self.targets();
        let prompts = self.pairs.iter().flat_map(|pair| &pair.prompts);
        prompts.filter(|prompt| prompt.context_only).filter_map(|prompt| targets.of(prompt)).collect()
    }
}

/// The pairs of a knowledge base by their prompt names.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    ids: BTreeMap<u32, usize>,
    questions: BTreeMap<String, usize>,
}

impl Targets {
    /// The index of the pair that a prompt leads to.
    #[must_use]
    pub fn of(&self, prompt: &Prompt) -> Option<usize> {
        let by_id = || self.ids.get(&prompt.link.parse().ok()?);
        by_id().or_else(|| self.questions.get(&spaced(prompt.link.trim_start_matches([' ', '?'])))).copied()
    }
}

/// A text as knowledge bases keep it.
#[must_use]
pub fn normal(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned()
}

/// Whether a link leads to the web and not to another file.
pub(super) fn is_address(target: &str) -> bool {
    target.starts_with("http://") || target.starts_with("https://")
}

/// A text that a `.qna` file has on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split(['\r', '\n']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Synonyms, each once; `None` for fewer than two.
pub(super) fn alteration(words: impl IntoIterator<Item = String>) -> Option<Alteration> {
    let mut seen = BTreeSet::new();
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty() && seen.insert(word.clone())).collect();
    (words.len() >= 2).then_some(Alteration { words })
}

/// An address with percent-encoding for the characters that would end its link.
fn encoded(address: &str) -> String {
    let mut encoded = String::with_capacity(address.len());
    for letter in address.trim().chars() {
        if letter.is_whitespace() || letter.is_control() || matches!(letter, '(' | ')' | '[' | ']') {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                encoded.push('%');
                encoded.extend([byte >> 4, byte & 15].map(|half| HEX[usize::from(half)]));
            }
        } else {
            encoded.push(letter);
        }
    }
    encoded
}

/// A link has hyphens instead of spaces, because spaces end the address of a link in Markdown.
pub(super) fn spaced(text: &str) -> String {
    text.replace('-', " ").trim().to_owned()
}

pub(super) fn default_source() -> String {
    DEFAULT_SOURCE.to_owned()
}
