//! Finds and reads the files that a user names. This file and its rooms are the only ones of this crate that touch
//! the disk.
//!
//! A file is known by its name: [`Format::of_file`] knows the scenarios; beside them are `*.matrix.yaml`,
//! `*.persona.yaml` (or `.yml`), and any YAML in a folder called `personas`. Some files with other names are read as
//! scenarios where they are named themselves ([`Format::of_named_file`]), and left alone where their folder is.
//! A faulty file is reported and never ends the reading.

mod beside;
mod text;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    Diagnostic, Format,
    format::{
        Script,
        qna::{self, Collated},
    },
    matrix::{self, Matrix},
    path::{self, Segment},
    persona::Library,
    yaml::{self, Document, Findings},
};

pub use beside::Beside;
pub use text::text_of;
use text::{is_stdin, real, shown, text_beside};

/// Folders deeper than this are not looked into; links to folders never are.
const MAX_FOLDERS: usize = 64;

/// Of every run. Beside it, `report.qna` and its like are what came of other files.
const OF_A_RUN: &str = "trials.jsonl";

/// What was found in the files.
#[derive(Debug, Default)]
pub struct Reading {
    /// All scenarios without errors, bases of matrices included.
    pub scenarios: Vec<ScenarioFile>,
    pub matrices: Vec<MatrixFile>,
    pub personas: Library,
    /// In the order of the files, within a file in the order of the lines.
    pub diagnostics: Vec<Diagnostic>,
}

/// A scenario without errors, and the document that it was read from; a file may hold several.
#[derive(Debug)]
pub struct ScenarioFile {
    pub document: Document,
    pub format: Format,
    pub script: Script,
    /// The user named the file itself, not only a folder around it or a matrix upon it.
    pub named: bool,
    /// A matrix of the same reading stands on it, or another knowledge base has taken it in.
    pub is_base: bool,
}

impl ScenarioFile {
    /// Whether it is played by itself. The base of a matrix is played through the matrix alone, unless the user
    /// named it too: with its own settings it is almost always one more of the matrix's combinations. So is a file of
    /// questions that another one imports: nobody wants to ask them twice.
    #[must_use]
    pub fn plays_alone(&self) -> bool {
        self.named || !self.is_base
    }
}

/// A matrix file without errors.
#[derive(Debug)]
pub struct MatrixFile {
    pub matrix: Matrix,
    /// Indices into [`Reading::scenarios`]: the scenarios of the base file.
    pub bases: Vec<usize>,
}

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
    for (_, file) in found.iter().filter(|(_, file)| file.kind == Kind::Matrix) {
        reader.matrix(file);
    }
    for (_, file) in found.iter().filter(|(_, file)| file.kind == Kind::Persona) {
        reader.personas(file);
    }
    reader.reading
}

/// Reads questions and answers: a file, the standard input (`-`), or a folder, whose files are one knowledge base.
#[must_use]
pub fn questions(path: &Path) -> Reading {
    let mut reader = Reader::default();
    let found = |path: PathBuf| Found { path, kind: Kind::Scenario(Format::Qna), named: true, root: None };
    if path.is_dir() {
        // A file that imports the whole folder, and has no name that a file could have.
        reader.open_scenarios("[all](./**)", &found(path.join("**")), Format::Qna);
    } else {
        reader.read_scenarios(&found(path.to_path_buf()), Format::Qna);
    }
    reader.reading
}

#[derive(Default)]
struct Reader {
    /// With their real paths, in the order in which they were found.
    found: Vec<(PathBuf, Found)>,
    /// Where in the list above a real path is.
    places: BTreeMap<PathBuf, usize>,
    /// The scenarios of each file that was read, by its real path; `None` for a file with faults.
    scenarios: BTreeMap<PathBuf, Option<Range<usize>>>,
    /// Knowledge bases with the real paths of those that they took in, in the order in which they were read.
    imports: Vec<(PathBuf, BTreeSet<PathBuf>)>,
    reading: Reading,
}

struct Found {
    path: PathBuf,
    kind: Kind,
    /// The user named the file itself, not only a folder around it.
    named: bool,
    /// The outermost folder around it that the user named: all of it may be imported.
    root: Option<PathBuf>,
}

