//! Which conversations a run keeps: long ones take most of a store's disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draws::key;

/// Of the conversations that passed, `sample` keeps about one in so many.
const SAMPLE: u64 = 100;
/// Separates the draw from all others of a trial's seed.
const SALT: u64 = 0x7472_616e_7363_7269;

/// What a run keeps of its conversations. The records of all trials are kept, and every figure comes from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transcripts {
    /// All of them.
    #[default]
    All,
    /// Those that did not pass, and one in a hundred of the others, drawn by their seeds.
    Sample,
    /// Those that did not pass.
    Failures,
}

impl Transcripts {
    pub const NAMES: [&str; 3] = ["all", "sample", "failures"];

    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::All, Self::Sample, Self::Failures].into_iter().find(|one| one.name() == name)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::All => Self::NAMES[0],
            Self::Sample => Self::NAMES[1],
            Self::Failures => Self::NAMES[2],
        }
    }

    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// Whether a conversation that passed is kept. `seed`: that of its trial, so a run that is played again keeps the same.
    #[must_use]
    pub fn keeps_passed(self, seed: u64) -> bool {
        match self {
            Self::All => true,
            Self::Sample => key(&[seed, SALT]).is_multiple_of(SAMPLE),
            Self::Failures => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_one_in_a_hundred() {
        let kept = |of: Transcripts| (0..100_000).filter(|seed| of.keeps_passed(*seed)).count();
        assert_eq!((kept(Transcripts::All), kept(Transcripts::Failures)), (100_000, 0));
        let sample = kept(Transcripts::Sample);
        assert!((900..1_100).contains(&sample), "{sample}");
        for name in Transcripts::NAMES {
            assert_eq!(Transcripts::named(name).map(Transcripts::name), Some(name));
            let json = serde_json::Value::from(name);
            assert_eq!(serde_json::from_value::<Transcripts>(json).ok(), Transcripts::named(name));
        }
    }
}
