//! Which language a scenario file is written in, and its reader.

pub(crate) mod battery;
pub mod eliza;
mod line;
pub mod qna;
mod skunit;

use serde_json::Value;

use crate::{
    Diagnostic, Format, Scenario,
    plan::Axis,
    schema,
    yaml::{self, Document},
};

/// The largest file of a format that is plain text: no parser stands before it that a small file could overwhelm.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// How the names of scenario files end.
const ENDINGS: &[(&str, Format)] = &[
    (".scenario.yaml", Format::Eliza),
    (".scenario.yml", Format::Eliza),
    (".skunit.md", Format::Skunit),
    (".qna", Format::Qna),
    (".qna.json", Format::Qna),
    (".qna.tsv", Format::Qna),
    (".conversation.yaml", Format::Line),
    (".conversation.yml", Format::Line),
    (".conversation.json", Format::Line),
    (".battery.yaml", Format::Battery),
    (".battery.yml", Format::Battery),
];

/// How the names of files end that are scenarios only where the user names them himself.
const LOOSE_ENDINGS: &[(&str, Format)] = &[
    (".yaml", Format::Eliza),
    (".yml", Format::Eliza),
    (".md", Format::Skunit),
    (".lu", Format::Qna),
    (".tsv", Format::Qna),
    (".json", Format::Qna),
];

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
        ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| *format)
    }

    /// The format of a file that the user names himself, which may have a less telling name.
    #[must_use]
    pub fn of_named_file(name: &str) -> Option<Self> {
        Self::of_file(name)
            .or_else(|| LOOSE_ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| *format))
    }

    /// The name of a file without the ending that tells its format.
    #[must_use]
    pub fn without_ending(name: &str) -> &str {
        let endings = ENDINGS.iter().chain(LOOSE_ENDINGS);
        endings.map(|(ending, _)| *ending).find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
    }

    /// Whether a page of Markdown that is not named as such holds conversations.
    #[must_use]
    pub(crate) fn is_skunit(text: &str) -> bool {
        skunit::is_skunit(text)
    }

    /// The largest file that is read, in bytes.
    #[must_use]
    pub fn max_bytes(self) -> usize {
        match self {
            Self::Eliza | Self::Line | Self::Battery => yaml::MAX_BYTES,
            Self::Skunit | Self::Qna => MAX_TEXT_BYTES,
        }
    }

    /// Opens the text of a file: one document for each scenario in it. A document is what the plan carries, and what
    /// parameters and `--set` change, before [`Format::read`] makes the scenario of it.
    #[must_use]
    pub fn open(self, text: &str, path: &str) -> (Vec<Document>, Vec<Diagnostic>) {
        self.open_beside(text, path, &mut qna::NoFiles)
    }

    /// [`Format::open`] for a text that may name other files.
    #[must_use]
    pub fn open_beside(self, text: &str, path: &str, files: &mut dyn qna::Files) -> (Vec<Document>, Vec<Diagnostic>) {
        match self {
            Self::Eliza | Self::Line | Self::Battery => match yaml::open(text, path) {
                Ok(document) => (vec![document], Vec::new()),
                Err(diagnostic) => (Vec::new(), vec![diagnostic]),
            },
            Self::Skunit => skunit::open(text, path),
            Self::Qna => qna::open(text, path, files),
        }
    }

    /// What a document is multiplied by, unless a matrix or the caller has an axis over the same parameter: formats
    /// that have many scenarios of one shape keep them as one document.
    #[must_use]
    pub fn axes(self, document: &Document) -> Vec<Axis> {
        match self {
            Self::Qna => qna::axes(document),
            Self::Eliza | Self::Skunit | Self::Line | Self::Battery => Vec::new(),
        }
    }

    /// Turns a document into a scenario. The findings are in the order of the lines; with an error among them
    /// there is no scenario.
    #[must_use]
    pub fn read(self, document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
        let (script, findings) = match self {
            Self::Eliza => eliza::read(document),
            Self::Skunit => skunit::read(document),
            Self::Qna => qna::read(document),
            Self::Line => line::read(document),
            Self::Battery => battery::read(document),
        };
        refuse_misspelt_checks(script, findings)
    }

    /// The JSON Schema of the format's documents.
    #[must_use]
    pub fn schema(self) -> Value {
        match self {
            Self::Eliza => schema::scenario(),
            Self::Skunit => skunit::schema(),
            Self::Qna => qna::schema(),
            Self::Line => line::schema(),
            Self::Battery => battery::schema(),
        }
    }
}

/// A scenario without a check is a warning of `gabfest check`. It is an error where a check may stand behind an unknown
/// key: the scenario would judge nothing by mistake.
fn refuse_misspelt_checks(script: Option<Script>, mut findings: Vec<Diagnostic>) -> (Option<Script>, Vec<Diagnostic>) {
    let unjudged = script.as_ref().map(|script| &script.scenario).filter(|scenario| !scenario.judges_something());
    let Some((scenario, place)) = unjudged.zip(findings.iter().position(may_hide_a_check)) else {
        return (script, findings);
    };
    let Diagnostic { path, line, column, .. } = &findings[place];
    let message = format!("the scenario `{}` has no check, and this key is unknown", scenario.name);
    let fault = Diagnostic::error(path, *line, *column, message)
        .with_help("a check stands below `evaluations` or `expect`; mend the key or remove it");
    findings.insert(place + 1, fault);
    (None, findings)
}

fn may_hide_a_check(found: &Diagnostic) -> bool {
    let holds_checks = |meant: &str| meant.ends_with("evaluations") || meant.starts_with("expect") || meant == "text";
    found.unknown_key.as_ref().is_some_and(|key| key.meant.as_deref().is_none_or(holds_checks))
}
