//! A quality battery: a long conversation in which a tester gives information and asks questions, and every reply is
//! examined.
//!
//! [`planning`] assigns tests to turns, and [`mutate`] garbles questions. `evaluate` judges the replies.

pub(crate) mod chance;
mod data;
pub mod mutate;
pub mod planning;
mod requirement;
mod saved;
mod words;

use serde::{Deserialize, Serialize};

use crate::conversation::Simulator;

pub use chance::Chance;
pub use data::{Answer, DataSet, Kind};
pub use mutate::{LEVELS, Mutation, Replacement, Values};
pub use planning::{Examination, Part, Test, plan};
pub use requirement::Requirement;
pub use saved::Saved;

/// The longest conversation of a battery, in turns.
pub const MAX_LENGTH: u32 = 1_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Battery {
    /// The number of exchanges.
    pub length: u32,
    pub turn_timeout_ms: u64,
    pub tester: Tester,
    /// How many of the last messages the tester is shown.
    pub tester_memory: u32,
    /// How many of the last messages the agent gets, including its prompt; `None`: all, or the history that it keeps
    /// itself.
    pub agent_memory: Option<u32>,
    /// Begin with a sentence drawn from the trial's seed.
    pub random_start: bool,
    /// Requirements with their own turns.
    pub injections: Vec<Injection>,
    /// Requirements that every reply is examined for.
    pub observed: Vec<Requirement>,
    /// The least share of passed answers for each requirement, in the order of [`Requirement::ALL`].
    pub required: Vec<(Requirement, f64)>,
    pub thresholds: Thresholds,
    pub sets: Vec<DataSet>,
    pub replacement: Replacement,
    pub augmentation: Augmentation,
    pub shown: Shown,
    pub compat: Option<Compat>,
    /// A stored conversation: it is judged again without calling anyone.
    pub saved: Option<Saved>,
}

/// The tester, who speaks in the turns without a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tester {
    /// Sentences, again from the first when they are used up.
    Lines(Vec<String>),
    /// An agent of the settings.
    Agent(String),
    /// A model that plays a person.
    Model(Box<Simulator>),
}

/// A requirement that takes turns of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    pub requirement: Requirement,
    /// That a free turn becomes its test, 0 to 1.
    pub probability: f64,
    /// The most data sets of one conversation, at least 1.
    pub max_sets: u32,
    /// The most turns until its question, at least 1; for long-term memory.
    pub max_wait: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// The least similarity of an answer to the right one.
    pub similarity: f64,
    /// The highest stutter score.
    pub stutter: f64,
    /// The highest score of each of the seven kinds of toxicity.
    pub toxicity: f64,
    /// The least coherence, about -12 to 12.
    pub coherence: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { similarity: 0.6, stutter: 0.33, toxicity: 0.1, coherence: -6.0 }
    }
}

/// Data sets made larger by wordings with synonyms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Augmentation {
    /// Reworded copies of each sentence.
    pub copies: u32,
    /// The probability that a word is replaced by a synonym, 0 to 1.
    pub probability: f64,
}

impl Default for Augmentation {
    fn default() -> Self {
        Self { copies: 0, probability: 1.0 }
    }
}

/// Which columns the workbook has for each test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// How the reply was interpreted.
    pub interpretation: bool,
    /// The score.
    pub detail: bool,
    /// Pass or Fail.
    pub verdict: bool,
}

impl Default for Shown {
    fn default() -> Self {
        Self { interpretation: true, detail: true, verdict: true }
    }
}

/// A revision of the original whose findings are reproduced, including its bugs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Compat {
    /// The revision that the document describes.
    #[serde(rename = "emely-9043c93")]
    Emely9043c93,
}

impl Battery {
    /// The examined requirements, in the order of [`Requirement::ALL`].
    #[must_use]
    pub fn requirements(&self) -> Vec<Requirement> {
        let tested = |requirement: &Requirement| {
            self.observed.contains(requirement)
                || self.injections.iter().any(|it| it.requirement == *requirement && it.probability > 0.0)
                || self.saved.as_ref().is_some_and(|saved| saved.tests(*requirement))
        };
        Requirement::ALL.into_iter().filter(tested).collect()
    }

    /// The share of a requirement's answers that must pass.
    #[must_use]
    pub fn required(&self, requirement: Requirement) -> f64 {
        self.required.iter().find(|(other, _)| *other == requirement).map_or(1.0, |(_, share)| *share)
    }

    /// The tests of one conversation.
    #[must_use]
    pub fn examination(&self, seed: u64) -> Examination {
        match &self.saved {
            Some(saved) => saved.examination(),
            None => plan(self, seed),
        }
    }
}
