//! Finds and reads the files that a user names. Only this file and its folder access the disk.
//!
//! The name of a file determines its kind, or its text if the name is ambiguous: see `kind`. A faulty file is reported
//! and never stops the reading.

mod beside;
mod kind;
mod questions;
mod text;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use scenario::{Diagnostic, Format, MatrixFile, Reading, ScenarioFile};
use yaml::{Document, Findings};

use self::{
    beside::MAX_FOLDERS,
    kind::Kind,
    text::{is_stdin, real, shown},
};
use crate::{
    all::{ALL, STANDARD_INPUT, without_ending},
    environment,
    given::Given,
    matrix, persona,
};

pub use beside::Beside;
pub use questions::{knowledge_base, questions};
pub use text::text_of;

/// A folder with this file holds a run. Its `report.qna` and similar files are results, not scenarios.
const OF_A_RUN: &str = "trials.jsonl";

/// Reads files and folders, folders with all that is in them.
#[must_use]
pub fn read(paths: &[PathBuf]) -> Reading {
    let mut reader = Reader::default();
    for path in paths {
        reader.find(path);
    }
    let found = std::mem::take(&mut reader.found);
    // Bases before the matrices that name them.
    for (real, file) in found.iter().filter(|(_, file)| matches!(file.kind, Kind::Scenario(_))) {
        reader.scenario(real, file);
    }
    reader.ask_imported_once();
    for (_, file) in found.iter().filter(|(_, file)| matches!(file.kind, Kind::Matrix)) {
        reader.matrix(file);
    }
    for (_, file) in found.iter().filter(|(_, file)| matches!(file.kind, Kind::Persona)) {
        reader.personas(file);
    }
    reader.reading
}

#[derive(Default)]
struct Reader {
    /// With their real paths, in the order of their discovery.
    found: Vec<(PathBuf, Found)>,
    /// The index in the list above, by real path.
    places: BTreeMap<PathBuf, usize>,
    /// The scenarios of each file, by its real path; `None` for a file with faults.
    scenarios: BTreeMap<PathBuf, Option<Range<usize>>>,
    /// Knowledge bases with the real paths of their imports, in reading order.
    imports: Vec<(PathBuf, BTreeSet<PathBuf>)>,
    reading: Reading,
}

struct Found {
    path: PathBuf,
    kind: Kind,
    /// The user named the file itself, not only a folder around it.
    named: bool,
    /// The outermost folder around it that the user named: all of its files may be imported.
    root: Option<PathBuf>,
}

impl Found {
    /// The folder with all files that this one may name: the user's, or else its own.
    fn root(&self) -> &Path {
        self.root.as_deref().or(self.path.parent()).unwrap_or(Path::new(""))
    }
}

impl Reader {
    fn find(&mut self, path: &Path) {
        if is_stdin(path) {
            return self.add(path.to_path_buf(), Kind::Scenario(STANDARD_INPUT), None);
        }
        let fault = |message: &str, help: &str| Diagnostic::error(shown(path), 0, 0, message).with_help(help);
        match fs::metadata(path) {
            Err(error) => {
                let help = "name scenario files, matrix files, or folders that contain some";
                self.report(fault(&format!("cannot be read: {error}"), help));
            }
            Ok(metadata) if metadata.is_dir() => {
                // The folder's files may have been found before.
                if !self.walk(path, path, 0) {
                    let help = "scenario files end in `.scenario.yaml`, matrix files in `.matrix.yaml`";
                    self.report(fault("the folder contains no scenario, matrix or persona", help));
                }
            }
            Ok(metadata) if metadata.is_file() => match kind::of_named(path) {
                Some(kind) => {
                    self.add(path.to_path_buf(), kind, None);
                    // The persona library beside a scenario belongs to it.
                    if let Some(folder) = path.parent().map(|folder| folder.join("personas")).filter(|it| it.is_dir()) {
                        self.walk(&folder, &folder, 0);
                    }
                }
                None => self.report(fault("is not a scenario file", &format!("scenario files end in {}", endings()))),
            },
            Ok(_) => self.report(fault("is neither a file nor a folder", "name scenario files or folders")),
        }
    }

