//! A form of a report: its name, its file in a run's folder, and how it is made. The list of all forms is in [`crate::forms`].

use record::{Summary, Trial, Turn};

use crate::{Error, Selection, qna::Batch};

/// Each form's file has one as its constant `FORM`.
#[derive(Debug)]
pub struct Form {
    /// As `gabfest report --format` takes it.
    pub name: &'static str,
    /// For `--help`.
    pub about: &'static str,
    /// In a run's folder. Forms without a file are made on request.
    pub file: Option<&'static str>,
    pub(crate) make: Make,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Make {
    /// One text, rendered from the summary and the selection of trials.
    Page(fn(&Summary, &Selection, Screen) -> Result<String, Error>),
    /// A line for each trial, in the plan's order.
    Lines(fn(&Played<'_>) -> Option<String>),
    /// One text about the questions of a knowledge base.
    Questions(fn(&Batch) -> Option<String>),
    /// The whole transcript, in the plan's order, under the headings of skUnit.
    SkunitLog,
}

/// A trial with its turns.
#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    pub trial: &'a Trial,
    pub turns: &'a [Turn],
    /// Why there are no turns, if they cannot be read.
    pub unreadable: Option<&'a str>,
}

/// The screen of a page.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    pub color: bool,
    /// In columns.
    pub width: usize,
}

impl Screen {
    /// For a file, or without a terminal.
    pub const PLAIN: Self = Self { color: false, width: 100 };
}

impl Form {
    /// Whether it shows more of the plan than the summary has.
    #[must_use]
    pub fn needs_plan(&self) -> bool {
        matches!(self.make, Make::Questions(_) | Make::SkunitLog)
    }

    /// The whole text of a form that is one page; `None` for other forms.
    pub fn page(&self, summary: &Summary, selection: &Selection, screen: Screen) -> Option<Result<String, Error>> {
        match self.make {
            Make::Page(render) => Some(render(summary, selection, screen)),
            Make::Lines(_) | Make::Questions(_) | Make::SkunitLog => None,
        }
    }
}
