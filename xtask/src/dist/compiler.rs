//! Runs the installed Rust compiler.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};

use super::succeed;

/// Flags that can have spaces.
const ENCODED_FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";
/// What separates them.
const BETWEEN_FLAGS: &str = "\x1f";

pub(super) struct Compiler {
    /// As in `x86_64-unknown-linux-gnu`.
    host: String,
    is_static: bool,
}

impl Compiler {
    pub(super) fn find(is_static: bool) -> anyhow::Result<Self> {
        Ok(Self { host: rustc("host-tuple")?, is_static })
    }

    /// Finds llvm-profdata, which merges counts into a profile. Only that of the same toolchain reads them.
    pub(super) fn profiler(&self) -> anyhow::Result<PathBuf> {
        let program = Path::new(&rustc("sysroot")?).join(format!("lib/rustlib/{}/bin/llvm-profdata", self.host));
        ensure!(
            program.exists(),
            "{} does not exist; hint: `rustup component add llvm-tools` installs it, or compile with --once",
            program.display()
        );
        Ok(program)
    }

    /// Builds the program with its symbols, which the cargo profile would strip. Flags of a `config.toml` apply only if there are no
    /// others.
    pub(super) fn build(&self, target: &Path, flag: Option<&str>) -> anyhow::Result<PathBuf> {
        let mut flags = given_flags();
        flags.extend(self.is_static.then(|| "-Ctarget-feature=+crt-static".to_owned()));
        flags.extend(flag.map(str::to_owned));
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--profile", "dist", "--locked", "--package", "gabfest", "--bin", "gabfest"])
            // With --target, cargo keeps these flags from build scripts.
            .args(["--target", &self.host, "--target-dir"])
            .arg(target)
            .env("CARGO_PROFILE_DIST_STRIP", "debuginfo");
        if !flags.is_empty() {
            cargo.env(ENCODED_FLAGS, flags.join(BETWEEN_FLAGS));
        }
        succeed(&mut cargo)?;
        Ok(target.join(&self.host).join("dist/gabfest"))
    }
}

/// The compiler flags of the environment, by cargo's order of precedence.
fn given_flags() -> Vec<String> {
    let flags = |name, separator: fn(char) -> bool| {
        let flags = std::env::var(name).ok()?;
        Some(flags.split(separator).filter(|flag| !flag.is_empty()).map(str::to_owned).collect())
    };
    flags(ENCODED_FLAGS, |letter| BETWEEN_FLAGS.contains(letter))
        .or_else(|| flags("RUSTFLAGS", char::is_whitespace))
        .unwrap_or_default()
}

/// What `rustc --print` says.
fn rustc(what: &str) -> anyhow::Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(rustc).args(["--print", what]).output().context("failed to start rustc")?;
    ensure!(output.status.success(), "rustc --print {what} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
