//! Writes a run's folder: lines as the trials arrive, pages at the end.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use record::{Summary, summary::Unreadable};
use scenario::Plan;
use statistics::{compare::found::Comparison, nights::NightFailure, sentinels::SentinelDrift};

use crate::{
    Error, Form, Found, Played,
    battery::books::Books,
    form::{Make, Screen},
    forms,
    gathered::Gathered,
    part_file::PartFile,
    qna::Batch,
};

type Line = fn(&Played<'_>) -> Option<String>;

/// Receives all trials of a run in the plan's order. Unfinished output leaves no file.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    gathered: Gathered,
    lines: Vec<(&'static str, Line, PartFile)>,
    /// Those that are whole.
    files: BTreeMap<&'static str, PathBuf>,
    qna: Option<Batch>,
    books: Books,
}

/// The result of a writer.
#[derive(Debug)]
pub struct Written {
    pub dir: PathBuf,
    /// By the name of their form.
    pub files: BTreeMap<&'static str, PathBuf>,
    /// Of quality batteries.
    pub workbooks: Vec<PathBuf>,
    /// For [`crate::terminal::summary_text`].
    pub found: Found,
    /// As in `report.json`.
    pub unreadable: Unreadable,
}

impl Writer {
    /// Makes `dir` and those above it if they are missing.
    pub fn create(dir: &Path) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(|source| Error::Write { path: dir.to_owned(), source })?;
        let mut lines = Vec::new();
        for Form { name, file, make, .. } in forms::ALL {
            if let (Make::Lines(line), Some(file)) = (make, file) {
                lines.push((name, line, PartFile::create(dir, file)?));
            }
        }
        let (gathered, files) = (Gathered::default(), BTreeMap::new());
        Ok(Self { dir: dir.to_owned(), gathered, lines, files, qna: None, books: Books::new(dir) })
    }

    /// Writes the pages that show more of the plan than the numbers of the run do.
    #[must_use]
    pub fn with_plan(self, plan: &Plan) -> Self {
        Self { qna: Batch::of(plan), ..self }
    }

    pub fn add(&mut self, played: &Played<'_>) -> Result<(), Error> {
        self.gathered.add(played);
        if let Some(batch) = &mut self.qna {
            batch.add(played.trial, played.turns);
        }
        self.books.add(played.trial, played.turns)?;
        for (_, line, file) in &mut self.lines {
            if let Some(line) = line(played) {
                file.write(&line)?;
            }
        }
        Ok(())
    }

    /// Ends the files of lines, so that they can be read.
    pub fn end_lines(&mut self) -> Result<(), Error> {
        for (name, _, file) in self.lines.drain(..) {
            self.files.insert(name, file.finish()?);
        }
        Ok(())
    }

    /// Lets the pages show how the run compares with an earlier one.
    pub fn compare(&mut self, comparison: Comparison) {
        self.gathered.selection.compare(comparison);
    }

    /// Lets the pages show whether the judge is as in the nights before.
    pub fn sentinels(&mut self, drift: SentinelDrift) {
        self.gathered.selection.sentinels(drift);
    }

    /// The failures of all trials, for the history.
    #[must_use]
    pub fn nightly(&self, summary: &Summary) -> Vec<NightFailure> {
        self.gathered.selection.found().failures.nightly(summary)
    }

    pub fn finish(mut self, summary: &Summary) -> Result<Written, Error> {
        self.end_lines()?;
        let Self { dir, gathered, mut files, qna, books, .. } = self;
        let summary = gathered.complete(summary);
        for Form { name, file, make, .. } in forms::ALL {
            let Some(file) = file else { continue };
            let text = match make {
                Make::Page(render) => Some(render(&summary, &gathered.selection, Screen::PLAIN)?),
                Make::Questions(render) => qna.as_ref().and_then(render),
                Make::Lines(_) | Make::SkunitLog => None,
            };
            if let Some(text) = text {
                let mut part = PartFile::create(&dir, file)?;
                part.write(&text)?;
                files.insert(name, part.finish()?);
            }
        }
        let workbooks = books.finish(&summary)?;
        let found = gathered.selection.found().clone();
        Ok(Written { dir, files, workbooks, found, unreadable: gathered.unreadable })
    }
}

impl Written {
    /// The file that people open first.
    #[must_use]
    pub fn report_html(&self) -> PathBuf {
        self.dir.join("report.html")
    }
}
