//! A finding about a choice, which has no place in a file.

use yaml::Diagnostic;

pub(super) fn fault(message: String) -> Diagnostic {
    Diagnostic::error(String::new(), 0, 0, message)
}
