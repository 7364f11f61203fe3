//! Arrivals of open paces that wait: until they are due, then for a free slot, and not for long.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    compiled::CompiledScenarios,
    outbox::Attempt,
    trial::{Ticket, Timing},
};

/// The most that wait. At 2,000 a second they last for the 4 s that a coordinator leases ahead.
const MOST: usize = 8_192;

/// Why an arrival is dropped.
const NO_SLOT: &str = "no slot was free in time";
const CAME_LATE: &str = "no worker got it in time: the coordinator was away, or no worker was there";

/// A trial that waits. Its ticket is made when it starts: tickets of a whole lease would delay the starts that are due
/// meanwhile by milliseconds.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) attempt: Attempt,
    /// Their plan has this trial.
    pub(super) scripts: Arc<CompiledScenarios>,
    pub(super) timing: Timing,
    /// When the worker got it.
    pub(super) came: Instant,
}

impl Arrival {
    pub(super) fn ticket(self) -> Ticket {
        let Self { attempt, scripts, timing, .. } = self;
        let trial = scripts.trial(attempt.trial).expect("trials of a lease are in its plan");
        Ticket { timing: Some(Box::new(timing)), ..Ticket::new(attempt, trial, scripts) }
    }
}

#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// By due time, then as they came.
    waiting: BTreeMap<(Instant, u64), Arrival>,
    added: u64,
    /// More may be leased until then.
    expected_until: Option<Instant>,
}

impl Arrivals {
    pub(super) fn add(&mut self, due: Instant, arrival: Arrival) {
        self.added += 1;
        self.waiting.insert((due, self.added), arrival);
    }

    /// A load has arrivals until then.
    pub(super) fn expect_until(&mut self, end: Instant) {
        self.expected_until = self.expected_until.max(Some(end));
    }

    /// How many more to claim.
    pub(super) fn room(&self) -> u32 {
        u32::try_from(MOST.saturating_sub(self.waiting.len())).unwrap_or(u32::MAX)
    }

    /// Whether to claim arrivals although all slots are busy.
    pub(super) fn are_expected(&self, now: Instant) -> bool {
        self.expected_until.is_some_and(|end| now < end) && self.waiting.len() < MOST
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Removes an arrival that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Ticket> {
        let entry = self.waiting.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove().ticket())
    }

    /// Removes an arrival that is not played, since it would start too late, with the reason.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<(Ticket, &'static str)> {
        let entry = self.waiting.first_entry()?;
        let Arrival { timing, came, .. } = entry.get();
        let drops_at = timing.drops_at.filter(|drops_at| *drops_at < now)?;
        let why = if *came <= drops_at { NO_SLOT } else { CAME_LATE };
        Some((entry.remove().ticket(), why))
    }

    /// When the next one starts, or is dropped where no slot is free.
    pub(super) fn next_at(&self, slot_is_free: bool) -> Option<Instant> {
        let ((due, _), arrival) = self.waiting.first_key_value()?;
        // A microsecond later it is dropped, so that one of a time that has just come may still start.
        let dropped = arrival.timing.drops_at.map(|drops_at| drops_at + Duration::from_micros(1));
        if slot_is_free { Some(*due) } else { dropped }
    }

    pub(super) fn attempts(&self) -> impl Iterator<Item = &Attempt> {
        self.waiting.values().map(|arrival| &arrival.attempt)
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Attempt) -> bool) {
        self.waiting.retain(|_, arrival| keep(&arrival.attempt));
    }

    /// Removes all.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Attempt> {
        std::mem::take(&mut self.waiting).into_values().map(|arrival| arrival.attempt)
    }
}

#[cfg(test)]
mod tests {
    use scenario::RunId;
    use serde_json::json;

    use super::*;
    use crate::fakes;

    /// Of a plan with ten trials, which are due a second apart. Numbers beyond have no ticket.
    fn waiting(numbers: &[u64], began: Instant) -> Arrivals {
        came(numbers, began, began)
    }

    fn came(numbers: &[u64], began: Instant, came: Instant) -> Arrivals {
        let plan = fakes::plan(&fakes::scenario(json!([{ "input": "hello" }]), json!({})), 10);
        let scripts = Arc::new(CompiledScenarios::new(plan));
        let mut arrivals = Arrivals::default();
        for number in numbers {
            let due = began + Duration::from_secs(*number);
            let timing = Timing { load_began: began, due: Some(due), drops_at: Some(due + Duration::from_secs(1)) };
            let attempt = Attempt { run: RunId::new("r"), trial: *number, epoch: 1 };
            arrivals.add(due, Arrival { attempt, scripts: Arc::clone(&scripts), timing, came });
        }
        arrivals
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_made_when_its_arrival_starts() {
        let began = Instant::now();
        // To make the ticket of trial 99 would be a panic.
        let mut arrivals = waiting(&[3, 99, 1], began);
        assert!(arrivals.take_due(began).is_none(), "none is due");
        let at = |seconds| began + Duration::from_secs(seconds);
        let ticket = arrivals.take_due(at(1)).expect("one is due");
        assert_eq!((ticket.attempt.trial, ticket.timing.as_ref().and_then(|timing| timing.due)), (1, Some(at(1))));
        assert!(arrivals.take_due(at(2)).is_none());
        assert!(arrivals.take_expired(at(4)).is_none(), "it may wait for a second");
        let (late, why) = arrivals.take_expired(at(5)).expect("its time is over");
        assert_eq!((late.attempt.trial, why), (3, NO_SLOT));
        let (_, why) = came(&[3], began, at(5)).take_expired(at(5)).expect("its time is over");
        assert_eq!(why, CAME_LATE, "a free slot would not have helped");
        assert_eq!((arrivals.next_at(true), arrivals.room()), (Some(at(99)), MOST as u32 - 1));
        // What is given back needs no ticket.
        assert_eq!(arrivals.take_all().map(|attempt| attempt.trial).collect::<Vec<_>>(), [99]);
        assert!(arrivals.is_empty());
    }
}
