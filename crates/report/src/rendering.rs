//! One form of a report, made while the trials of a run come, without a folder.

use record::Summary;
use scenario::Plan;
use statistics::{compare::found::Comparison, sentinels::SentinelDrift};

use crate::{
    Error, Form, Played,
    form::{Make, Screen},
    gathered::Gathered,
    qna::Batch,
    skunit::Log,
};

#[derive(Debug)]
pub struct Rendering {
    make: Make,
    gathered: Gathered,
    batch: Option<Batch>,
    log: Option<Log>,
}

impl Rendering {
    /// `plan` for forms that need it.
    #[must_use]
    pub fn of(form: &Form, plan: Option<Plan>) -> Self {
        let (mut batch, mut log) = (None, None);
        match form.make {
            Make::Questions(_) => batch = plan.as_ref().and_then(Batch::of),
            Make::SkunitLog => log = plan.map(Log::new),
            Make::Page(_) | Make::Lines(_) => {}
        }
        Self { make: form.make, gathered: Gathered::default(), batch, log }
    }

    /// Lets a page show how the run compares with an earlier one.
    pub fn compare(&mut self, comparison: Comparison) {
        self.gathered.selection.compare(comparison);
    }

    /// Lets a page show whether the judge is as in the nights before.
    pub fn sentinels(&mut self, drift: SentinelDrift) {
        self.gathered.selection.sentinels(drift);
    }

    /// In the plan's order. The part of the text that is ready.
    pub fn add(&mut self, played: &Played<'_>) -> Option<String> {
        match self.make {
            Make::Page(_) => self.gathered.add(played),
            Make::Lines(line) => return line(played),
            Make::Questions(_) => {
                if let Some(batch) = &mut self.batch {
                    batch.add(played.trial, played.turns);
                }
            }
            Make::SkunitLog => return self.log.as_mut().map(|log| log.add(played.trial, played.turns)),
        }
        None
    }

    /// The rest of the text; `Ok(None)` if the run has nothing for this form.
    pub fn finish(self, summary: &Summary, screen: Screen) -> Result<Option<String>, Error> {
        match self.make {
            Make::Page(render) => render(&self.gathered.complete(summary), &self.gathered.selection, screen).map(Some),
            Make::Lines(_) => Ok(Some(String::new())),
            Make::Questions(render) => Ok(self.batch.as_ref().and_then(render)),
            Make::SkunitLog => Ok(self.log.map(|_| String::new())),
        }
    }
}
