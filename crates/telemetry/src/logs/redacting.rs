//! A writer that redacts: it holds its input until a flush, so that no secret gets out in two halves.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use record::visible;

use redact::redact;

/// The kind of output, which determines how control characters are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Json,
    /// With our own colours; the code that colours escapes the rest.
    Painted,
}

/// Collects its input and passes it on redacted, on `flush` and on drop.
#[derive(Debug)]
pub struct Redacting<W: Write> {
    inner: W,
    form: Form,
    held: Vec<u8>,
}

impl<W: Write> Redacting<W> {
    pub fn new(inner: W, form: Form) -> Self {
        Self { inner, form, held: Vec::new() }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        let held = String::from_utf8_lossy(&held);
        let clean = redact(&held);
        let shown = match self.form {
            Form::Text => visible::text(&clean),
            Form::Json => visible::json(&clean),
            Form::Painted => Cow::Borrowed(clean.as_ref()),
        };
        self.inner.write_all(shown.as_bytes())
    }
}

impl<W: Write> Write for Redacting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on()?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for Redacting<W> {
    fn drop(&mut self) {
        // An error during a drop cannot be reported.
        drop(self.pass_on());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redact::register;

    #[test]
    fn a_secret_that_arrives_in_pieces_is_still_one() {
        let secret = "arrives-in-pieces-ß-1234";
        assert!(register(secret));
        let line = format!("before {secret} after\n");
        for cut in 0..=line.len() {
            let mut page = Vec::new();
            let mut writer = Redacting::new(&mut page, Form::Text);
            writer.write_all(&line.as_bytes()[..cut]).unwrap();
            writer.write_all(&line.as_bytes()[cut..]).unwrap();
            drop(writer);
            assert_eq!(String::from_utf8(page).unwrap(), "before [redacted] after\n", "cut at {cut}");
        }
        let mut page = Vec::new();
        let mut writer = Redacting::new(&mut page, Form::Text);
        for byte in line.bytes() {
            writer.write_all(&[byte]).unwrap();
        }
        writer.flush().unwrap();
        writer.write_all(b"more").unwrap();
        drop(writer);
        assert_eq!(page, b"before [redacted] after\nmore");
    }
}
