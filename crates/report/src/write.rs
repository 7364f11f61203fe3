//! A run's folder: lines as the trials come, pages at the end.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use record::{Summary, summary::Unreadable};
use scenario::Plan;

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

/// Fed with all trials of a run in the plan's order. What it has not finished leaves no file.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    gathered: Gathered,
    lines: Vec<(&'static str, Line, PartFile)>,
    qna: Option<Batch>,
    books: Books,
}

/// What a writer left.
#[derive(Debug)]
pub struct Written {
    pub dir: PathBuf,
    /// By the name of their form.
    pub files: BTreeMap<&'static str, PathBuf>,
    /// Of quality batteries.
    pub workbooks: Vec<PathBuf>,
    /// For [`crate::terminal::summary_text`].
    pub found: Found,
    /// As `report.json` has it.
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
        Ok(Self { dir: dir.to_owned(), gathered: Gathered::default(), lines, qna: None, books: Books::new(dir) })
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

    pub fn finish(self, summary: &Summary) -> Result<Written, Error> {
        let Self { dir, gathered, lines, qna, books } = self;
        let mut files = BTreeMap::new();
        for (name, _, file) in lines {
            files.insert(name, file.finish()?);
        }
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
    /// What people open first.
    #[must_use]
    pub fn report_html(&self) -> PathBuf {
        self.dir.join("report.html")
    }
}
