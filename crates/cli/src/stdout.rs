//! Prints the output of commands. A reader may close the pipe early; any other failure is an error.

use std::io::{ErrorKind, IsTerminal as _, Write as _};

use anyhow::Context as _;

use crate::printer;

/// Text for people. Control characters are escaped, so that no text steers the terminal.
pub(crate) fn write(text: &str) -> anyhow::Result<()> {
    send(&record::visible::text(text))
}

pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    write(&format!("{text}\n"))
}

/// The same with our own colours.
pub(crate) fn painted(text: &str) -> anyhow::Result<()> {
    send(&printer::painted(text))
}

/// Prints a document for programs exactly as in its file; for a terminal it is cleaned.
pub(crate) fn document(text: &str) -> anyhow::Result<()> {
    if std::io::stdout().is_terminal() { write(text) } else { send(text) }
}

fn send(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("failed to write to stdout"),
        _ => Ok(()),
    }
}
