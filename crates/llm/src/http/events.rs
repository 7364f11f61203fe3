//! An answer as a stream of server-sent events, each with its time.

use tokio::time::Instant;

use crate::Error;

use super::{
    answer::{Answer, MOST_STREAM_BYTES},
    causes::chain,
    sender::Sender,
    sse::{self, Reader},
};

/// A stream of server-sent events.
#[derive(Debug)]
pub struct Events<'a> {
    sender: &'a Sender,
    answer: &'a mut Answer,
    reader: Reader,
    bytes: usize,
    ended: bool,
    came: Instant,
}

/// One event of a stream.
#[derive(Debug)]
pub struct Event {
    /// Empty if the server sends none.
    pub name: String,
    pub data: Vec<u8>,
    /// When its last byte came.
    pub came: Instant,
}

impl Answer {
    /// Reads the body as server-sent events; `sender` is the sender of the call.
    pub fn events<'a>(&'a mut self, sender: &'a Sender) -> Events<'a> {
        let came = self.sent();
        Events { sender, answer: self, reader: Reader::default(), bytes: 0, ended: false, came }
    }
}

impl Events<'_> {
    /// The next event that is not empty; `None` at the end of the stream.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.ready()? {
                return Ok(Some(event));
            }
            if self.ended {
                return Ok(None);
            }
            let chunk = match self.answer.chunk().await {
                Ok(chunk) => chunk,
                Err(error) => {
                    let message = format!("the stream breaks off: {}", chain(&error));
                    return Err(self.sender.malformed(self.answer.place(), message, b""));
                }
            };
            self.came = Instant::now();
            match chunk {
                Some(chunk) => {
                    self.bytes += chunk.len();
                    self.reader.feed(&chunk);
                }
                None => {
                    self.ended = true;
                    self.reader.end();
                }
            }
            if self.bytes > MOST_STREAM_BYTES {
                let message = format!("a stream of more than {MOST_STREAM_BYTES} bytes");
                return Err(self.sender.malformed(self.answer.place(), message, b""));
            }
        }
    }

    /// Stops reading events.
    pub async fn finish(self) {
        if !self.ended {
            self.answer.linger().await;
        }
    }

    fn ready(&mut self) -> Result<Option<Event>, Error> {
        let (sender, place) = (self.sender, self.answer.place());
        let long = |error: sse::TooLong| sender.malformed(place, error.to_string(), b"");
        let came = self.came;
        while let Some(event) = self.reader.next_named().map_err(long)? {
            if !event.data.trim_ascii().is_empty() {
                let name = String::from_utf8_lossy(event.name).into_owned();
                return Ok(Some(Event { name, data: event.data.to_vec(), came }));
            }
        }
        Ok(None)
    }
}
