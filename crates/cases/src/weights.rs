//! Finds the weights of real models, or reports that a test is skipped.

use std::path::PathBuf;

/// The folder of `GABFEST_MODELS`, if it contains this model. Otherwise it returns `None` and prints `skipped`, the name of
/// what is not tested.
///
/// # Panics
/// If `CI` is set and the weights are missing: CI must not skip tests silently.
#[must_use]
#[expect(clippy::print_stderr, reason = "skips are printed")]
pub fn shelf(model: &str, skipped: &str) -> Option<PathBuf> {
    let shelf = PathBuf::from(std::env::var_os("GABFEST_MODELS").unwrap_or_default());
    if shelf.join(model).join("model.safetensors").is_file() {
        return Some(shelf);
    }
    let why = format!("GABFEST_MODELS names no folder with {model}: get it by `gabfest models fetch {model}`");
    assert!(std::env::var_os("CI").is_none(), "on a CI machine this must not be skipped: {skipped} ({why})");
    eprintln!("SKIPPED: {skipped} ({why})");
    None
}
