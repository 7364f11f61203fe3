//! Where the real files are, and a loud word where they are not.

use std::path::PathBuf;

/// A folder of the real files; `None` where `GABFEST_CASES` is not set. Then `skipped`, what is not tested for that
/// reason, is printed.
///
/// # Panics
/// `CI` is set and the files are not there: a machine that tests for everybody must not skip in silence.
#[must_use]
#[expect(clippy::print_stdout, reason = "what is skipped is said aloud")]
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
