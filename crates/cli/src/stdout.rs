//! What a command answers, on stdout. Whoever reads it may stop early; anything else that goes wrong is an error.

use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;

pub(crate) fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("failed to write to stdout"),
        _ => Ok(()),
    }
}

pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    write(&format!("{text}\n"))
}
