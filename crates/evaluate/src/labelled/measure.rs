//! The measure of a labelled text.

use scenario::battery::Thresholds;

use crate::scorer::TOXICITY;

/// The measures of batteries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelledMeasure {
    Similarity,
    NextSentence,
    /// An index into [`TOXICITY`].
    Toxicity(usize),
    /// How similar the right answer and the answering part of a reply are.
    Answer,
}

impl LabelledMeasure {
    pub fn all() -> impl Iterator<Item = Self> {
        let kinds = (0..TOXICITY.len()).map(Self::Toxicity);
        [Self::Similarity, Self::NextSentence, Self::Answer].into_iter().chain(kinds)
    }

    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|measure| measure.name() == name)
    }

    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Similarity => "similarity".to_owned(),
            Self::NextSentence => "next_sentence".to_owned(),
            Self::Toxicity(kind) => format!("toxicity.{}", TOXICITY[kind]),
            Self::Answer => "answer".to_owned(),
        }
    }

    /// The roles of its texts, in order.
    #[must_use]
    pub fn texts(self) -> &'static [&'static str] {
        match self {
            Self::Similarity => &["the right text", "the text to judge"],
            Self::NextSentence => &["what was said before", "the reply"],
            Self::Toxicity(_) => &["the text"],
            Self::Answer => &["the question", "the reply", "the right answer"],
        }
    }

    /// The threshold of a battery that applies to the measure, with its key.
    #[must_use]
    pub fn threshold(self, thresholds: &Thresholds) -> (&'static str, f64) {
        match self {
            Self::Similarity | Self::Answer => ("similarity", thresholds.similarity),
            Self::NextSentence => ("coherence", thresholds.coherence),
            Self::Toxicity(_) => ("toxicity", thresholds.toxicity),
        }
    }

    /// `true`: scores at or below the threshold pass; otherwise scores at or above it.
    #[must_use]
    pub fn is_harm(self) -> bool {
        matches!(self, Self::Toxicity(_))
    }
}