impl Found {
    /// The folder that holds everything that the file may name: the one that the user named, else its own.
    fn root(&self) -> &Path {
        self.root.as_deref().or(self.path.parent()).unwrap_or(Path::new(""))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scenario(Format),
    Matrix,
    Persona,
}

impl Reader {
    fn find(&mut self, path: &Path) {
        if is_stdin(path) {
            return self.add(path.to_path_buf(), Kind::Scenario(Format::Qna), None);
        }
        let fault = |message: &str, help: &str| Diagnostic::error(shown(path), 0, 0, message).with_help(help);
        match fs::metadata(path) {
            Err(error) => {
                let help = "name scenario files, matrix files, or folders that hold some";
                self.report(fault(&format!("cannot be read: {error}"), help));
            }
            Ok(metadata) if metadata.is_dir() => {
                // What the folder holds may have been found before.
                if !self.walk(path, path, 0) {
                    let help = "scenario files end in `.scenario.yaml`, matrix files in `.matrix.yaml`";
                    self.report(fault("the folder holds no scenario, matrix or persona", help));
                }
            }
            Ok(metadata) if metadata.is_file() => match kind_of(path).or_else(|| as_scenario(path)) {
                Some(kind) => {
                    self.add(path.to_path_buf(), kind, None);
                    // The library beside a scenario belongs to it.
                    if let Some(folder) = path.parent().map(|folder| folder.join("personas")).filter(|it| it.is_dir()) {
                        self.walk(&folder, &folder, 0);
                    }
                }
                None => self.report(fault(
                    "is not a scenario file",
                    "scenario files end in `.scenario.yaml`, `.skunit.md`, `.qna`, `.conversation.yaml` or `.battery.yaml`",
                )),
            },
            Ok(_) => self.report(fault("is neither a file nor a folder", "name scenario files or folders")),
        }
    }

