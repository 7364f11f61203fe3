//! `length`: the number of words, characters, sentences or lines of the text.

use scenario::check::{self, LengthUnit};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::{error::Error, evaluator::Immediate, outcome::Outcome, range, subject::Subject};

#[derive(Debug)]
pub(crate) struct Length {
    unit: LengthUnit,
    min: Option<u64>,
    max: Option<u64>,
}

impl Length {
    pub(crate) fn new(rule: &check::Length) -> Result<Self, Error> {
        let (min, max) = (rule.min.map(|min| min.0), rule.max.map(|max| max.0));
        range::check("min", min, max)?;
        Ok(Self { unit: rule.unit, min, max })
    }
}

impl Immediate for Length {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        let text = subject.reply.trim();
        let count = match self.unit {
            LengthUnit::Words => text.unicode_words().count(),
            LengthUnit::Characters => text.graphemes(true).count(),
            LengthUnit::Sentences => text.unicode_sentences().count(),
            LengthUnit::Lines => text.lines().filter(|line| !line.trim().is_empty()).count(),
        } as u64;
        let holds = self.min.is_none_or(|min| count >= min) && self.max.is_none_or(|max| count <= max);
        let range = range::shown(self.min, self.max);
        Outcome::decided(holds, format!("the text has {count} {}, expected {range}", self.unit.name()))
    }
}
