//! What is wrong in a store's own tables: rows that belong to nothing, or contradict each other.

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

/// So many of each kind are named.
pub(crate) const MOST_NAMED: usize = 20;

/// A fault in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub what: &'static str,
    /// Which rows.
    pub place: String,
}

pub(crate) fn faults(what: &'static str, places: Vec<String>) -> impl Iterator<Item = Fault> {
    places.into_iter().take(MOST_NAMED).map(move |place| Fault { what, place })
}
