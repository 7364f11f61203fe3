//! Tests of `test.sh`: what it installs or asks for, and which tests its quick mode selects. Other programs are stubs
//! with a log.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Programs of every machine that the script uses as they are.
const REAL: [&str; 14] =
    ["bash", "cat", "cut", "dirname", "env", "git", "head", "mkdir", "mktemp", "printf", "rm", "sed", "sort", "true"];

/// A repository with two packages and a copy of the script, on a machine with almost nothing installed.
struct Place(tempfile::TempDir);

impl Place {
    /// `user` is the output of `id -u`.
    fn new(user: u32) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../test.sh");
        std::fs::create_dir_all(place.path("bin")).unwrap();
        std::fs::copy(script, place.path("test.sh")).unwrap();
        for name in REAL {
            let found = Command::new("which").arg(name).output().unwrap();
            let real = String::from_utf8(found.stdout).unwrap();
            std::os::unix::fs::symlink(real.trim(), place.path("bin").join(name)).unwrap();
        }
        place.stub("id", &format!("echo {user}"));
        for name in ["cargo", "cargo-nextest", "cc", "rustup"] {
            place.stub(name, "");
        }
        place.write("Cargo.toml", "[workspace]\n");
        for (folder, name) in [("crates/cli", "gabfest"), ("crates/scenario", "gabfest-scenario")] {
            place.write(&format!("{folder}/Cargo.toml"), &format!("[package]\nname = \"{name}\"\n"));
            place.write(&format!("{folder}/src/lib.rs"), "");
        }
        place.write(".gitignore", "bin\nlog\ncache\n");
        place.git(&["init", "--quiet", "--initial-branch=main"]);
        place.commit();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A program that logs how it was called.
    fn stub(&self, name: &str, then: &str) {
        let path = self.path("bin").join(name);
        let log = self.path("log");
        std::fs::write(&path, format!("#!/usr/bin/env bash\necho \"{name} $*\" >> {}\n{then}\n", log.display()))
            .unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env_clear().env("PATH", self.path("bin")).env("HOME", self.path("cache"));
        command
    }

    fn git(&self, args: &[&str]) {
        let who = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
        assert!(self.command("git").args(who).args(args).status().unwrap().success(), "{args:?}");
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "x"]);
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(&self.path("test.sh").display().to_string()).args(args).output().unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// The call of nextest that the quick lane makes.
    fn quick(&self) -> Option<String> {
        let _ = std::fs::remove_file(self.path("log"));
        let output = self.run(&["quick"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        let log = self.log();
        assert!(log.contains("cargo fmt --all --check\n") && log.contains("cargo clippy --workspace"), "{log}");
        log.lines().find(|line| line.starts_with("cargo nextest run")).map(ToOwned::to_owned)
    }
}

#[test]
fn uninstallable_tools_are_named_at_once() {
    let place = Place::new(1000);
    place.stub("python3", "");
    let output = place.run(&[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let all = "bubblewrap chromium prometheus prometheus-alertmanager npm systemd openssl valgrind postgresql";
    assert!(stderr.contains(&format!("install these Debian packages, then run this again: {all}\n")), "{stderr}");
    assert!(!place.log().contains("clippy --workspace"), "nothing is begun: {}", place.log());
    std::fs::remove_file(place.path("bin/cargo")).unwrap();
    let output = place.run(&["quick"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Rust is missing"));
}

#[test]
fn root_installs_missing_tools_and_continues() {
    let place = Place::new(0);
    place.stub("apt-get", "");
    place.run(&[]);
    let log = place.log();
    let installed = log.lines().find(|line| line.starts_with("apt-get install")).unwrap_or_default();
    let all = "python3 python3-venv bubblewrap chromium prometheus npm systemd openssl valgrind postgresql";
    for package in all.split(' ') {
        assert!(installed.split(' ').any(|word| word == package), "{package}: {log}");
    }
    assert!(log.find("apt-get install") < log.find("cargo fmt --all --check"), "{log}");
}

#[test]
fn quick_tests_what_differs_from_main() {
    let place = Place::new(1000);
    place.stub("python3", "");
    assert_eq!(place.quick(), None, "nothing differs");

    place.git(&["checkout", "--quiet", "-b", "mine"]);
    place.write("crates/scenario/src/deep/new.rs", "");
    place.commit();
    let call = place.quick().unwrap();
    assert!(call.contains("--package=gabfest-scenario") && !call.contains("--package=gabfest "), "{call}");

    // Uncommitted changes count too; of whole-process tests, only changed files run.
    place.write("crates/cli/tests/it/fleet/many.rs", "");
    let call = place.quick().unwrap();
    assert!(call.contains("--package=gabfest ") && call.contains("test(/^fleet::/)"), "{call}");
    assert!(!call.contains("first_run"), "{call}");
    place.write("crates/cli/src/lib.rs", "fn changed() {}\n");
    assert!(place.quick().unwrap().contains("test(/^first_run::/)"));
}
