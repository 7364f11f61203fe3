//! Starts the binary in its own folder and waits for its output.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use serde_json::Value;

/// A folder that goes away with the test.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn gabfest(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gabfest"));
        command.args(args).current_dir(self.path()).stdin(Stdio::null());
        for variable in ["COORDINATOR", "STORE", "IDENTITY", "JOIN_TOKEN", "TLS"] {
            command.env_remove(format!("GABFEST_{variable}"));
        }
        command
    }

    /// Runs it until it exits.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        Ended::from(self.gabfest(args).output().unwrap())
    }

    /// Starts a role, as [`Process::serve`] does.
    pub(crate) fn serve(&self, args: &[&str]) -> (Process, String) {
        Process::serve(&mut self.gabfest(args))
    }

    pub(crate) fn start(&self, args: &[&str]) -> Process {
        Process(self.gabfest(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let text = std::fs::read_to_string(self.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_str(&text).unwrap()
    }

    /// Everything that must not depend on how the run was played.
    pub(crate) fn view(&self, run: &str) -> String {
        let ended = self.run(&["report", run, "--format", "view"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(!ended.stdout.is_empty());
        ended.stdout
    }
}

/// The shipped scenarios.
pub(crate) fn scenarios() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").canonicalize().unwrap().display().to_string()
}

pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A process that ends with the test at the latest.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts a role that prints its address first, and returns that address with its scheme.
    pub(crate) fn serve(command: &mut Command) -> (Self, String) {
        Self::serve_logging(command, Stdio::null())
    }

    /// The same, with a destination for its log.
    pub(crate) fn serve_logging(command: &mut Command, log: Stdio) -> (Self, String) {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("a line with the address").unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let begin = first.find("http://").or_else(|| first.find("https://")).expect("an address");
        let address = first[begin..].split([',', ' ']).next().unwrap().to_owned();
        (Self(child), address)
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    /// The exit code; fails the test when it takes longer than `within`.
    pub(crate) fn wait(&mut self, within: Duration) -> i32 {
        let began = std::time::Duration::from_millis(20);
        let mut waited = Duration::ZERO;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(waited < within, "still running after {within:?}");
            std::thread::sleep(began);
            waited += began;
        }
    }

    pub(crate) fn stderr(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            let _ = stderr.read_to_string(&mut text);
        }
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
