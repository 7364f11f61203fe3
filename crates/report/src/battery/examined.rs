//! The results of quality batteries by requirement: conversations, replies, and success by level of error.

use std::collections::BTreeMap;

use record::{
    Finding, Scope, Summary, Trial, Turn,
    battery::{Cell, Histogram, Total, count},
    summary::Rate,
};
use scenario::battery::{LEVELS, Requirement};

use crate::{cases, figures};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Examined {
    /// By the case's place in the plan.
    cases: BTreeMap<u64, BTreeMap<Requirement, Tested>>,
}

/// The results of one requirement over all conversations of a case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tested {
    /// (the requirement held, it was decided)
    pub(crate) conversations: Total,
    /// (passed, decided)
    pub(crate) replies: Total,
    /// Replies that could not be scored.
    pub(crate) undecided: u64,
    pub(crate) levels: Histogram,
}

/// The requirements of one case, in the order of [`Requirement::ALL`].
#[derive(Debug)]
pub(crate) struct Section<'a> {
    pub(crate) case: String,
    pub(crate) rows: Vec<(Requirement, &'a Tested)>,
}

impl Examined {
    /// Whether the trial was one of a battery.
    pub(crate) fn add(&mut self, trial: &Trial, turns: &[Turn]) -> bool {
        let Some(found) = trial.examined_in(turns) else { return false };
        let case = self.cases.entry(trial.case).or_default();
        for judgment in &trial.judgments {
            if let (Scope::Step { .. }, Some(requirement)) = (judgment.scope, Requirement::of_name(&judgment.check)) {
                count(&mut case.entry(requirement).or_default().conversations, judgment.finding);
            }
        }
        for reply in &found.replies {
            let tested = case.entry(reply.cell.requirement).or_default();
            if reply.cell.counted {
                tested.reply(&reply.cell, reply.finding);
            }
        }
        true
    }

    /// In the plan's order. A case without examinations has no section.
    pub(crate) fn sections(&self, summary: &Summary) -> Vec<Section<'_>> {
        self.cases
            .iter()
            .map(|(number, tested)| Section {
                case: cases::find(summary, *number).map_or_else(|| format!("case {number}"), cases::name),
                rows: Requirement::ALL.iter().filter_map(|one| Some((*one, tested.get(one)?))).collect(),
            })
            .filter(|section| !section.rows.is_empty())
            .collect()
    }
}

impl Tested {
    fn reply(&mut self, cell: &Cell, finding: Finding) {
        count(&mut self.replies, finding);
        if let Some(values) = cell.values {
            count(&mut self.levels[values.level()], finding);
        }
        self.undecided += u64::from(matches!(finding, Finding::Inconclusive | Finding::Error));
    }

    /// Of the replies, each taken for itself.
    pub(crate) fn rate(&self) -> Rate {
        statistics::interval(self.replies[0], self.replies[1])
    }

    /// `12/14`, and how many had no score.
    pub(crate) fn replies_text(&self) -> String {
        let [passed, decided] = self.replies;
        let open = if self.undecided > 0 { format!(" + {} not scored", self.undecided) } else { String::new() };
        format!("{}/{}{open}", figures::count(passed), figures::count(decided))
    }

    pub(crate) fn conversations_text(&self) -> String {
        format!("{}/{}", figures::count(self.conversations[0]), figures::count(self.conversations[1]))
    }

    /// The tested levels: the level, passed, decided.
    pub(crate) fn tried(&self) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        let levels = self.levels.iter().enumerate();
        levels.filter(|(_, [_, decided])| *decided > 0).map(|(level, [passed, decided])| (level, *passed, *decided))
    }

    /// `0: 3/4, 5: 1/2`; empty if nothing was garbled.
    pub(crate) fn levels_text(&self) -> String {
        self.tried()
            .map(|(level, passed, decided)| format!("{level}: {passed}/{decided}"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl Default for Tested {
    fn default() -> Self {
        Self { conversations: [0, 0], replies: [0, 0], undecided: 0, levels: [[0, 0]; LEVELS] }
    }
}

/// `ML-U3`, and the later name if it has one.
pub(crate) fn names(requirement: Requirement) -> String {
    let (id, later) = (requirement.id(), requirement.later_name());
    if later.eq_ignore_ascii_case(&id.replace('-', "_")) { id.to_owned() } else { format!("{id} · {later}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_without_examinations_has_no_section() {
        let stored = include_bytes!("../../../statistics/src/stored/version_1.json");
        let summary = statistics::stored::read(stored).unwrap();
        let mut examined = Examined::default();
        examined.cases.entry(0).or_default();
        assert!(examined.sections(&summary).is_empty());
        examined.cases.entry(1).or_default().entry(Requirement::ALL[0]).or_default();
        assert_eq!(examined.sections(&summary).len(), 1);
    }
}
