//! How well a threshold agrees with the labels of people, as `gabfest validate --json` prints it.

use std::collections::BTreeSet;

use serde::Serialize;
use statistics::threshold::{Best, Confusion, Side, Worth};

/// The results for one measure.
#[derive(Debug, Serialize)]
pub(super) struct Agreement {
    pub(super) measure: String,
    /// The models that gave the scores.
    pub(super) models: BTreeSet<String>,
    pub(super) passes: Side,
    pub(super) threshold: f64,
    pub(super) confusion: Confusion,
    pub(super) worth: Worth,
    /// `null` if no threshold separates better than chance.
    pub(super) best: Option<Best>,
    pub(super) samples: Vec<Scored>,
    /// Texts without a score, which the figures above do not include.
    pub(super) not_scored: Vec<NotScored>,
}

#[derive(Debug, Serialize)]
pub(super) struct Scored {
    pub(super) line: u32,
    pub(super) label: &'static str,
    pub(super) score: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct NotScored {
    pub(super) line: u32,
    pub(super) reason: String,
}
