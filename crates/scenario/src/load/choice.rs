//! What the user chooses of a load; the planner makes a [`Load`](super::Load) of it.

use super::{Pace, Search, USUAL_DROP_AFTER_MICROS};

/// A load as the user chose it.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// At least one.
    pub groups: Vec<GroupChoice>,
    pub warm_up_micros: u64,
    pub drop_after_micros: u64,
    /// The only group searches for the highest rate.
    pub search: Option<Search>,
}

/// A group of a load, and which of the plan's cases it plays.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupChoice {
    pub name: String,
    pub pace: Pace,
    /// Plays only scenarios that have one of these tags. Empty: all.
    pub tags: Vec<String>,
    /// Plays no scenario that has one of these tags.
    pub exclude_tags: Vec<String>,
    /// Plays only cases that have this in their scenario, combination, parameters or persona; capitals do not count.
    pub filter: Option<String>,
    /// Plays only cases that have one of the values of each name.
    pub conditions: Vec<(String, String)>,
    /// How often scenarios are played, by name or tag. Others have the weight of their file.
    pub weights: Vec<(String, f64)>,
}

impl Choice {
    /// All cases at one pace.
    #[must_use]
    pub fn of(name: impl Into<String>, pace: Pace) -> Self {
        let group = GroupChoice {
            name: name.into(),
            pace,
            tags: Vec::new(),
            exclude_tags: Vec::new(),
            filter: None,
            conditions: Vec::new(),
            weights: Vec::new(),
        };
        Self { groups: vec![group], warm_up_micros: 0, drop_after_micros: USUAL_DROP_AFTER_MICROS, search: None }
    }
}
