//! Faults that only show when checks are compiled: invalid schemas, paths and languages.

use scenario::{Diagnostic, Reading};

/// One error for each check that no worker could use.
pub(crate) fn faults(reading: &Reading) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for file in &reading.scenarios {
        for check in file.script.scenario.checks() {
            if let Err(error) = evaluate::compile(check) {
                let path = file.document.path.clone();
                let fault =
                    Diagnostic::error(path, check.line, 0, format!("`{}`: failed to {error}", check.rule.kind()));
                faults.push(fault.with_help(error.help()));
            }
        }
    }
    faults
}
