//! A run's folder: lines as the trials come, pages at the end.

use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
};

use record::{FailureKind, Summary, Trial, Turn, summary::Unreadable};

use scenario::Plan;

use crate::{
    Found, Page, Selection, battery::books::Books, html, junit, part_file::PartFile, qna::Batch, transcripts_jsonl,
    trials_jsonl,
};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk is full, or the place cannot be written.
    #[error("write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("render report.html")]
    Html(#[from] html::Error),
    #[error("render junit.xml")]
    Junit(#[from] junit::Error),
    #[error("write a workbook")]
    Workbook(#[from] rust_xlsxwriter::XlsxError),
}

/// Fed with all trials of a run in the plan's order. What it has not finished leaves no file.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    trials: PartFile,
    transcripts: PartFile,
    selection: Selection,
    qna: Option<Batch>,
    books: Books,
    unreadable: Unreadable,
}

/// What a writer left.
#[derive(Debug)]
pub struct Written {
    pub dir: PathBuf,
    pub report_html: PathBuf,
    pub report_md: PathBuf,
    pub report_json: PathBuf,
    pub junit_xml: PathBuf,
    pub trials_jsonl: PathBuf,
    pub transcripts_jsonl: PathBuf,
    /// Where the plan asks a knowledge base: what became of its questions.
    pub qna: Option<PathBuf>,
    /// Where it expects ids only: the same as a table.
    pub qna_tsv: Option<PathBuf>,
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
        Ok(Self {
            dir: dir.to_owned(),
            trials: PartFile::create(dir, "trials.jsonl")?,
            transcripts: PartFile::create(dir, "transcripts.jsonl")?,
            selection: Selection::default(),
            qna: None,
            books: Books::new(dir),
            unreadable: Unreadable::default(),
        })
    }

    /// Writes the pages that show more of the plan than the numbers of the run do.
    #[must_use]
    pub fn with_plan(self, plan: &Plan) -> Self {
        Self { qna: Batch::of(plan), ..self }
    }

    pub fn add(&mut self, trial: &Trial, turns: &[Turn]) -> Result<(), Error> {
        if trial.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Unreadable) {
            self.unreadable.add_record(trial);
        }
        self.add_line(trial, turns, transcripts_jsonl::line(trial, turns))
    }

    /// A trial that counts and whose words cannot be read, and why.
    pub fn add_without_words(&mut self, trial: &Trial, reason: &str) -> Result<(), Error> {
        self.unreadable.add_transcript(trial, reason);
        self.add_line(trial, &[], transcripts_jsonl::line_without_words(trial, reason))
    }

    fn add_line(&mut self, trial: &Trial, turns: &[Turn], transcript: Option<String>) -> Result<(), Error> {
        self.selection.add(trial, turns);
        if let Some(batch) = &mut self.qna {
            batch.add(trial, turns);
        }
        self.books.add(trial, turns)?;
        self.trials.write(&trials_jsonl::line(trial))?;
        transcript.map_or(Ok(()), |line| self.transcripts.write(&line))
    }

    pub fn finish(self, summary: &Summary) -> Result<Written, Error> {
        let Self { dir, trials, transcripts, selection, qna, books, unreadable } = self;
        let summary = if unreadable.is_none() {
            Cow::Borrowed(summary)
        } else {
            Cow::Owned(Summary { unreadable: unreadable.clone(), ..summary.clone() })
        };
        let summary = &*summary;
        let trials_jsonl = trials.finish()?;
        let transcripts_jsonl = transcripts.finish()?;
        let page = |page: Page, name| {
            let mut file = PartFile::create(&dir, name)?;
            file.write(&page.render(summary, &selection)?)?;
            file.finish()
        };
        let text = |text: Option<String>, name| {
            let Some(text) = text else { return Ok(None) };
            let mut file = PartFile::create(&dir, name)?;
            file.write(&text)?;
            file.finish().map(Some)
        };
        Ok(Written {
            qna: text(qna.as_ref().and_then(Batch::qna), "report.qna")?,
            qna_tsv: text(qna.as_ref().and_then(Batch::table), "report.qna.tsv")?,
            report_json: page(Page::Json, "report.json")?,
            junit_xml: page(Page::Junit, "junit.xml")?,
            report_md: page(Page::Markdown, "report.md")?,
            report_html: page(Page::Html, "report.html")?,
            trials_jsonl,
            transcripts_jsonl,
            found: selection.found().clone(),
            workbooks: books.finish(summary)?,
            unreadable,
            dir,
        })
    }
}
