//! The result of reading the user's files: the input of a plan.

use std::collections::BTreeMap;

use yaml::{Diagnostic, Document};

use crate::{
    format::{Format, Script},
    matrix::Matrix,
    persona::Library,
    placeholder,
    rows::Rows,
};

/// The content of the files.
#[derive(Debug, Default)]
pub struct Reading {
    /// All scenarios without errors, bases of matrices included.
    pub scenarios: Vec<ScenarioFile>,
    pub matrices: Vec<MatrixFile>,
    pub personas: Library,
    /// In the order of the files, within a file in the order of the lines.
    pub diagnostics: Vec<Diagnostic>,
}

/// A valid scenario, and its document; a file may have several.
#[derive(Debug)]
pub struct ScenarioFile {
    pub document: Document,
    pub format: &'static dyn Format,
    /// The name of the file without its folder and its ending.
    pub stem: String,
    pub script: Script,
    /// The data set that it names: one case for each row.
    pub rows: Option<Rows>,
    /// The values of the environment variables that it names.
    pub environment: BTreeMap<String, String>,
    /// The user named the file itself, not only its folder or a matrix with this base.
    pub named: bool,
    /// It is the base of a matrix of this reading, or another knowledge base imports it.
    pub is_base: bool,
}

impl ScenarioFile {
    /// The document with its environment variables and its first row, as one of its cases.
    #[must_use]
    pub fn first(&self) -> Document {
        let mut document = self.document.clone();
        let row = self.rows.as_ref().and_then(|rows| Some((rows, rows.get(0)?)));
        if let Some((rows, row)) = &row {
            rows.fill(row, &mut document.value);
        }
        placeholder::replace_environment(&mut document.value, &self.environment);
        document
    }

    /// Whether it is played on its own. The base of a matrix is played only through the matrix, unless the user named
    /// it too: with its own settings it is almost always one of the matrix's combinations. Imported questions are asked
    /// only through the importing file, so that nothing is asked twice.
    #[must_use]
    pub fn plays_alone(&self) -> bool {
        self.named || !self.is_base
    }
}

/// A matrix file without errors.
#[derive(Debug)]
pub struct MatrixFile {
    pub matrix: Matrix,
    /// The values of the environment variables that it names.
    pub environment: BTreeMap<String, String>,
    /// Indices into [`Reading::scenarios`]: the scenarios of the base file.
    pub bases: Vec<usize>,
}
