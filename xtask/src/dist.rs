//! `cargo xtask dist`: the program that is shipped, without symbols, and beside it the file that names functions in backtraces.
//!
//! The symbols are a quarter of the program, and only a backtrace reads them. The program links to `gabfest.debug` by name
//! (`.gnu_debuglink`), so backtraces have names if the file is in the folder of the program.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};

#[derive(clap::Args)]
pub(crate) struct Dist {
    /// Folder of the two files
    #[arg(long, value_name = "FOLDER", default_value = "target/dist")]
    out: PathBuf,
    /// Split this program instead of building one; it must have its symbols
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

#[expect(clippy::print_stdout, reason = "the sizes are what the task is for")]
pub(crate) fn run(dist: &Dist) -> anyhow::Result<()> {
    let built = match &dist.program {
        Some(program) => program.clone(),
        None => build(&dist.out)?,
    };
    fs::create_dir_all(&dist.out).with_context(|| format!("failed to create {}", dist.out.display()))?;
    let (program, debug) = split(&built, &dist.out)?;
    for file in [program, debug] {
        let megabytes = fs::metadata(&file)?.len().div_ceil(1_000_000);
        println!("{} ({megabytes} MB)", file.display());
    }
    Ok(())
}

/// Builds the program with its symbols, which its profile strips.
fn build(out: &Path) -> anyhow::Result<PathBuf> {
    let target = out.join("build");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--profile", "dist", "--locked", "--package", "gabfest", "--target-dir"])
        .arg(&target)
        .env("CARGO_PROFILE_DIST_STRIP", "debuginfo");
    succeed(&mut cargo)?;
    Ok(target.join("dist/gabfest"))
}

/// Writes `gabfest` and `gabfest.debug` to `out`.
fn split(built: &Path, out: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (program, debug) = (out.join("gabfest"), out.join("gabfest.debug"));
    objcopy([OsStr::new("--only-keep-debug"), built.as_os_str(), debug.as_os_str()])?;
    objcopy([OsStr::new("--strip-all"), built.as_os_str(), program.as_os_str()])?;
    let link = [OsStr::new("--add-gnu-debuglink"), debug.as_os_str(), program.as_os_str()];
    objcopy(link)?;
    Ok((program, debug))
}

fn objcopy<const N: usize>(arguments: [&OsStr; N]) -> anyhow::Result<()> {
    succeed(Command::new("objcopy").args(arguments))
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("failed to start {program}"))?;
    ensure!(status.success(), "{program} failed: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_program_runs_and_names_its_functions_only_beside_its_debug_file() {
        let place = tempfile::tempdir().unwrap();
        let source = place.path().join("main.rs");
        fs::write(
            &source,
            "#[inline(never)] fn a_named_function() { assert!(std::env::args().count() == 0) } fn main() { a_named_function() }",
        )
        .unwrap();
        let built = place.path().join("built");
        succeed(Command::new("rustc").arg(&source).arg("-o").arg(&built)).unwrap();
        let out = place.path().join("out");
        fs::create_dir(&out).unwrap();
        let (program, debug) = split(&built, &out).unwrap();
        let backtrace = || {
            let output = Command::new(&program).env("RUST_BACKTRACE", "1").output().unwrap();
            String::from_utf8(output.stderr).unwrap()
        };
        assert!(backtrace().contains("a_named_function"));
        fs::remove_file(debug).unwrap();
        assert!(!backtrace().contains("a_named_function"));
        assert!(fs::metadata(program).unwrap().len() < fs::metadata(built).unwrap().len() / 2);
    }
}
