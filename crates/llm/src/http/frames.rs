//! The events of a stream, in the form that its content type names: server-sent events or Amazon's event stream.

use super::{eventstream, sse};

pub(crate) const SSE: &str = "text/event-stream";
pub(crate) const AMAZON: &str = "application/vnd.amazon.eventstream";

/// The name, which may be empty, and the data of an event.
pub(crate) type Event<'a> = (&'a [u8], &'a [u8]);

/// Cuts a stream into events.
#[derive(Debug)]
pub(crate) enum Frames {
    Sse(sse::Reader),
    Amazon(eventstream::Reader),
}

impl Frames {
    /// For an answer of this content type; the default is server-sent events.
    pub(crate) fn of(media_type: Option<&str>) -> Self {
        match media_type {
            Some(AMAZON) => Self::Amazon(eventstream::Reader::default()),
            _ => Self::Sse(sse::Reader::default()),
        }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        match self {
            Self::Sse(reader) => reader.feed(bytes),
            Self::Amazon(reader) => reader.feed(bytes),
        }
    }

    /// The stream is over.
    pub(crate) fn end(&mut self) {
        if let Self::Sse(reader) = self {
            reader.end();
        }
    }

    /// The next whole event, if there is one yet. The error says why the stream cannot be read.
    pub(crate) fn next_event(&mut self) -> Result<Option<Event<'_>>, String> {
        match self {
            Self::Sse(reader) => {
                let event = reader.next_named().map_err(|long| long.to_string())?;
                Ok(event.map(|event| (event.name, event.data)))
            }
            Self::Amazon(reader) => {
                let message = reader.next_message().map_err(|fault| fault.to_string())?;
                Ok(message.map(|message| (message.name, message.data)))
            }
        }
    }
}
