//! Finds the real files, or reports that a test is skipped.

use std::path::PathBuf;

/// A folder of the real files. Without `GABFEST_CASES` it returns `None` and prints `skipped`, the name of what is not
/// tested.
///
/// # Panics
/// If `CI` is set and the files are missing: CI must not skip tests silently.
#[must_use]
#[expect(clippy::print_stdout, reason = "skips are printed")]
pub fn folder(name: &str, skipped: &str) -> Option<PathBuf> {
    match std::env::var_os("GABFEST_CASES") {
        Some(cases) => Some(PathBuf::from(cases).join(name)),
        None => {
            assert!(std::env::var_os("CI").is_none(), "GABFEST_CASES is not set on a CI machine: {skipped}");
            println!("SKIPPED: {skipped} (GABFEST_CASES is not set)");
            None
        }
    }
}
