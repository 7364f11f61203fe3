//! What must hold of a run, whatever failed while it was played: the invariants I1 to I12 of `docs/protocol.md`.
//!
//! The simulation of a fleet and chaos with real processes hold what a run published ([`Run`]) against the same rules, and
//! against the [`Ledger`] of an agent that counts for itself.

mod ends;
mod ledger;
mod limits;
mod memory;
mod money;
mod once;
mod provider;
mod same;
mod sums;
mod turns;

use std::{collections::BTreeMap, fmt, time::Duration};

use serde_json::Value;

pub use self::{
    ends::ends,
    ledger::{Ledger, Served},
    limits::{Limit, limits},
    memory::memory,
    money::money,
    once::once,
    provider::{calls, owners, words},
    same::same,
    sums::sums,
    turns::turns,
};

/// What a run published.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// The trials that the plan has.
    pub planned: u64,
    /// `report.json`.
    pub report: Value,
    /// The lines of `trials.jsonl`.
    pub trials: Vec<Value>,
    /// The lines of `transcripts.jsonl`. The run keeps those of all trials.
    pub transcripts: Vec<Value>,
}

/// What a harness knows of the faults that it made.
#[derive(Default, Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a function has none")]
pub struct Known<'a> {
    /// What the fleet may call.
    pub limit: Option<Limit>,
    /// Attempts that may have begun without the coordinator's knowledge: the slots of each worker that was killed or cut off.
    pub unheard: u64,
    /// Whether an earlier attempt may go on at that time. `None`: never.
    pub excuses: Option<&'a dyn Fn(Duration) -> bool>,
}

/// By their numbers in `docs/protocol.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// I1: each trial is there once, and the verdicts add up to the plan.
    Once,
    /// I2: the turns of a trial are complete and of one attempt.
    Turns,
    /// I3: cases, scenarios, personas, turns, tokens and cost add up.
    Sums,
    /// I4: the agent said what the transcripts say.
    Words,
    /// I5: no time has more calls than the limits allow.
    Limits,
    /// I6: no budget is exceeded.
    Money,
    /// I7: each call that the agent answered belongs to an attempt that the report counts.
    Calls,
    /// I8: the run ends in time.
    Ends,
    /// I9: the coordinator's memory is bounded.
    Memory,
    /// I10: no key is in any file.
    Secrets,
    /// I11: the verdicts are those of the undisturbed run.
    Same,
    /// I12: no two attempts of one trial go on at the same time.
    Owners,
}

/// What was looked at, and what is wrong.
#[derive(Debug, Clone, Default)]
pub struct Findings(BTreeMap<Invariant, Vec<String>>);

impl Invariant {
    pub const ALL: [Self; 12] = [
        Self::Once,
        Self::Turns,
        Self::Sums,
        Self::Words,
        Self::Limits,
        Self::Money,
        Self::Calls,
        Self::Ends,
        Self::Memory,
        Self::Secrets,
        Self::Same,
        Self::Owners,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Once => "I1 each trial once",
            Self::Turns => "I2 turns",
            Self::Sums => "I3 sums",
            Self::Words => "I4 words",
            Self::Limits => "I5 limits",
            Self::Money => "I6 money",
            Self::Calls => "I7 calls",
            Self::Ends => "I8 ends in time",
            Self::Memory => "I9 memory",
            Self::Secrets => "I10 secrets",
            Self::Same => "I11 same verdicts",
            Self::Owners => "I12 one attempt at a time",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Findings {
    /// Says what one look found.
    pub fn add(&mut self, invariant: Invariant, broken: impl IntoIterator<Item = String>) {
        self.0.entry(invariant).or_default().extend(broken);
    }

    /// All that a run and an agent's ledger can be held against.
    pub fn look(&mut self, run: &Run, ledger: Option<&Ledger>, known: &Known<'_>) {
        self.add(Invariant::Once, once(run));
        self.add(Invariant::Turns, turns(run));
        self.add(Invariant::Sums, sums(run));
        if !run.report["summary"]["budget"].is_null() {
            self.add(Invariant::Money, money(run, ledger));
        }
        let Some(ledger) = ledger else { return };
        self.add(Invariant::Words, words(run, ledger));
        self.add(Invariant::Calls, calls(run, ledger, known.unheard));
        self.add(Invariant::Owners, owners(ledger, |until| known.excuses.is_some_and(|excuses| excuses(until))));
        if let Some(limit) = known.limit {
            self.add(Invariant::Limits, limits(ledger, limit));
        }
    }

    /// Adds what another look found.
    pub fn extend(&mut self, other: Self) {
        for (invariant, broken) in other.0 {
            self.add(invariant, broken);
        }
    }

    /// Each with its invariant in front.
    pub fn broken(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(|(invariant, broken)| broken.iter().map(move |what| format!("{invariant}: {what}")))
    }

    /// The invariants that somebody looked at, such as `I1, I2 and I11`.
    #[must_use]
    pub fn looked_at(&self) -> String {
        let number = |invariant: &Invariant| invariant.name().split(' ').next().unwrap_or_default();
        let numbers: Vec<&str> = self.0.keys().map(number).collect();
        match numbers.split_last() {
            None => "none".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
        }
    }
}

/// The first few of a list.
fn some<T: fmt::Display>(all: &[T]) -> String {
    const NAMED: usize = 3;
    let named: Vec<String> = all.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if all.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", named.join(", "))
}

/// A number of the report's summary; `u64::MAX` if it is not there.
fn number(run: &Run, pointer: &str) -> u64 {
    run.report["summary"].pointer(pointer).and_then(Value::as_u64).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
