//! Writes a cassette: one line for each call, appended as soon as the call has ended.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

use serde_json::Value;

use crate::{
    Failed,
    cassette::{
        Taped,
        line::{self, Head, Line, Outcome, Place, VERSION},
    },
};

/// How far back the end of the last whole line is looked for at once.
const STEP_BYTES: u64 = 64 << 10;

/// Appends calls to a file. It holds no call in memory, and whatever was appended survives the end of the process.
///
/// [`Recorder::default`] writes nothing until [`Recorder::begin`] names the file.
#[derive(Debug, Default)]
pub struct Recorder {
    file: Mutex<Option<(PathBuf, File)>>,
    /// Why a call could not be written, the first time.
    trouble: OnceLock<String>,
}

impl Recorder {
    /// Opens the file, or creates it. A last line that was cut, since its process was killed, is removed.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let recorder = Self::default();
        recorder.begin(path)?;
        Ok(recorder)
    }

    /// Writes to this file from now on.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn begin(&self, path: &Path) -> io::Result<()> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let whole = end_of_last_line(&mut file)?;
        file.set_len(whole)?;
        if whole == 0 {
            let head = serde_json::to_string(&Head { cassette: VERSION })?;
            file.write_all(format!("{head}\n").as_bytes())?;
        }
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some((path.to_owned(), file));
        Ok(())
    }

    /// Appends a call of a trial and what came of it, without keys. Other calls, such as those of a preflight, are not kept.
    pub(crate) fn keep<R: Taped>(&self, model: &str, request: &R, answer: &Result<R::Reply, Failed>) {
        let asked = line::asked(request);
        let place = Place::of(request, model, &asked);
        if !place.trial.is_empty() {
            self.append::<R>(place, asked, answer);
        }
    }

    /// Why the cassette is incomplete.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.trouble.get().map(|why| format!("the recording is incomplete: {why}"))
    }

    pub(super) fn append<R: Taped>(&self, place: Place, asked: Value, answer: &Result<R::Reply, Failed>) {
        if let Err(error) = self.write::<R>(place, asked, answer) {
            let _ = self.trouble.set(error.to_string());
        }
    }

    fn write<R: Taped>(&self, place: Place, asked: Value, answer: &Result<R::Reply, Failed>) -> io::Result<()> {
        let outcome = match answer {
            Ok(reply) => Outcome::Reply(R::keep(reply)?),
            Err(Failed { error, effort }) => Outcome::Failed { error: error.clone(), effort: *effort },
        };
        let mut written = serde_json::to_value(Line { place, asked, outcome })?;
        for part in ["reply", "failed"] {
            if let Some(part) = written.get_mut(part) {
                line::redact_texts(part);
            }
        }
        let mut text = written.to_string();
        text.push('\n');
        // One call of the system for the whole line: a process that is killed leaves whole lines, and at most one cut one.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((path, file)) = file.as_mut() else { return Ok(()) };
        file.write_all(text.as_bytes()).map_err(|error| io::Error::other(format!("write {}: {error}", path.display())))
    }
}

/// The length of the file up to its last line break.
fn end_of_last_line(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut buffer = Vec::new();
    while end > 0 {
        let from = end.saturating_sub(STEP_BYTES);
        file.seek(SeekFrom::Start(from))?;
        buffer.clear();
        file.take(end - from).read_to_end(&mut buffer)?;
        if let Some(last) = memchr::memrchr(b'\n', &buffer) {
            return Ok(from + last as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}
