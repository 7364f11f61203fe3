//! A copy of the tracked files in which a fault is made, and its build.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::table::Mutant;

#[derive(Debug)]
pub(super) struct Copy {
    top: PathBuf,
    /// The tracked files, from the top of the repository.
    files: BTreeSet<PathBuf>,
    folder: PathBuf,
    /// It stays from run to run: the first build takes minutes, the others build what a fault touches.
    target: PathBuf,
}

impl Copy {
    pub(super) fn of(top: &Path) -> anyhow::Result<Self> {
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(top).output();
        let listed = listed.context("failed to start git")?;
        ensure!(listed.status.success(), "git does not list the files: {}", String::from_utf8_lossy(&listed.stderr));
        let names = String::from_utf8(listed.stdout).context("a file's name is not UTF-8")?;
        // One that is deleted and not committed is listed too.
        let files = names.split_terminator('\0').map(PathBuf::from).filter(|file| top.join(file).is_file()).collect();
        let scratch = top.join("target/mutants");
        Ok(Self { top: top.to_owned(), files, folder: scratch.join("copy"), target: scratch.join("target") })
    }

    /// Brings the copy up to date, with the fault. Files that are as they must be keep their times, so they are not built
    /// again.
    pub(super) fn make(&self, mutant: Option<&Mutant>) -> anyhow::Result<()> {
        remove_others(&self.folder, Path::new(""), &self.files)?;
        for file in &self.files {
            let mut bytes = fs::read(self.top.join(file))?;
            for edit in mutant.into_iter().flat_map(|mutant| mutant.edits).filter(|edit| Path::new(edit.file) == file) {
                let text = String::from_utf8(bytes).with_context(|| format!("{} is no text", edit.file))?;
                bytes = edit.made_in(&text)?.into_bytes();
            }
            let to = self.folder.join(file);
            if fs::read(&to).ok().as_ref() != Some(&bytes) {
                fs::create_dir_all(to.parent().unwrap_or(&self.folder))?;
                fs::write(&to, bytes).with_context(|| format!("failed to write {}", to.display()))?;
            }
        }
        Ok(())
    }

    /// Builds the simulation. Returns its program.
    pub(super) fn build(&self) -> anyhow::Result<PathBuf> {
        let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["test", "--quiet", "--package", "gabfest", "--test", "simulation", "--no-run"])
            .args(["--message-format", "json-render-diagnostics"])
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            // Nobody debugs it.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .stderr(Stdio::inherit())
            .output()
            .context("failed to start cargo")?;
        ensure!(built.status.success(), "it does not compile");
        program(&String::from_utf8_lossy(&built.stdout)).context("cargo names no test `simulation`")
    }
}

/// The program of the simulation in cargo's messages.
fn program(said: &str) -> Option<PathBuf> {
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut of_test = messages.filter(|message| message["target"]["name"] == "simulation");
    of_test.find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// Removes what is not tracked any more.
fn remove_others(top: &Path, folder: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(top.join(folder)) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            remove_others(top, &path, files)?;
        } else if !files.contains(&path) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::table::Edit;

    #[test]
    fn only_what_differs_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (top, to) = (folder.path().join("top"), folder.path().join("copy"));
        fs::create_dir_all(top.join("src")).expect("a folder");
        for (file, text) in [("src/a.rs", "one two"), ("src/b.rs", "three")] {
            fs::write(top.join(file), text).expect("a file");
        }
        let files = ["src/a.rs", "src/b.rs"].map(PathBuf::from).into();
        let copy = Copy { top, files, folder: to.clone(), target: PathBuf::new() };
        let written = |file: &str| fs::metadata(to.join(file)).and_then(|data| data.modified()).expect("a time");
        let read = |file: &str| fs::read_to_string(to.join(file)).expect("a file");
        const MUTANT: Mutant =
            Mutant { name: "m", guarantee: "g", edits: &[Edit { file: "src/a.rs", find: "two", replace: "2" }] };
        copy.make(Some(&MUTANT)).expect("a copy");
        assert_eq!((read("src/a.rs").as_str(), read("src/b.rs").as_str()), ("one 2", "three"));
        let before = written("src/b.rs");
        fs::write(to.join("src/old.rs"), "").expect("a file");
        copy.make(None).expect("a copy");
        assert_eq!(read("src/a.rs"), "one two");
        assert_eq!(written("src/b.rs"), before);
        assert!(!to.join("src/old.rs").exists());
    }

    #[test]
    fn cargo_says_where_the_test_is() {
        let said = "{\"target\":{\"name\":\"gabfest\"},\"executable\":\"/g\"}\nnoise\n\
                    {\"target\":{\"name\":\"simulation\"},\"executable\":\"/s\"}";
        assert_eq!(program(said), Some(PathBuf::from("/s")));
        assert_eq!(program(""), None);
    }
}
