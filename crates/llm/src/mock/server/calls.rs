//! The file of `gabfest mock --calls`: a line of JSON for each call that a client made.

use std::{
    fs::File,
    io::Write as _,
    sync::{Mutex, PoisonError},
};

use serde::Serialize;
use tokio::time::Instant;

use crate::{Context, Usage};

#[derive(Debug)]
pub(super) struct Calls {
    file: Mutex<File>,
    start: Instant,
}

/// A call before its answer.
#[derive(Debug)]
pub(super) struct Began {
    pub(super) context: Context,
    pub(super) at: Instant,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    /// When the body had arrived, since the server began.
    at_micros: u64,
    role: &'a str,
    run: &'a str,
    trial: &'a str,
    conversation: &'a str,
    turn: u32,
    /// From 0.
    #[serde(rename = "try")]
    try_number: u32,
    /// `null`: the client went away.
    status: Option<u16>,
    /// `null` without a whole answer.
    said: Option<&'a str>,
    input_tokens: u64,
    output_tokens: u64,
}

impl Calls {
    pub(super) fn new(file: File) -> Self {
        Self { file: Mutex::new(file), start: Instant::now() }
    }

    /// `answer`: a whole one, with what it used.
    pub(super) fn add(&self, role: &str, began: &Began, status: Option<u16>, answer: Option<(&str, Usage)>) {
        let Began { context, at } = began;
        let usage = answer.map(|(_, usage)| usage).unwrap_or_default();
        let line = Line {
            at_micros: u64::try_from(at.duration_since(self.start).as_micros()).unwrap_or(u64::MAX),
            role,
            run: &context.run,
            trial: &context.trial,
            conversation: &context.conversation,
            turn: context.turn,
            try_number: context.try_number,
            status,
            said: answer.map(|(said, _)| said),
            input_tokens: usage.input,
            output_tokens: usage.output,
        };
        let mut text = serde_json::to_vec(&line).expect("a line of plain values is JSON");
        text.push(b'\n');
        // Whole lines, so that a reader never sees half of one for long.
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&text);
        if let Err(error) = written {
            tracing::error!(%error, "a call is missing in the file of --calls");
        }
    }
}
