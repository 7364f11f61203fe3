//! What the loops say, and how they read and check an answer.

use std::borrow::Cow;

use anyhow::Context as _;
use serde::Deserialize;

/// The lines of `four_turns.scenario.yaml`.
pub(crate) const LINES: [&str; 4] = [
    "Please say hello to me, this is message 1 about order 1234.",
    "Please say hello to me, this is message 2 about order 1234.",
    "Please say hello to me, this is message 3 about order 1234.",
    "Please say hello to me, this is message 4 about order 1234.",
];

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Text<'a>,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<ChunkChoice<'a>>,
}

#[derive(Deserialize)]
struct ChunkChoice<'a> {
    #[serde(borrow)]
    delta: Text<'a>,
}

#[derive(Deserialize)]
struct Text<'a> {
    #[serde(borrow, default)]
    content: Cow<'a, str>,
}

/// The text of a whole answer.
pub(crate) fn read(body: &[u8]) -> anyhow::Result<String> {
    let completion: Completion<'_> = serde_json::from_slice(body)?;
    Ok(completion.choices.into_iter().next().context("no choice")?.message.content.into_owned())
}

/// Fails unless the text answers this turn, counted from 1.
pub(crate) fn check(text: &str, turn: usize) -> anyhow::Result<()> {
    anyhow::ensure!(text.contains(&format!("turn={turn}")), "turn {turn} was answered with {text:?}");
    Ok(())
}

/// Reads the text of a stream of server-sent events from pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct Events {
    unread: Vec<u8>,
    pub(crate) text: String,
}

impl Events {
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.unread.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(end) = memchr::memchr(b'\n', &self.unread[start..]).map(|at| start + at) {
            let line = &self.unread[start..end];
            start = end + 1;
            let Some(data) = line.strip_prefix(b"data: ").filter(|data| *data != b"[DONE]") else { continue };
            let chunk: Chunk<'_> = serde_json::from_slice(data)?;
            if let Some(choice) = chunk.choices.first() {
                self.text.push_str(&choice.delta.content);
            }
        }
        self.unread.drain(..start);
        Ok(())
    }
}
