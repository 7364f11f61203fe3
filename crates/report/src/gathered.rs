//! Collects what a report needs to know about all trials of a run.

use std::borrow::Cow;

use record::{FailureKind, Summary, summary::Unreadable};

use crate::{Played, Selection};

/// Its size does not grow with the number of trials.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) selection: Selection,
    pub(crate) unreadable: Unreadable,
}

impl Gathered {
    /// In the plan's order.
    pub(crate) fn add(&mut self, played: &Played<'_>) {
        let Played { trial, turns, unreadable } = played;
        match unreadable {
            Some(reason) => self.unreadable.add_transcript(trial, reason),
            None if trial.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Unreadable) => {
                self.unreadable.add_record(trial);
            }
            None => {}
        }
        self.selection.add(trial, turns);
    }

    /// The summary, with the records that cannot be read.
    #[must_use]
    pub(crate) fn complete<'a>(&self, summary: &'a Summary) -> Cow<'a, Summary> {
        if self.unreadable.is_none() {
            return Cow::Borrowed(summary);
        }
        Cow::Owned(Summary { unreadable: self.unreadable.clone(), ..summary.clone() })
    }
}
