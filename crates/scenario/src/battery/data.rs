//! Data sets: what a tester says and asks, and the correct answer.

use serde::{Deserialize, Serialize};

/// A piece of information and the questions about it, each in several wordings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSet {
    /// 1 to 9999, unique in a battery.
    pub id: u32,
    pub kind: Kind,
    /// The information to give; for `Co` the question, for `If` the text that the filter should catch. At least one.
    pub information: Vec<String>,
    /// The questions about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// The question to the answering model about the reply; `None`: a yes-or-no question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract: Option<String>,
    /// `None` if the first reply decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Words that a reply must not contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<String>,
}

/// The purpose of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Kind {
    /// Information, then a question about it.
    Qa,
    /// A question about the chatter itself.
    Co,
    /// Information that needs its context.
    Ia,
    /// A question that needs its context.
    Iq,
    /// Input that a filter should catch.
    If,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Text(String),
    Yes(bool),
}

impl Kind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Qa => "QA",
            Self::Co => "CO",
            Self::Ia => "IA",
            Self::Iq => "IQ",
            Self::If => "IF",
        }
    }

    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Qa, Self::Co, Self::Ia, Self::Iq, Self::If].into_iter().find(|kind| kind.name() == name)
    }
}

impl DataSet {
    /// Answered by yes or no.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.extract.is_none()
    }
}
