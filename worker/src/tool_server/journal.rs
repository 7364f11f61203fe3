//! The calls of one trial, in the order in which they arrived, until its turn takes them.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use record::turn::ToolCall;

/// The most calls of one turn, and bytes of their texts. An agent that makes more is in a loop.
pub(super) const MOST_CALLS: usize = 1_000;
pub(super) const MOST_BYTES: usize = record::bounds::MOST_EXCHANGE_BYTES;

#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    next: u64,
    calls: Vec<(u64, ToolCall)>,
    /// How many calls of this turn were taken, and the bytes of all its calls.
    taken: usize,
    bytes: usize,
    /// Calls that were taken before they were answered.
    open: BTreeSet<u64>,
    results: Vec<(u64, String)>,
}

/// What happened since the last call of `take`.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) calls: Vec<(u64, ToolCall)>,
    /// Results of calls that were taken before they were answered.
    pub(crate) results: Vec<(u64, String)>,
}

/// A call that is being answered. Dropping it leaves the call without a result.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    journal: &'a Journal,
    number: u64,
}

impl Journal {
    /// Records a call; `None` if the turn has too many.
    pub(super) fn begin(&self, call: ToolCall) -> Option<Entry<'_>> {
        let mut kept = self.lock();
        if kept.taken + kept.calls.len() + kept.open.len() >= MOST_CALLS || kept.bytes > MOST_BYTES {
            return None;
        }
        let number = kept.next;
        kept.next += 1;
        kept.bytes += call.name.len() + call.arguments.len();
        kept.calls.push((number, call));
        Some(Entry { journal: self, number })
    }

    /// Resets the counts of calls and bytes. Calls that are still being answered keep counting.
    pub(crate) fn begin_turn(&self) {
        let mut kept = self.lock();
        (kept.taken, kept.bytes) = (0, 0);
    }

    pub(crate) fn take(&self) -> Taken {
        let mut kept = self.lock();
        let calls = std::mem::take(&mut kept.calls);
        kept.open.extend(calls.iter().filter(|(_, call)| call.result.is_none()).map(|(number, _)| *number));
        kept.taken += calls.len();
        Taken { calls, results: std::mem::take(&mut kept.results) }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry<'_> {
    pub(super) fn answered(self, result: &str) {
        let mut kept = self.journal.lock();
        kept.bytes += result.len();
        if let Some((_, call)) = kept.calls.iter_mut().find(|(number, _)| *number == self.number) {
            call.result = Some(result.to_owned());
        } else {
            kept.results.push((self.number, result.to_owned()));
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.journal.lock().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> ToolCall {
        ToolCall { id: String::new(), name: name.to_owned(), arguments: "{}".to_owned(), result: None }
    }

    #[test]
    fn calls_are_in_order_of_arrival() {
        let journal = Journal::default();
        let (first, second) = (journal.begin(call("a")).unwrap(), journal.begin(call("b")).unwrap());
        second.answered("2");
        let dropped = journal.begin(call("c")).unwrap();
        let taken = journal.take();
        let shape: Vec<_> = taken.calls.iter().map(|(n, call)| (*n, &*call.name, call.result.as_deref())).collect();
        assert_eq!(shape, [(0, "a", None), (1, "b", Some("2")), (2, "c", None)]);
        drop(dropped);
        first.answered("1");
        let taken = journal.take();
        assert_eq!((taken.calls.len(), taken.results), (0, vec![(0, "1".to_owned())]));
        assert!(journal.lock().open.is_empty(), "nothing is kept of calls that are over");
    }

    #[test]
    fn an_agent_that_never_stops_is_stopped() {
        let journal = Journal::default();
        for _ in 0..MOST_CALLS {
            journal.begin(call("a")).unwrap().answered("x");
        }
        assert!(journal.begin(call("a")).is_none());
        assert_eq!(journal.take().calls.len(), MOST_CALLS);
        assert!(journal.begin(call("a")).is_none(), "the turn goes on");
        journal.begin_turn();
        journal.begin(call("a")).expect("another turn").answered(&"x".repeat(MOST_BYTES + 1));
        assert!(journal.begin(call("a")).is_none());
        // Delayed calls count until they end.
        journal.take();
        journal.begin_turn();
        let held: Vec<Entry<'_>> = (0..MOST_CALLS).map(|_| journal.begin(call("a")).unwrap()).collect();
        journal.take();
        journal.begin_turn();
        assert!(journal.begin(call("a")).is_none());
        drop(held);
        assert!(journal.begin(call("a")).is_some());
    }
}
