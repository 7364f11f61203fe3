//! Reads the cassettes of a run and answers calls from them. Only an index is in memory; a line is read when it answers.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use crate::{
    Failed,
    cassette::{
        Taped, difference,
        line::{self, Head, Line, Outcome, Place, VERSION},
    },
    hint,
};

/// The longest line that is read: far above the longest call.
const MOST_LINE_BYTES: u64 = 256 << 20;

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path} cannot be read")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("line {line} of {path} is {found}, and must be {expected}\nhint: {hint}")]
    Line { path: PathBuf, line: u64, found: String, expected: &'static str, hint: &'static str },
}

/// The calls of a recorded run.
#[derive(Debug)]
pub struct Recording {
    files: Vec<(PathBuf, Mutex<File>)>,
    calls: Vec<Indexed>,
    by_trial: HashMap<String, Vec<u32>>,
    /// By trial: the attempt that asks now, and the calls that it has had.
    used: Mutex<HashMap<String, (u32, HashSet<u32>)>>,
    /// Files whose last line was cut.
    cut: Vec<PathBuf>,
}

/// A call, and where its line is.
#[derive(Debug)]
struct Indexed {
    key: String,
    role: Box<str>,
    turn: u32,
    call: u32,
    file: u32,
    from: u64,
    bytes: u32,
}

impl Recording {
    /// Reads the index of all files: each worker of a fleet has written its own. Of each trial only one attempt answers: the one that `counted` names, or else the last one. A last line
    /// without its end is left out, since its process was killed while it wrote it.
    ///
    /// # Errors
    /// A file cannot be read, or a line is no recorded call.
    pub fn open<P: AsRef<Path>>(paths: &[P], counted: &HashMap<String, u32>) -> Result<Self, Error> {
        let (mut files, mut calls, mut cut) = (Vec::new(), Vec::new(), Vec::new());
        for (file, path) in (0_u32..).zip(paths) {
            let path = path.as_ref();
            let (of_file, is_cut) = read(path)?;
            calls.extend(of_file.into_iter().map(|(place, from, bytes)| (place, file, from, bytes)));
            cut.extend(is_cut.then(|| path.to_owned()));
            let open = File::open(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
            files.push((path.to_owned(), Mutex::new(open)));
        }
        let mut last: HashMap<&str, u32> = HashMap::new();
        for (place, ..) in &calls {
            let attempt = last.entry(&place.trial).or_default();
            *attempt = (*attempt).max(place.attempt);
        }
        let answers = |place: &Place| {
            let attempt = counted.get(&place.trial).or_else(|| last.get(place.trial.as_str()));
            attempt == Some(&place.attempt)
        };
        let chosen: Vec<bool> = calls.iter().map(|(place, ..)| answers(place)).collect();
        let mut by_trial: HashMap<String, Vec<u32>> = HashMap::new();
        let mut kept = Vec::new();
        for ((place, file, from, bytes), _) in calls.into_iter().zip(chosen).filter(|(_, chosen)| *chosen) {
            let Place { key, role, model: _, trial, attempt: _, turn, call } = place;
            let number = u32::try_from(kept.len()).unwrap_or(u32::MAX);
            by_trial.entry(trial).or_default().push(number);
            kept.push(Indexed { key, role: role.into_boxed_str(), turn, call, file, from, bytes });
        }
        Ok(Self { files, calls: kept, by_trial, used: Mutex::default(), cut })
    }

    /// The files whose last line was cut: the call that it held is missing.
    #[must_use]
    pub fn cut(&self) -> &[PathBuf] {
        &self.cut
    }

    /// How many calls can be answered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether the trial has a recorded call.
    #[must_use]
    pub fn holds(&self, trial: &str) -> bool {
        self.by_trial.contains_key(trial)
    }

    /// The recorded answer. Each recorded call answers once in an attempt.
    ///
    /// # Errors
    /// The recorded failure, or [`crate::Error::NotRecorded`].
    #[expect(
        clippy::result_large_err,
        reason = "the caller returns it from an async call, which does not box it either"
    )]
    pub(crate) fn answer<R: Taped>(&self, endpoint: &str, model: &str, request: &R) -> Result<R::Reply, Failed> {
        let missing =
            |message: String| Failed::once(crate::Error::NotRecorded { endpoint: endpoint.to_owned(), message });
        let asked = line::asked(request);
        let place = Place::of(request, model, &asked);
        let Some(number) = self.take(&place) else {
            return Err(missing(self.why_not(&place, &asked)));
        };
        let line = self.line(number).map_err(|error| missing(error.to_string()))?;
        match line.outcome {
            Outcome::Reply(kept) => {
                R::recall(kept).map_err(|error| missing(format!("its recorded answer is no answer: {error}")))
            }
            Outcome::Failed { error, effort } => Err(Failed { error, effort }),
        }
    }

    /// The recorded call of this content that the attempt has not had yet: the one at the same place, or else the first.
    fn take(&self, place: &Place) -> Option<u32> {
        let of_trial = self.by_trial.get(&place.trial)?;
        let mut used = lock(&self.used);
        let (attempt, had) = used.entry(place.trial.clone()).or_default();
        if *attempt != place.attempt {
            (*attempt, *had) = (place.attempt, HashSet::new());
        }
        let free = || {
            of_trial
                .iter()
                .copied()
                .filter(|number| !had.contains(number))
                .filter(|number| self.calls.get(*number as usize).is_some_and(|call| call.key == place.key))
        };
        let is_same = |number: &u32| {
            self.calls.get(*number as usize).is_some_and(|call| (call.turn, call.call) == (place.turn, place.call))
        };
        let found = free().find(is_same).or_else(|| free().next())?;
        had.insert(found);
        Some(found)
    }

    /// Why nothing answers, with the difference to the nearest recorded call.
    fn why_not(&self, place: &Place, asked: &Value) -> String {
        let of_trial = self.by_trial.get(&place.trial).map_or(&[][..], Vec::as_slice);
        let calls = || of_trial.iter().filter_map(|number| Some((*number, self.calls.get(*number as usize)?)));
        if of_trial.is_empty() {
            let why = format!("the recording has no call of trial {}", place.trial);
            return hint::with(
                &why,
                Some("the scenario, its parameters, the agent or --repeats differ from the recorded run"),
            );
        }
        if calls().any(|(_, call)| call.key == place.key) {
            let times = calls().filter(|(_, call)| call.key == place.key).count();
            return format!(
                "{} asks it more often than the {times} {} recorded",
                place.role,
                if times == 1 { "time that is" } else { "times that are" }
            );
        }
        let distance = |call: &Indexed| {
            (*call.role != *place.role, call.turn.abs_diff(place.turn), call.call.abs_diff(place.call))
        };
        let nearest = calls().min_by_key(|(_, call)| distance(call));
        let Some(line) = nearest.and_then(|(number, _)| self.line(number).ok()) else {
            return format!("the recording has no such call of {}", place.role);
        };
        let found = if line.place.role != place.role {
            format!("the trial has no recorded call of {}", place.role)
        } else if line.place.model != place.model {
            format!("model: recorded {:?}, asked {:?}", line.place.model, place.model)
        } else {
            difference::first(&line.asked, asked)
        };
        format!(
            "no recorded call of {} in turn {} has this content; the nearest is of turn {} of the same trial: {found}",
            place.role, place.turn, line.place.turn
        )
    }

    fn line(&self, number: u32) -> io::Result<Line> {
        let indexed = self.calls.get(number as usize).ok_or(io::ErrorKind::NotFound)?;
        let (path, file) = self.files.get(indexed.file as usize).ok_or(io::ErrorKind::NotFound)?;
        line_at(file, path, indexed.from, indexed.bytes)
    }
}

