//! The parts of `gabfest.yaml` that a test needs: endpoints, agents, and the judge.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use formats::read;
use scenario::Diagnostic;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use yaml::{Findings, Part};

use super::script::listed;

const USUAL: &str = "gabfest.yaml";

#[derive(Debug, Default)]
pub(super) struct Settings {
    /// `None` if there is no file.
    path: Option<PathBuf>,
    /// Paths in it are relative to it.
    pub(super) folder: PathBuf,
    pub(super) endpoints: BTreeMap<String, llm::endpoint::Settings>,
    pub(super) agents: BTreeMap<String, ::agent::Settings>,
    /// The endpoint that `roles.judge` names.
    pub(super) judge: Option<String>,
}

impl Settings {
    /// The settings of the nearest `gabfest.yaml`: `cargo test` runs in the folder of the package, and settings are
    /// often above it. Without a file they are empty.
    pub(super) fn nearest(folder: &Path) -> Result<Self, String> {
        let path = folder.ancestors().map(|folder| folder.join(USUAL)).find(|path| path.is_file());
        path.map_or_else(|| Ok(Self::default()), |path| Self::read(&path))
    }

    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let (text, warning) = read::text_of(path, yaml::MAX_BYTES).map_err(|finding| listed(&[finding]))?;
        let document = yaml::open(&text, &name).map_err(|finding| listed(&[finding]))?;
        let mut findings = Findings::new(&name);
        let root = document.root();
        let endpoints = section(&root, "endpoints", &mut findings);
        let agents = section(&root, "agents", &mut findings);
        let judge = root.get("roles").and_then(|roles| roles.get("judge"));
        let judge = judge.and_then(|judge| judge.value().as_str().map(str::to_owned));
        // `gabfest check` reports the rest of the file, and warnings.
        let errors: Vec<Diagnostic> =
            warning.into_iter().chain(findings.into_sorted()).filter(Diagnostic::is_error).collect();
        if !errors.is_empty() {
            return Err(listed(&errors));
        }
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { path: Some(path.to_path_buf()), folder, endpoints, agents, judge })
    }

    pub(super) fn is_there(&self) -> bool {
        self.path.is_some()
    }

    /// For messages.
    pub(super) fn shown(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => format!("the settings: no {USUAL} was found"),
        }
    }
}

fn section<T: DeserializeOwned + JsonSchema + 'static>(
    root: &Part<'_>,
    key: &str,
    findings: &mut Findings,
) -> BTreeMap<String, T> {
    let Some(part) = root.get(key) else { return BTreeMap::new() };
    let decoded = part.entries().into_iter().map(|(name, entry)| Some((name.to_owned(), entry.decode(findings)?)));
    decoded.flatten().collect()
}
