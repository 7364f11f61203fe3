//! What a command says besides its answer, on stderr. Nobody may be there to hear it: then the work goes on.

use std::io::Write as _;

/// A line, or several.
pub(crate) fn say(text: &str) {
    // Who closed stderr or filled its disk wants the run's result all the same, and cannot be told.
    drop(writeln!(std::io::stderr(), "{text}"));
}
