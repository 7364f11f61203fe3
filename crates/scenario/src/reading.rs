//! What was read from the files that a user named: the input of a plan.

use yaml::{Diagnostic, Document};

use crate::{
    format::{Format, Script},
    matrix::Matrix,
    persona::Library,
};

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
    pub format: &'static dyn Format,
    /// The name of the file without its folder and its ending.
    pub stem: String,
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
