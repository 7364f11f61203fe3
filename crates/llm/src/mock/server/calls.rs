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
    /// The same moment in Unix microseconds.
    start_micros: u64,
}

/// A call before its answer.
#[derive(Debug)]
pub(super) struct Began {
    pub(super) context: Context,
    pub(super) at: Instant,
    /// What a chat will be answered.
    pub(super) said: Option<String>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    /// When the body had arrived, in Unix microseconds. Differences are exact: the clock is read once.
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
    /// What a chat was answered; `null` without a whole answer, and for embeddings and moderations.
    said: Option<&'a str>,
    input_tokens: u64,
    output_tokens: u64,
}

impl Calls {
    pub(super) fn new((file, start_micros): (File, u64)) -> Self {
        Self { file: Mutex::new(file), start: Instant::now(), start_micros }
    }

    /// `usage`: of a whole answer.
    pub(super) fn add(&self, role: &str, began: &Began, status: Option<u16>, usage: Option<Usage>) {
        let Began { context, at, said } = began;
        let said = said.as_deref().filter(|_| usage.is_some());
        let usage = usage.unwrap_or_default();
        let line = Line {
            at_micros: self.start_micros.saturating_add(micros_between(self.start, *at)),
            role,
            run: &context.run,
            trial: &context.trial,
            conversation: &context.conversation,
            turn: context.turn,
            try_number: context.try_number,
            status,
            said,
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

fn micros_between(start: Instant, end: Instant) -> u64 {
    u64::try_from(end.duration_since(start).as_micros()).unwrap_or(u64::MAX)
}
