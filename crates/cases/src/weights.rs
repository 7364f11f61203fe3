//! Where the weights of real models are, and a loud word where they are not.

use std::path::PathBuf;

/// The shelf with this model on it: the folder that `GABFEST_MODELS` names. `None` where it is not there; then
/// `skipped`, what is not tested for that reason, is printed.
///
/// # Panics
/// `CI` is set and the weights are not there: a machine that tests for everybody must not skip in silence.
#[must_use]
#[expect(clippy::print_stderr, reason = "what is skipped is said aloud")]
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