/// Reads one line.
pub(super) fn line_at(file: &Mutex<File>, path: &Path, from: u64, bytes: u32) -> io::Result<Line> {
    let mut text = vec![0; bytes as usize];
    let mut file = lock(file);
    file.seek(SeekFrom::Start(from))?;
    file.read_exact(&mut text)?;
    drop(file);
    serde_json::from_slice(&text)
        .map_err(|error| io::Error::other(format!("{} has changed since the run began: {error}", path.display())))
}

/// Every whole line: its place, where it begins, and its length; and whether the last line was cut.
type Whole = (Vec<(Place, u64, u32)>, bool);

/// Reads where each call is.
pub(super) fn read(path: &Path) -> Result<Whole, Error> {
    const EXPECTED: &str = "a recorded call";
    const HINT: &str = "the file was changed after it was recorded; record the run again with `gabfest run … --record`";
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let mut lines = BufReader::new(File::open(path).map_err(unreadable)?);
    let (mut calls, mut from, mut number) = (Vec::new(), 0_u64, 0_u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        let bytes = (&mut lines).take(MOST_LINE_BYTES).read_until(b'\n', &mut line).map_err(unreadable)?;
        number += 1;
        if bytes == 0 || line.last() != Some(&b'\n') {
            return Ok((calls, bytes > 0));
        }
        let bad =
            |found: String, expected, hint| Error::Line { path: path.to_owned(), line: number, found, expected, hint };
        if number == 1 {
            let head: Result<Head, _> = serde_json::from_slice(&line);
            match head {
                Ok(Head { cassette: VERSION }) => {}
                Ok(Head { cassette }) => {
                    let hint = "play it with the version of gabfest that recorded it, or record the run again";
                    return Err(bad(format!("a cassette of version {cassette}"), "one of version 1", hint));
                }
                Err(error) => return Err(bad(format!("no head ({error})"), "the head of a cassette", HINT)),
            }
        } else {
            let place: Place =
                serde_json::from_slice(&line).map_err(|error| bad(format!("no call ({error})"), EXPECTED, HINT))?;
            calls.push((place, from, u32::try_from(bytes).unwrap_or(u32::MAX)));
        }
        from += bytes as u64;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
