//! Why a check cannot be compiled.

/// A check whose definition is faulty. The text is a fragment that fits "failed to {error}".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("compile the pattern: {message}")]
    Pattern { message: String },
    #[error("compile `json_schema`: {message}")]
    Schema { message: String },
    #[error("look for `{field}`: the text is too long ({bytes} bytes) to compare without regard to case")]
    TooLong { field: &'static str, bytes: usize },
    /// A check that nothing can fail would always pass.
    #[error("judge by an empty `{field}`")]
    Empty { field: &'static str },
    #[error("find a group `{name}` in the pattern")]
    Group { name: String },
    #[error("judge a part of the text by `{kind}` in `{field}`: it is not about a text")]
    NotAboutText { kind: &'static str, field: &'static str },
    #[error("read `{field}`: {message}")]
    Invalid { field: &'static str, message: String },
    #[error("find the language `{code}`")]
    Language { code: String },
}

impl Error {
    /// What the author of the check can do.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Pattern { .. } => "patterns run in linear time, so look-around and backreferences are not supported",
            Self::Schema { .. } => "a JSON Schema of any draft from 4 on, without references to other documents",
            Self::TooLong { .. } => "let capitals count, or look for a shorter text",
            Self::Empty { .. } => "write what it must be; a check that nothing can fail would always pass",
            Self::Group { .. } => "name a group like this: `(?<name>…)`",
            Self::NotAboutText { .. } => {
                "nest checks of a text: `equals`, `contains`, `regex_match`, `number` and others"
            }
            Self::Invalid { .. } => "docs/evaluators.md shows what you can write",
            Self::Language { .. } => {
                "use the ISO 639 code of one of about seventy languages, such as `en`, `de` or `jpn`"
            }
        }
    }
}