    /// Returns whether there was anything to read below the `root` that the user named.
    fn walk(&mut self, root: &Path, folder: &Path, depth: usize) -> bool {
        let mut held = false;
        let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                self.report(Diagnostic::error(shown(folder), 0, 0, format!("cannot be read: {error}")));
                return true;
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < MAX_FOLDERS && !path.join(OF_A_RUN).is_file() {
                    held |= self.walk(root, &path, depth + 1);
                }
            } else if path.is_file() {
                if let Some(kind) = kind::by_name(&path).or_else(|| kind::by_content(&path)) {
                    self.add(path, kind, Some(root));
                    held = true;
                }
            } else if kind::by_name(&path).is_some() && !path.is_dir() {
                self.report(not_a_file(&path));
                held = true;
            }
        }
        held
    }

    /// Without a `root` the user named the file itself.
    fn add(&mut self, path: PathBuf, kind: Kind, root: Option<&Path>) {
        let real = real(&path);
        if let Some(place) = self.places.get(&real) {
            let known = &mut self.found[*place].1;
            known.named |= root.is_none();
            if let Some(root) = root.filter(|root| known.path.starts_with(root) && known.root().starts_with(root)) {
                known.root = Some(root.to_path_buf());
            }
            return;
        }
        self.places.insert(real.clone(), self.found.len());
        self.found.push((real, Found { path, kind, named: root.is_none(), root: root.map(Path::to_path_buf) }));
    }

    fn personas(&mut self, file: &Found) {
        if let Some(mut document) = self.open(&file.path) {
            let mut beside = Beside::below(file.root());
            let diagnostics = persona::read(&mut document, &mut beside, &mut self.reading.personas);
            self.reading.diagnostics.extend(diagnostics);
        }
    }

    fn scenario(&mut self, real: &Path, file: &Found) -> Option<Range<usize>> {
        let Kind::Scenario(format) = file.kind else { return None };
        if let Some(known) = self.scenarios.get(real) {
            return known.clone();
        }
        let range = self.read_scenarios(file, format);
        self.scenarios.insert(real.to_path_buf(), range.clone());
        range
    }

    /// All scenarios of a file; `None` if one of them has errors.
    fn read_scenarios(&mut self, file: &Found, format: &'static dyn Format) -> Option<Range<usize>> {
        let text = self.text(&file.path, format.max_bytes())?;
        self.open_scenarios(&text, file, format)
    }

    fn open_scenarios(&mut self, text: &str, file: &Found, format: &'static dyn Format) -> Option<Range<usize>> {
        let mut beside = Beside::below(file.root());
        let (documents, diagnostics) = format.open_beside(text, &shown(&file.path), &mut beside);
        let mut sound = !diagnostics.iter().any(Diagnostic::is_error);
        self.reading.diagnostics.extend(diagnostics);
        if sound && documents.is_empty() && file.named {
            self.reading.diagnostics.extend(format.nothing_found(text, &shown(&file.path)));
        }
        let origins: BTreeSet<&str> = documents.iter().map(|document| document.path.as_str()).collect();
        let others = origins.into_iter().filter(|origin| *origin != shown(&file.path));
        let others: BTreeSet<PathBuf> = others.map(|origin| real(Path::new(origin))).collect();
        if !others.is_empty() {
            self.imports.push((real(&file.path), others));
        }
        let first = self.reading.scenarios.len();
        // The head of a file is read with each of its scenarios, and reported once.
        let mut reported = BTreeSet::new();
        for mut document in documents {
            let before = self.reading.diagnostics.len();
            let mut findings = Findings::new(&document.path);
            format.put_files_in(&mut document, &mut beside, &mut findings);
            let mut complete = !findings.has_errors();
            self.reading.diagnostics.extend(findings.into_sorted());
            let given = if format.has_placeholders() {
                let (given, found) = Given::of(&mut document, format, &mut beside);
                complete &= !found.iter().any(Diagnostic::is_error);
                self.reading.diagnostics.extend(found);
                given
            } else {
                Given::default()
            };
            // A failed insertion has its error already.
            let faulty: BTreeSet<(u32, u32)> =
                self.reading.diagnostics[before..].iter().map(|found| (found.line, found.column)).collect();
            let (script, diagnostics) = given.read(&document, format);
            self.reading.diagnostics.extend(diagnostics.into_iter().filter(|found| {
                let place = (found.line, found.column);
                !faulty.contains(&place) && reported.insert((place, found.message.clone()))
            }));
            match script.filter(|_| complete) {
                Some(script) => self.reading.scenarios.push(ScenarioFile {
                    stem: without_ending(document.path.rsplit('/').next().unwrap_or(&document.path)).to_owned(),
                    document,
                    format,
                    script,
                    rows: given.rows,
                    environment: given.environment,
                    named: file.named,
                    is_base: false,
                }),
                None => sound = false,
            }
        }
        sound.then_some(first..self.reading.scenarios.len())
    }

    /// A file that a played file imports is not played on its own. Files that import each other are played through the
    /// first of them.
    fn ask_imported_once(&mut self) {
        let mut taken = BTreeSet::new();
        for (file, others) in std::mem::take(&mut self.imports) {
            if !taken.contains(&file) {
                taken.extend(others);
            }
        }
        for range in taken.iter().filter_map(|file| self.scenarios.get(file).cloned().flatten()) {
            self.reading.scenarios[range].iter_mut().for_each(|scenario| scenario.is_base = true);
        }
    }

    fn matrix(&mut self, file: &Found) {
        let Some(document) = self.open(&file.path) else { return };
        let (matrix, diagnostics) = matrix::read(&document);
        self.reading.diagnostics.extend(diagnostics);
        let Some(matrix) = matrix else { return };
        let mut findings = Findings::new(&document.path);
        let environment = environment::of(&document, &mut Beside::below(file.root()), &mut findings);
        let complete = !findings.has_errors();
        self.reading.diagnostics.extend(findings.into_sorted());
        let fault =
            |message: String| Diagnostic::error(&matrix.path, matrix.base_spot.line, matrix.base_spot.column, message);
        let path = file.path.parent().unwrap_or(Path::new("")).join(&matrix.base_scenario);
        if !path.is_file() {
            let help = "the path is relative to the matrix file";
            self.report(fault(format!("the base scenario `{}` does not exist", shown(&path))).with_help(help));
            return;
        }
        let Some(kind) = kind::of_named(&path).filter(|kind| matches!(kind, Kind::Scenario(_))) else {
            self.report(fault(format!("`{}` is not a scenario file", shown(&path))));
            return;
        };
        let base_file = Found { path, kind, named: false, root: file.root.clone() };
        let Some(bases) = self.scenario(&real(&base_file.path), &base_file) else {
            self.report(fault(format!("the base scenario `{}` has errors", shown(&base_file.path))));
            return;
        };
        let mut sound = complete;
        for scenario in &mut self.reading.scenarios[bases.clone()] {
            scenario.is_base = true;
            let diagnostics = matrix::check(&matrix, &environment, &scenario.first(), scenario.format);
            sound &= !diagnostics.iter().any(Diagnostic::is_error);
            self.reading.diagnostics.extend(diagnostics);
        }
        if sound {
            self.reading.matrices.push(MatrixFile { matrix, environment, bases: bases.collect() });
        }
    }

    fn open(&mut self, path: &Path) -> Option<Document> {
        let text = self.text(path, yaml::MAX_BYTES)?;
        match yaml::open(&text, &shown(path)) {
            Ok(document) => Some(document),
            Err(diagnostic) => {
                self.report(diagnostic);
                None
            }
        }
    }

    fn text(&mut self, path: &Path, max_bytes: usize) -> Option<String> {
        match text_of(path, max_bytes) {
            Ok((text, warning)) => {
                self.reading.diagnostics.extend(warning);
                Some(text)
            }
            Err(diagnostic) => {
                self.report(diagnostic);
                None
            }
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.reading.diagnostics.push(diagnostic);
    }
}

/// What a name of a scenario leads to in a folder, if not to a file: a link to nothing, a pipe, a socket.
fn not_a_file(path: &Path) -> Diagnostic {
    let fault = |message: String| Diagnostic::error(shown(path), 0, 0, message);
    match (fs::metadata(path), fs::read_link(path)) {
        (Err(error), Ok(target)) => fault(format!("the link to `{}` cannot be followed: {error}", shown(&target)))
            .with_help("put the file there, or remove the link"),
        (Err(error), Err(_)) => fault(format!("cannot be read: {error}")),
        (Ok(_), _) => {
            fault("is neither a file nor a folder".to_owned()).with_help("remove it, or give it another name")
        }
    }
}

/// The usual ending of each format, for messages.
fn endings() -> String {
    let usual: Vec<String> = ALL.iter().filter_map(|format| Some(format!("`{}`", format.endings().first()?))).collect();
    match usual.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
