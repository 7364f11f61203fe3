//! The other files that a scenario file may name.

use std::fs::File;

use yaml::Diagnostic;

const ALONE: &str = "cannot be read here: only a file can name it";

/// The other files that a file may name. The reader decides which ones it may read.
pub trait Files {
    /// The files that `target` (`other.qna`, `folder/*`, `folder/**`) names in the file `from`. The error is a fragment
    /// that follows the target's name.
    ///
    /// # Errors
    /// There is none, or reading it is not allowed.
    fn read(&mut self, from: &str, target: &str) -> Result<Vec<TextFile>, String>;

    /// The text of the one file with this `name` in the file `from`. The error is a fragment that follows the name.
    ///
    /// # Errors
    /// There is none, or reading it is not allowed.
    fn text(&mut self, _from: &str, _name: &str) -> Result<String, String> {
        Err(ALONE.to_owned())
    }

    /// Opens a data file, which may be larger than the memory, with its path for diagnostics.
    ///
    /// # Errors
    /// There is none, or reading it is not allowed.
    fn open(&mut self, _from: &str, _name: &str) -> Result<(File, String), String> {
        Err(ALONE.to_owned())
    }

    /// The value of an environment variable.
    ///
    /// # Errors
    /// It is not set, or is not text.
    fn variable(&mut self, _name: &str) -> Result<String, String> {
        Err(ALONE.to_owned())
    }
}

/// The text of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// As diagnostics show it; the same file has the same path.
    pub path: String,
    pub text: String,
    pub warning: Option<Diagnostic>,
}

/// For a text without other files.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&mut self, _from: &str, _target: &str) -> Result<Vec<TextFile>, String> {
        Err(ALONE.to_owned())
    }
}
