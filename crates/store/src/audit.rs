//! What is wrong in a store's own tables: rows that belong to nothing, or contradict each other.

use std::collections::BTreeMap;

use record::{Role, call::Spend};

use crate::Error;

/// Named faults, with the statement that finds them. Each returns texts; both engines understand them.
pub(crate) const FAULTS: [(&str, &str); 9] = [
    (
        "an attempt counts and was lost",
        "select run.id || ': trial ' || trial.number || ', attempt ' || trial.epoch
         from trial join run on run.key = trial.run
         join attempt on attempt.run = trial.run and attempt.number = trial.number and attempt.epoch = trial.epoch",
    ),
    (
        "an attempt counts and was replaced",
        "select run.id || ': trial ' || trial.number || ', attempt ' || trial.epoch
         from trial join run on run.key = trial.run
         join replaced on replaced.run = trial.run and replaced.number = trial.number
             and replaced.epoch >= trial.epoch",
    ),
    (
        "a trial belongs to no run",
        "select 'trial ' || number || ' of run ' || run from trial where run not in (select key from run)",
    ),
    (
        "an attempt belongs to no run",
        "select 'trial ' || number || ' of run ' || run from attempt where run not in (select key from run)
         union all
         select 'trial ' || number || ' of run ' || run from replaced where run not in (select key from run)",
    ),
    (
        "a segment belongs to no run",
        "select 'segment ' || sequence || ' of session ' || session from segment
         where run not in (select key from run)",
    ),
    (
        "a trial names a session that there is not",
        "select run.id || ': trial ' || trial.number || ', session ' || trial.session
         from trial join run on run.key = trial.run where trial.session not in (select id from session)",
    ),
    (
        "spending belongs to no run",
        "select role || ' ' || model || ' of run ' || run from spend where run not in (select key from run)",
    ),
    (
        "a session that ended holds a lease",
        "select 'session ' || session || ', lease ' || lease.id from lease join session on session.id = lease.session
         where session.ended_at is not null",
    ),
    (
        "a session returned more money than it got",
        "select run.id || ': session ' || session from slice join run on run.key = slice.run
         where returned_nanos > granted_nanos or returned_nanos < 0",
    ),
];

pub(crate) const PIECES: &str = "a segment lacks pieces";
pub(crate) const ALONE: &str = "a piece belongs to no segment";
const SUMS: &str = "the spending of a run is not the sum of its segments";
/// Segments that are read at a time.
pub(crate) const PAGE: i64 = 1_000;

/// So many of each kind are named.
pub(crate) const MOST_NAMED: usize = 20;

/// A fault in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub what: &'static str,
    /// Which rows.
    pub place: String,
}

/// What the segments of each run spent, added up.
pub(crate) struct Sums(BTreeMap<i64, Sum>);

struct Sum {
    id: String,
    /// `None`: an older version did not keep what a segment spent.
    spend: Option<Spend>,
}

impl Sums {
    /// Of runs by key, each with its id and its preflight as JSON.
    pub(crate) fn of(runs: Vec<(i64, String, String)>) -> Result<Self, Error> {
        let sum = |(key, id, preflight): (i64, String, String)| Ok((key, Sum { id, spend: Some(read(&preflight)?) }));
        Ok(Self(runs.into_iter().map(sum).collect::<Result<_, Error>>()?))
    }

    /// Adds what a segment spent. Those of deleted runs count nowhere.
    pub(crate) fn add(&mut self, run: i64, spend: Option<&str>) -> Result<(), Error> {
        let Some(sum) = self.0.get_mut(&run) else { return Ok(()) };
        match (&mut sum.spend, spend) {
            (Some(sum), Some(spend)) => sum.add(&read(spend)?),
            (of, _) => *of = None,
        }
        Ok(())
    }

    pub(crate) fn runs(&self) -> impl Iterator<Item = i64> {
        self.0.keys().copied()
    }

    /// Compares it with what the runs have.
    pub(crate) fn faults(&self, kept: &BTreeMap<i64, Spend>) -> Vec<Fault> {
        let mut wrong = Vec::new();
        for (key, Sum { id, spend }) in &self.0 {
            let (Some(sum), Some(kept)) = (spend, kept.get(key)) else { continue };
            for role in Role::ALL.into_iter().filter(|role| sum.of(*role) != kept.of(*role)) {
                let (sum, kept) = (sum.of(role), kept.of(role));
                wrong.push(format!(
                    "{id}: {}: {} calls and {} nano-dollars, not {} and {}",
                    role.name(),
                    kept.calls,
                    kept.cost.0,
                    sum.calls,
                    sum.cost.0
                ));
            }
        }
        faults(SUMS, wrong).collect()
    }
}

fn read(json: &str) -> Result<Spend, Error> {
    serde_json::from_str(json).map_err(|error| Error::Failed(format!("a stored spend: {error}")))
}

pub(crate) fn faults(what: &'static str, places: Vec<String>) -> impl Iterator<Item = Fault> {
    places.into_iter().take(MOST_NAMED).map(move |place| Fault { what, place })
}