    /// Whether there was anything to read below the `root` that the user named.
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
            } else if path.is_file()
                && let Some(kind) = kind_of(&path).or_else(|| by_content(&path))
            {
                self.add(path, kind, Some(root));
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
        if let Some(document) = self.open(&file.path) {
            let diagnostics = self.reading.personas.add(&document);
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

    /// All scenarios of a file; `None` where one of them has errors.
    fn read_scenarios(&mut self, file: &Found, format: Format) -> Option<Range<usize>> {
        let text = self.text(&file.path, format.max_bytes())?;
        self.open_scenarios(&text, file, format)
    }

    fn open_scenarios(&mut self, text: &str, file: &Found, format: Format) -> Option<Range<usize>> {
        let mut beside = Beside::below(file.root());
        let (documents, diagnostics) = format.open_beside(text, &shown(&file.path), &mut beside);
        let mut sound = !diagnostics.iter().any(Diagnostic::is_error);
        self.reading.diagnostics.extend(diagnostics);
        if sound && documents.is_empty() && file.named {
            self.report(nothing_to_ask(text, &file.path));
        }
        let origins: BTreeSet<&str> = documents.iter().map(|document| document.path.as_str()).collect();
        let others = origins.into_iter().filter(|origin| *origin != shown(&file.path));
        let others: BTreeSet<PathBuf> = others.map(|origin| real(Path::new(origin))).collect();
        if !others.is_empty() {
            self.imports.push((real(&file.path), others));
        }
        let first = self.reading.scenarios.len();
        // What stands at the head of a file is read with each of its scenarios, and told once.
        let mut told = BTreeSet::new();
        for mut document in documents {
            let before = self.reading.diagnostics.len();
            let mut complete = self.put_sql_in(&mut document, file);
            if format == Format::Battery {
                complete &= self.put_conversation_in(&mut document, file);
            }
            // What could not be put in has its error, and needs no second one.
            let faulty: BTreeSet<(u32, u32)> =
                self.reading.diagnostics[before..].iter().map(|found| (found.line, found.column)).collect();
            let (script, diagnostics) = format.read(&document);
            self.reading.diagnostics.extend(diagnostics.into_iter().filter(|found| {
                let place = (found.line, found.column);
                !faulty.contains(&place) && told.insert((place, found.message.clone()))
            }));
            match script.filter(|_| complete) {
                Some(script) => self.reading.scenarios.push(ScenarioFile {
                    document,
                    format,
                    script,
                    named: file.named,
                    is_base: false,
                }),
                None => sound = false,
            }
        }
        sound.then_some(first..self.reading.scenarios.len())
    }

    /// A file that was taken in by one that is played is not played by itself. Files that take each other in are
    /// played through the first of them.
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
        let fault =
            |message: String| Diagnostic::error(&matrix.path, matrix.base_spot.line, matrix.base_spot.column, message);
        let path = file.path.parent().unwrap_or(Path::new("")).join(&matrix.base_scenario);
        if !path.is_file() {
            let help = "the path is relative to the matrix file";
            self.report(fault(format!("the base scenario `{}` is not there", shown(&path))).with_help(help));
            return;
        }
        let Some(kind) = kind_of(&path).or_else(|| as_scenario(&path)).filter(|kind| matches!(kind, Kind::Scenario(_)))
        else {
            self.report(fault(format!("`{}` is not a scenario file", shown(&path))));
            return;
        };
        let base_file = Found { path, kind, named: false, root: file.root.clone() };
        let Some(bases) = self.scenario(&real(&base_file.path), &base_file) else {
            self.report(fault(format!("the base scenario `{}` has errors", shown(&base_file.path))));
            return;
        };
        let mut sound = true;
        for scenario in &mut self.reading.scenarios[bases.clone()] {
            scenario.is_base = true;
            let diagnostics = matrix::check(&matrix, &scenario.document, scenario.format);
            sound &= !diagnostics.iter().any(Diagnostic::is_error);
            self.reading.diagnostics.extend(diagnostics);
        }
        if sound {
            self.reading.matrices.push(MatrixFile { matrix, bases: bases.collect() });
        }
    }

    /// SQL files travel in the document, since workers see no files of the user.
    fn put_sql_in(&mut self, document: &mut Document, scenario: &Found) -> bool {
        let mut findings = Findings::new(&document.path);
        let mut texts = Vec::new();
        let root = document.root();
        let databases = root.get("gabfest").map_or_else(Vec::new, |ours| ours.items_of("database"));
        for (index, database) in databases.iter().enumerate() {
            for (place, file) in database.items_of("files").iter().enumerate() {
                let Value::String(name) = file.value() else { continue };
                match text_beside(&scenario.path, scenario.root(), name) {
                    Ok(text) => texts.push((index, place, json!({ "path": name, "text": text }))),
                    Err(fault) => findings.error(file.spot(), format!("the SQL file `{name}` {fault}")),
                }
            }
        }
        let complete = !findings.has_errors();
        for (index, place, text) in texts {
            let key = |name: &str| Segment::Key(name.to_owned());
            let path = path::Path(vec![
                key("gabfest"),
                key("database"),
                Segment::Index(index),
                key("files"),
                Segment::Index(place),
            ]);
            path.set(&mut document.value, text).expect("the path was just walked");
        }
        self.reading.diagnostics.extend(findings.into_sorted());
        complete
    }

    /// So does a conversation that a battery judges again.
    fn put_conversation_in(&mut self, document: &mut Document, battery: &Found) -> bool {
        let root = document.root();
        let Some(part) = root.get("conversation") else { return true };
        let Value::String(name) = part.value() else { return true };
        match text_beside(&battery.path, battery.root(), name) {
            Ok(text) => {
                let value = json!({ "path": name, "text": text });
                let path = path::Path(vec![Segment::Key("conversation".to_owned())]);
                path.set(&mut document.value, value).expect("the key was just found");
                true
            }
            Err(fault) => {
                let spot = part.spot();
                let message = format!("the conversation `{name}` {fault}");
                self.report(Diagnostic::error(shown(&battery.path), spot.line, spot.column, message));
                false
            }
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

/// Reads a knowledge base of questions and answers with all that it imports; `-` is the standard input.
#[must_use]
pub fn knowledge_base(path: &Path) -> Collated {
    match text_of(path, Format::Qna.max_bytes()) {
        Ok((text, warning)) => {
            let mut collated = qna::knowledge_base(&text, &shown(path), &mut Beside::of(path));
            collated.diagnostics.splice(0..0, warning);
            collated
        }
        Err(diagnostic) => Collated { diagnostics: vec![diagnostic], ..Collated::default() },
    }
}

/// The finding for a file of questions without one; other formats report this themselves.
fn nothing_to_ask(text: &str, path: &Path) -> Diagnostic {
    let help = "write `# ? question`, and below it the answer between two lines of ```";
    if text.trim().is_empty() {
        return Diagnostic::error(shown(path), 0, 0, "the file is empty").with_help(help);
    }
    Diagnostic::warning(shown(path), 0, 0, "the file holds no question").with_help(help)
}

fn kind_of(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    let ends = |kind: &str| [".yaml", ".yml"].iter().any(|ending| name.ends_with(&format!(".{kind}{ending}")));
    if let Some(format) = Format::of_file(name) {
        return Some(Kind::Scenario(format));
    }
    if ends("matrix") {
        return Some(Kind::Matrix);
    }
    let in_library = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "personas");
    (ends("persona") || (in_library && is_yaml(path))).then_some(Kind::Persona)
}

/// A page of a folder that is skUnit's by the names that its own samples have, or by its headings.
fn by_content(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    let is_skunit = || text_of(path, Format::Skunit.max_bytes()).is_ok_and(|(text, _)| Format::is_skunit(&text));
    let is_one = name == "skchat.md" || name == "sktest.md" || (name.ends_with(".md") && is_skunit());
    is_one.then_some(Kind::Scenario(Format::Skunit))
}

/// A file with any name, for one who names it himself.
fn as_scenario(path: &Path) -> Option<Kind> {
    Format::of_named_file(path.file_name()?.to_str()?).map(Kind::Scenario)
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}
