//! The folder `batteries` of a run: for each case a workbook a report and a summary, and all scores as CSV.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use formats::battery::saved;
use record::{Summary, Trial, Turn};
use scenario::battery::Saved;

use super::{Sheet, Totals, csv, workbook};
use crate::{Error, cases, part_file::PartFile};

const FOLDER: &str = "batteries";
/// How many sheets are kept over all cases; later runs are only in the summaries.
const MOST_SHEETS: usize = 500;
/// Conversations that are written as text; all of them are in the transcripts.
const MOST_CONVERSATIONS: u32 = 1_000;

/// Receives all trials of a run, and ignores those that are not batteries.
#[derive(Debug)]
pub(crate) struct Books {
    dir: PathBuf,
    /// By the case's place in the plan.
    cases: BTreeMap<u64, Book>,
    sheets: usize,
    conversations: u32,
    scores: Option<PartFile>,
}

#[derive(Debug, Default)]
struct Book {
    totals: Totals,
    sheets: Vec<(u32, Sheet)>,
    /// Conversations under the case's id, until its name is known, and the repeats that they are.
    conversations: Vec<(PathBuf, u32)>,
}

impl Books {
    pub(crate) fn new(run: &Path) -> Self {
        Self { dir: run.join(FOLDER), cases: BTreeMap::new(), sheets: 0, conversations: 0, scores: None }
    }

    pub(crate) fn add(&mut self, trial: &Trial, turns: &[Turn]) -> Result<(), Error> {
        let Some(examined) = trial.examined_in(turns) else { return Ok(()) };
        let sheet = Sheet::of(&examined, turns);
        let id = trial.case_id.as_str();
        if self.scores.is_none() {
            fs::create_dir_all(&self.dir).map_err(|source| Error::Write { path: self.dir.clone(), source })?;
            let mut file = PartFile::create(&self.dir, "scores.csv")?;
            file.write(&csv::text(&[csv::SCORES]))?;
            self.scores = Some(file);
        }
        if let Some(file) = &mut self.scores {
            file.write(&csv::scores(id, trial.repeat, &examined.replies))?;
        }
        let book = self.cases.entry(trial.case).or_default();
        if self.conversations < MOST_CONVERSATIONS {
            self.conversations += 1;
            let said = |turn: &Turn| (turn.user.clone(), turn.agent.clone().unwrap_or_default());
            let saved =
                Saved { exchanges: turns.iter().map(said).collect(), examination: examined.head.examination.clone() };
            let mut file = PartFile::create(&self.dir, &format!("{id}-conversation-{}.txt", trial.repeat))?;
            file.write(&saved::write(&saved))?;
            book.conversations.push((file.finish()?, trial.repeat));
        }
        book.totals.add(&sheet);
        if self.sheets < MOST_SHEETS {
            self.sheets += 1;
            book.sheets.push((trial.repeat, sheet));
        }
        Ok(())
    }

    /// Writes the workbooks and returns their paths.
    pub(crate) fn finish(self, summary: &Summary) -> Result<Vec<PathBuf>, Error> {
        let Self { dir, cases, scores, .. } = self;
        let Some(scores) = scores else { return Ok(Vec::new()) };
        scores.finish()?;
        let (mut written, mut names) = (Vec::new(), BTreeSet::new());
        let mut histograms = PartFile::create(&dir, "histograms.csv")?;
        histograms.write(&csv::text(&[csv::HISTOGRAMS]))?;
        for (number, book) in &cases {
            let case = cases::find(summary, *number);
            let id = case.map_or_else(|| number.to_string(), |case| case.id.to_string());
            let mut name = case.map_or_else(|| id.clone(), |case| file_name(&cases::full_name(case)));
            if name.is_empty() || !names.insert(name.clone()) {
                name = format!("{name}-{id}");
            }
            for (path, repeat) in &book.conversations {
                let to = dir.join(format!("{name}-conversation-{repeat}.txt"));
                fs::rename(path, &to).map_err(|source| Error::Write { path: to, source })?;
            }
            histograms.write(&csv::histograms(&id, &book.totals))?;
            let pages = [("report", workbook::report(&book.sheets)), ("summary", workbook::summary(&book.totals))];
            for (kind, bytes) in pages {
                let mut file = PartFile::create(&dir, &format!("{name}_{kind}.xlsx"))?;
                file.write_bytes(&bytes?)?;
                written.push(file.finish()?);
            }
        }
        histograms.finish()?;
        Ok(written)
    }
}

/// The case's name in characters that every file system accepts. Two names may become equal.
pub(crate) fn file_name(name: &str) -> String {
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
    let words: String = name.to_lowercase().chars().map(plain).take(60).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-")
}
