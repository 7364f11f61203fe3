//! What the agent itself counted.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

/// The calls that an agent, or the server of all models, received.
#[derive(Debug, Clone, Default)]
pub struct Ledger(pub Vec<Served>);

/// A call that arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Served {
    /// When, since any fixed moment.
    pub at: Duration,
    /// `agent`, `user_sim` or `judge`.
    pub role: String,
    pub trial: String,
    /// From 1.
    pub attempt: u32,
    /// From 1.
    pub turn: u32,
    /// The whole answer; `None` if it was refused, or if the client went away.
    pub said: Option<String>,
    /// What the answer costs, in nano-dollars.
    pub cost_nanos: i64,
}

/// A line of `gabfest mock --calls`.
#[derive(Debug, Deserialize)]
struct Line {
    at_micros: u64,
    role: String,
    trial: String,
    conversation: String,
    turn: u32,
    said: Option<String>,
    input_tokens: u64,
    output_tokens: u64,
}

impl Ledger {
    /// Reads the file of `gabfest mock --calls`. `nanos`: the price of a token that is read, and of one that is written.
    ///
    /// # Errors
    /// A line is not one of this file, with its number.
    pub fn read(text: &str, nanos: (u64, u64)) -> Result<Self, String> {
        let served = |(place, line): (usize, &str)| -> Result<Served, String> {
            let line: Line = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", place + 1))?;
            let cost = line.input_tokens * nanos.0 + line.output_tokens * nanos.1;
            Ok(Served {
                at: Duration::from_micros(line.at_micros),
                role: line.role,
                trial: line.trial,
                attempt: attempt_of(&line.conversation).unwrap_or_default(),
                turn: line.turn,
                said: line.said,
                cost_nanos: i64::try_from(cost).unwrap_or(i64::MAX),
            })
        };
        text.lines().enumerate().map(served).collect::<Result<_, _>>().map(Self)
    }

    /// The calls of the agent under test, by trial and attempt.
    pub(crate) fn by_attempt(&self) -> BTreeMap<(&str, u32), Vec<&Served>> {
        let mut by_attempt: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for call in self.of_agent() {
            by_attempt.entry((call.trial.as_str(), call.attempt)).or_default().push(call);
        }
        by_attempt
    }

    pub(crate) fn of_agent(&self) -> impl Iterator<Item = &Served> {
        self.0.iter().filter(|call| call.role == "agent")
    }

    /// What all answers cost, in nano-dollars.
    #[must_use]
    pub fn cost_nanos(&self) -> i64 {
        self.0.iter().map(|call| call.cost_nanos).sum()
    }
}

/// `RUN-TRIAL-ATTEMPT-NUMBER`.
fn attempt_of(conversation: &str) -> Option<u32> {
    conversation.rsplit('-').nth(1)?.parse().ok()
}
