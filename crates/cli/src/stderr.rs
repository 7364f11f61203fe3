//! Messages of a command, on stderr. A closed stderr does not stop the work. Control characters are escaped, so that no text
//! steers the terminal.

use std::{
    io::Write as _,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::printer;

/// `--quiet`: only errors are printed. Set once, before the command runs.
static QUIET: AtomicBool = AtomicBool::new(false);

pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A line, or several, unless `--quiet` is given.
pub(crate) fn say(text: &str) {
    if !is_quiet() {
        error(text);
    }
}

/// The same for an error, which is always printed.
pub(crate) fn error(text: &str) {
    send(&record::visible::text(text));
}

/// An error with our own colours.
pub(crate) fn painted(text: &str) {
    send(&printer::painted(text));
}

fn send(text: &str) {
    // A closed stderr or a full disk behind it must not end the run, and there is nowhere to report it.
    drop(writeln!(std::io::stderr(), "{text}"));
}
