//! Server-sent events: bytes in as they arrive, the data of whole events out (WHATWG HTML, section 9.2).

/// The limit of a line, and of the data of one event: far more than a chat completion sends at once.
pub(crate) const LONGEST_BYTES: usize = 256 * 1024;

/// A line or an event above [`LONGEST_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream has a line of more than {LONGEST_BYTES} bytes")]
pub(crate) struct TooLong;

/// Cuts a stream into events, independently of how its bytes were split.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    /// Where the unread part of the buffer begins.
    start: usize,
    /// The end of the part that is known to have no line end, so that each byte is searched once.
    scanned: usize,
    /// The last line ended with CR: a LF that follows belongs to it.
    after_cr: bool,
    past_first_line: bool,
    data: Vec<u8>,
    name: Vec<u8>,
    has_data: bool,
    given: bool,
}

/// A whole event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    /// Empty if the server sends none.
    pub(crate) name: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl Reader {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The stream is over. Many servers leave out the empty line after the last event.
    pub(crate) fn end(&mut self) {
        self.feed(b"\n\n");
    }

    /// The next whole event with its name, if there is one yet.
    pub(crate) fn next_named(&mut self) -> Result<Option<Named<'_>>, TooLong> {
        if std::mem::take(&mut self.given) {
            self.data.clear();
            self.name.clear();
            self.has_data = false;
        }
        while let Some((from, to)) = self.next_line()? {
            if from == to {
                if self.has_data {
                    self.given = true;
                    return Ok(Some(Named { name: &self.name, data: &self.data }));
                }
                // A name without data is no event.
                self.name.clear();
            } else {
                self.take_line(from, to)?;
            }
        }
        Ok(None)
    }

    /// The range of the next whole line in the buffer, without its end.
    fn next_line(&mut self) -> Result<Option<(usize, usize)>, TooLong> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
            }
        }
        let from = self.start;
        let unseen = self.scanned.max(from);
        let end = memchr::memchr2(b'\n', b'\r', &self.buffer[unseen..]).map(|at| unseen + at);
        if end.unwrap_or(self.buffer.len()) - from > LONGEST_BYTES {
            return Err(TooLong);
        }
        let Some(end) = end else {
            self.scanned = self.buffer.len();
            return Ok(None);
        };
        self.after_cr = self.buffer[end] == b'\r';
        self.start = end + 1;
        self.scanned = self.start;
        // A byte order mark may precede the first line.
        let mark =
            !std::mem::replace(&mut self.past_first_line, true) && self.buffer[from..end].starts_with(b"\xEF\xBB\xBF");
        Ok(Some((if mark { from + 3 } else { from }, end)))
    }

    /// Only `data` and `event` matter; comments and ids of events do not.
    fn take_line(&mut self, from: usize, to: usize) -> Result<(), TooLong> {
        let line = &self.buffer[from..to];
        if let Some(name) = field(line, b"event") {
            self.name.clear();
            self.name.extend_from_slice(name);
            return Ok(());
        }
        let Some(value) = field(line, b"data") else { return Ok(()) };
        if self.data.len() + value.len() > LONGEST_BYTES {
            return Err(TooLong);
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
        Ok(())
    }
}

/// The value of a line, if it is one of this field.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Result<Vec<String>, TooLong> {
        let mut reader = Reader::default();
        let mut events = Vec::new();
        for piece in pieces {
            reader.feed(piece);
            while let Some(Named { data, .. }) = reader.next_named()? {
                events.push(String::from_utf8_lossy(data).into_owned());
            }
        }
        reader.end();
        while let Some(Named { data, .. }) = reader.next_named()? {
            events.push(String::from_utf8_lossy(data).into_owned());
        }
        Ok(events)
    }

    #[test]
    fn the_standard_and_its_corners() {
        let rows: [(&str, &[&str]); 14] = [
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("data:a\n\n", &["a"]),
            ("data:  a\n\n", &[" a"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            ("data\n\n", &[""]),
            (": ping\n\ndata: a\n\n", &["a"]),
            ("event: message\nid: 7\nretry: 5\ndata: a\n\n", &["a"]),
            ("database: a\n\n", &[]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a", &["a"]),
            ("data: [DONE]\n", &["[DONE]"]),
            ("\n\n\n", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(events(&[text.as_bytes()]).expect("short"), expected, "{text:?}");
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(events(&bytes).expect("short"), expected, "{text:?} byte by byte");
        }
    }

    #[test]
    fn events_have_names() {
        let mut reader = Reader::default();
        reader.feed(b"event: lost\n\nevent: chunk\ndata: a\n\ndata: b\nevent:done\n\ndata: c\n\n");
        let mut seen = Vec::new();
        while let Some(event) = reader.next_named().expect("short") {
            seen.push((event.name.to_vec(), event.data.to_vec()));
        }
        let named = |name: &str, data: &str| (name.as_bytes().to_vec(), data.as_bytes().to_vec());
        assert_eq!(seen, [named("chunk", "a"), named("done", "b"), named("", "c")]);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut reader = Reader::default();
        let mut refused = false;
        for _ in 0..300 {
            reader.feed(&[b'x'; 1_024]);
            refused = refused || reader.next_named() == Err(TooLong);
        }
        assert!(refused);
        let many = format!("data: {}\n", "x".repeat(60_000)).repeat(6);
        assert_eq!(events(&[many.as_bytes()]), Err(TooLong));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_split_give_the_same(
            bytes in proptest::collection::vec(prop_oneof![
                Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0_usize..200, 0..10),
            prefix in prop_oneof![Just("data: a\n"), Just("data:b\r\n\r\n"), Just("")],
        ) {
            let bytes = [prefix.as_bytes(), &bytes].concat();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < bytes.len()).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(events(&pieces), events(&[&bytes]));
        }
    }
}
