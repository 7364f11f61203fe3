//! Answers of earlier rounds: a question that a model has answered for the same trial and round is not asked again.

use std::{
    collections::HashMap,
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    Failed,
    cassette::{
        Error, Recorder, Taped,
        line::{self, Outcome, Place},
        recording::{line_at, read},
    },
};

/// A cassette that is read and appended to. Failures are not kept, so that they are asked again.
///
/// Answers of one attempt never serve another one: repeats share no answers.
#[derive(Debug)]
pub struct Cache {
    path: PathBuf,
    file: Mutex<File>,
    /// Where the latest answer is, by key, trial, attempt and call.
    earlier: HashMap<(String, String, u32, u32), (u64, u32)>,
    recorder: Recorder,
    found: AtomicU64,
    asked: AtomicU64,
}

impl Cache {
    /// Opens the file, or creates it. `fresh`: asks everything again; later rounds use the new answers.
    ///
    /// # Errors
    /// The file cannot be read or written, or a line is no recorded call.
    pub fn open(path: &Path, fresh: bool) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let recorder = Recorder::open(path).map_err(unreadable)?;
        let mut earlier = HashMap::new();
        if !fresh {
            for (Place { key, trial, attempt, call, .. }, from, bytes) in read(path)?.0 {
                earlier.insert((key, trial, attempt, call), (from, bytes));
            }
        }
        let file = Mutex::new(File::open(path).map_err(unreadable)?);
        let (found, asked) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { path: path.to_owned(), file, earlier, recorder, found, asked })
    }

    /// How many questions had an answer, and how many were asked.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.found.load(Ordering::Relaxed), self.asked.load(Ordering::Relaxed))
    }

    /// The earlier answer.
    pub(crate) fn find<R: Taped>(&self, model: &str, request: &R) -> Option<R::Reply> {
        let Place { key, trial, attempt, call, .. } = Place::of(request, model, &line::asked(request));
        let (from, bytes) = self.earlier.get(&(key, trial, attempt, call))?;
        let Outcome::Reply(kept) = line_at(&self.file, &self.path, *from, *bytes).ok()?.outcome else { return None };
        let reply = R::recall(kept).ok()?;
        self.found.fetch_add(1, Ordering::Relaxed);
        Some(reply)
    }

    /// Keeps an answer.
    pub(crate) fn keep<R: Taped>(&self, model: &str, request: &R, answer: &Result<R::Reply, Failed>) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if answer.is_ok() {
            self.recorder.keep(model, request, answer);
        }
    }
}
