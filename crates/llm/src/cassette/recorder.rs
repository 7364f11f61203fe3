//! Writes a cassette: one line for each call, appended as soon as the call has ended.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File, OpenOptions},
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

/// How the names of cassettes in a folder end.
const ENDING: &str = ".calls.jsonl";
/// A worker plays few runs at once; the files of others are opened again when they are needed.
const MOST_OPEN: usize = 8;

/// Appends calls to files. It holds no call in memory, and whatever was appended survives the end of the process.
///
/// [`Recorder::default`] writes nothing until [`Recorder::begin`] names the file.
#[derive(Debug, Default)]
pub struct Recorder {
    files: Mutex<Files>,
    /// Why a call could not be written, the first time.
    trouble: OnceLock<String>,
}

#[derive(Debug, Default)]
enum Files {
    #[default]
    None,
    /// Of one run.
    One(PathBuf, File),
    /// One for each run, by its id.
    Folder { folder: PathBuf, writer: String, open: BTreeMap<String, (PathBuf, File)> },
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
        let file = open(path)?;
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = Files::One(path.to_owned(), file);
        Ok(())
    }

    /// Writes a file for each run to a folder. Several writers with different names can share it.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn in_folder(folder: &Path, writer: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        // A folder that cannot be written is found now, and not in the first conversation.
        let probe = folder.join(format!(".{}.probe", of_file_name(writer)));
        fs::write(&probe, "")?;
        fs::remove_file(&probe)?;
        let (folder, writer, open) = (folder.to_owned(), of_file_name(writer), BTreeMap::new());
        Ok(Self { files: Mutex::new(Files::Folder { folder, writer, open }), trouble: OnceLock::new() })
    }

    /// Appends a call of a trial and what came of it, without keys. Other calls, such as those of a preflight, are not kept.
    pub(crate) fn keep<R: Taped>(&self, model: &str, request: &R, answer: &Result<R::Reply, Failed>) {
        let asked = line::asked(request);
        let place = Place::of(request, model, &asked);
        if place.trial.is_empty() {
            return;
        }
        if let Err(error) = self.write::<R>(&request.context().run, place, asked, answer) {
            let _ = self.trouble.set(error.to_string());
        }
    }

    /// Why the cassette is incomplete.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.trouble.get().map(|why| format!("the recording is incomplete: {why}"))
    }

    fn write<R: Taped>(
        &self,
        run: &str,
        place: Place,
        asked: Value,
        answer: &Result<R::Reply, Failed>,
    ) -> io::Result<()> {
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
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((path, file)) = files.of(run)? else { return Ok(()) };
        file.write_all(text.as_bytes()).map_err(|error| failed(path, &error))
    }
}

impl Files {
    /// The file of a run.
    fn of(&mut self, run: &str) -> io::Result<Option<(&Path, &mut File)>> {
        match self {
            Self::None => Ok(None),
            Self::One(path, file) => Ok(Some((path, file))),
            Self::Folder { folder, writer, open: files } => {
                if !files.contains_key(run) {
                    if files.len() >= MOST_OPEN {
                        files.clear();
                    }
                    let path = folder.join(format!("{}.{writer}{ENDING}", of_file_name(run)));
                    let file = open(&path).map_err(|error| failed(&path, &error))?;
                    files.insert(run.to_owned(), (path, file));
                }
                Ok(files.get_mut(run).map(|(path, file)| (path.as_path(), file)))
            }
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("write {}: {error}", path.display()))
}

/// Opens a cassette behind its last whole line.
fn open(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let whole = end_of_last_line(&mut file)?;
    file.set_len(whole)?;
    if whole == 0 {
        let head = serde_json::to_string(&Head { cassette: VERSION })?;
        file.write_all(format!("{head}\n").as_bytes())?;
    }
    Ok(file)
}

/// Names of workers and ids of runs can have slashes. Different names stay different, and have no dot.
fn of_file_name(name: &str) -> String {
    let mut written = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"_-".contains(&byte) {
            written.push(char::from(byte));
        } else {
            let _ = write!(written, "={byte:02x}");
        }
    }
    written
}

/// The cassettes of a run in a folder, of all its writers.
///
/// # Errors
/// The folder cannot be read.
pub fn in_folder(folder: &Path, run: &str) -> io::Result<Vec<PathBuf>> {
    let begin = format!("{}.", of_file_name(run));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with(&begin) && name.ends_with(ENDING)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
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
