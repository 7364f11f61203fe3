//! `cargo xtask dist`: the program that is shipped, without symbols, and beside it the file that names functions in backtraces.
//!
//! The task compiles the program twice. The first program counts how often its code runs while it plays conversations. The compiler
//! optimises the second one by these counts. This takes twice the memory of one build, and more than twice the time.
//!
//! The symbols are a quarter of the program, and only a backtrace reads them. The program links to `gabfest.debug` by name
//! (`.gnu_debuglink`), so backtraces have names if the file is in the folder of the program.

mod compiler;
mod training;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::SystemTime,
};

use anyhow::{Context as _, ensure};
use compiler::Compiler;

#[derive(clap::Args)]
pub(crate) struct Dist {
    /// Folder of the two files
    #[arg(long, value_name = "FOLDER", default_value = "target/dist")]
    out: PathBuf,
    /// Link the C library into the program
    #[arg(long = "static")]
    is_static: bool,
    /// Compile once, without counts: half the memory and less than half the time, but the program takes more CPU
    #[arg(long)]
    once: bool,
    /// Split this program instead of building one; it must have its symbols
    #[arg(long, value_name = "FILE", conflicts_with_all = ["is_static", "once"])]
    program: Option<PathBuf>,
}

#[expect(clippy::print_stdout, reason = "the sizes are what the task is for")]
pub(crate) fn run(dist: &Dist) -> anyhow::Result<()> {
    // Look for it now, before the long builds.
    succeed(Command::new("objcopy").arg("--version").stdout(Stdio::null()))
        .context("a program cannot be split; hint: objcopy is a part of binutils")?;
    fs::create_dir_all(&dist.out).with_context(|| format!("failed to create {}", dist.out.display()))?;
    let built = match &dist.program {
        Some(program) => program.clone(),
        None => build(dist, &dist.out.canonicalize()?)?,
    };
    let (program, debug) = split(&built, &dist.out)?;
    for file in [program, debug] {
        let megabytes = fs::metadata(&file)?.len().div_ceil(1_000_000);
        println!("{} ({megabytes} MB)", file.display());
    }
    Ok(())
}

/// Builds the program with its symbols.
fn build(dist: &Dist, out: &Path) -> anyhow::Result<PathBuf> {
    let compiler = Compiler::find(dist.is_static)?;
    let target = out.join("optimized");
    if dist.once {
        return compiler.build(&target, None);
    }
    // Look for it now, before the long first build.
    let profiler = compiler.profiler()?;
    let counts = out.join("profile");
    let counting =
        compiler.build(&out.join("instrumented"), Some(&format!("-Cprofile-generate={}", counts.display())))?;
    let profile = out.join("gabfest.profdata");
    if !is_profile_of(&profile, &counting)? {
        if counts.exists() {
            fs::remove_dir_all(&counts).with_context(|| format!("failed to remove {}", counts.display()))?;
        }
        training::play(&counting)?;
        let merged = out.join("gabfest.profdata.new");
        succeed(Command::new(profiler).arg("merge").arg("--output").arg(&merged).arg(&counts))?;
        keep_profile(&merged, &profile, &counting)?;
    }
    compiler.build(&target, Some(&format!("-Cprofile-use={}", profile.display())))
}

/// Whether a program was trained already. New counts of the same program hardly differ, but cargo would compile everything again.
fn is_profile_of(profile: &Path, counting: &Path) -> anyhow::Result<bool> {
    Ok(profile.exists() && modified(profile)? == modified(counting)?)
}

/// Gives the profile the time of its program, so that it is known as this program's, and then its name.
fn keep_profile(merged: &Path, profile: &Path, counting: &Path) -> anyhow::Result<()> {
    fs::File::options().append(true).open(merged)?.set_modified(modified(counting)?)?;
    fs::rename(merged, profile).with_context(|| format!("failed to write {}", profile.display()))
}

fn modified(file: &Path) -> anyhow::Result<SystemTime> {
    fs::metadata(file)
        .and_then(|metadata| metadata.modified())
        .with_context(|| format!("failed to look at {}", file.display()))
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
    fn a_profile_is_used_again_for_the_program_that_it_was_made_with() {
        let place = tempfile::tempdir().unwrap();
        let [counting, merged, profile] = ["counting", "merged", "profile"].map(|name| place.path().join(name));
        fs::write(&counting, "a program").unwrap();
        assert!(!is_profile_of(&profile, &counting).unwrap());
        fs::write(&merged, "counts").unwrap();
        keep_profile(&merged, &profile, &counting).unwrap();
        assert!(is_profile_of(&profile, &counting).unwrap());
        let earlier = modified(&counting).unwrap() - std::time::Duration::from_secs(60);
        fs::File::options().append(true).open(&counting).unwrap().set_modified(earlier).unwrap();
        assert!(!is_profile_of(&profile, &counting).unwrap(), "cargo may link an older program back");
    }

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
