//! Amazon's event stream: bytes in as they arrive, whole messages out. Each has its lengths, headers and checksums.

/// The limit of one message: far more than a model sends at once.
const LONGEST_BYTES: usize = 256 * 1024;
/// The lengths of the message and of its headers, and the checksum of both.
const PRELUDE_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the stream has a message of {0} bytes")]
    Length(usize),
    #[error("the stream has a message whose checksum is wrong")]
    Checksum,
    #[error("the stream has a message whose headers cannot be read")]
    Headers,
}

/// Cuts a stream into messages, independently of how its bytes were split.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    /// Where the unread part of the buffer begins.
    start: usize,
    name: Vec<u8>,
}

/// A whole message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// The type of the event or of the exception.
    pub(crate) name: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl Reader {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one yet.
    pub(crate) fn next_message(&mut self) -> Result<Option<Message<'_>>, Fault> {
        let unread = &self.buffer[self.start..];
        let Some(prelude) = unread.get(..PRELUDE_BYTES) else { return Ok(None) };
        let (length, headers) = (number(prelude, 0), number(prelude, 4));
        if length > LONGEST_BYTES || length < PRELUDE_BYTES + headers + CHECKSUM_BYTES {
            return Err(Fault::Length(length));
        }
        check(prelude)?;
        let Some(message) = unread.get(..length) else { return Ok(None) };
        check(message)?;
        let data = PRELUDE_BYTES + headers..length - CHECKSUM_BYTES;
        self.name.clear();
        self.name.extend_from_slice(name(&message[PRELUDE_BYTES..data.start]).ok_or(Fault::Headers)?);
        let from = self.start;
        self.start += length;
        Ok(Some(Message { name: &self.name, data: &self.buffer[from + data.start..from + data.end] }))
    }
}

fn number(bytes: &[u8], at: usize) -> usize {
    let number = bytes[at..at + 4].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The last four bytes are the checksum of those before.
fn check(bytes: &[u8]) -> Result<(), Fault> {
    let (bytes, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    let is_right = crc32fast::hash(bytes).to_be_bytes() == *checksum;
    if is_right { Ok(()) } else { Err(Fault::Checksum) }
}

/// The type of the event, of the exception, or the code of the error; `None` if the headers end too soon.
fn name(mut headers: &[u8]) -> Option<&[u8]> {
    let mut found: &[u8] = b"";
    while let Some((length, rest)) = headers.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let (value, rest) = match kind {
            // True and false say all; then integers of 1, 2, 4 and 8 bytes, a time and a UUID.
            0 | 1 => rest.split_at_checked(0)?,
            2 => rest.split_at_checked(1)?,
            3 => rest.split_at_checked(2)?,
            4 => rest.split_at_checked(4)?,
            5 | 8 => rest.split_at_checked(8)?,
            9 => rest.split_at_checked(16)?,
            // Bytes and texts have their length before them.
            6 | 7 => {
                let (length, rest) = rest.split_at_checked(2)?;
                rest.split_at_checked(usize::from(length[0]) << 8 | usize::from(length[1]))?
            }
            _ => return None,
        };
        if matches!(name, b":event-type" | b":exception-type" | b":error-code") {
            found = value;
        }
        headers = rest;
    }
    Some(found)
}

/// A message as a server writes it.
#[must_use]
pub(crate) fn message(headers: &[(&str, &str)], data: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    for (name, value) in headers {
        written.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        written.extend_from_slice(name.as_bytes());
        written.push(7);
        written.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        written.extend_from_slice(value.as_bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    let mut message = Vec::new();
    message.extend(length(PRELUDE_BYTES + written.len() + data.len() + CHECKSUM_BYTES));
    message.extend(length(written.len()));
    message.extend(crc32fast::hash(&message).to_be_bytes());
    message.extend(written);
    message.extend_from_slice(data);
    message.extend(crc32fast::hash(&message).to_be_bytes());
    message
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, Fault> {
        let mut reader = Reader::default();
        let mut messages = Vec::new();
        for piece in pieces {
            reader.feed(piece);
            while let Some(Message { name, data }) = reader.next_message()? {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                messages.push((text(name), text(data)));
            }
        }
        Ok(messages)
    }

    fn stream() -> Vec<u8> {
        let event = |kind: &str, data: &str| {
            message(
                &[(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")],
                data.as_bytes(),
            )
        };
        [event("messageStart", "{}"), event("messageStop", "{\"a\":1}")].concat()
    }

    /// The example of the format's documentation: an empty message.
    #[test]
    fn the_empty_message_has_these_bytes() {
        let empty = [0, 0, 0, 0x10, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff];
        assert_eq!(message(&[], b""), empty);
        assert_eq!(read(&[&empty]), Ok(vec![(String::new(), String::new())]));
    }

    #[test]
    fn messages_are_the_same_in_every_split() {
        let stream = stream();
        let expected = Ok(vec![("messageStart".into(), "{}".into()), ("messageStop".into(), "{\"a\":1}".into())]);
        for at in 0..=stream.len() {
            let (first, second) = stream.split_at(at);
            assert_eq!(read(&[first, second]), expected, "{at}");
        }
        assert_eq!(read(&stream.chunks(1).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn a_torn_message_is_seen() {
        let stream = stream();
        for at in 0..stream.len() {
            let mut torn = stream.clone();
            torn[at] ^= 0x40;
            assert!(read(&[&torn]).map_or(true, |messages| messages.len() < 2), "{at}");
        }
        let huge = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(read(&[&huge]), Err(Fault::Length(u32::MAX as usize)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200), headers in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = read(&[&bytes]);
            let _ = name(&headers);
        }
    }
}
