//! The open streams, at most one for each session. The dispatcher never waits for one.

use std::collections::BTreeMap;

use record::Usd;
use store::Lease;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::DropGuard;

use super::command::Order;

#[derive(Debug, Default)]
pub(super) struct Links {
    links: BTreeMap<u64, Link>,
    streams: u64,
}

#[derive(Debug)]
pub(super) struct Link {
    stream: u64,
    orders: mpsc::Sender<Order>,
    _wanted: DropGuard,
    /// The highest sequence that the session has committed.
    pub(super) acknowledged: u64,
    /// A refused batch. Until it comes again, later ones are skipped.
    refused: Option<u64>,
    /// The last value stored on this stream; `None` before the first heartbeat.
    pub(super) unsettled: Option<Usd>,
    /// When the session's heartbeat was last stored.
    pub(super) stored_at: Option<Instant>,
    /// Trials that have begun and are not in the store yet.
    pub(super) begun: Vec<Lease>,
    /// How many trials the worker plays at the same time.
    slots: u32,
}

/// Whether a batch is taken, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is due, or was committed before.
    Takes,
    /// It comes after a refused one, and will come again.
    Passes,
    /// This number is due instead.
    Early(u64),
}

impl Link {
    pub(super) fn turn_of(&mut self, sequence: u64) -> Turn {
        match self.refused {
            Some(refused) if sequence > refused => return Turn::Passes,
            Some(refused) if sequence == refused => self.refused = None,
            _ => {}
        }
        let due = self.acknowledged + 1;
        if sequence > due { Turn::Early(due) } else { Turn::Takes }
    }

    pub(super) fn refuse(&mut self, sequence: u64) {
        self.refused = Some(sequence);
    }
}

impl Links {
    /// The orders that wait for the stream that has the most of them.
    pub(super) fn most_waiting(&self) -> usize {
        let waiting = |link: &Link| link.orders.max_capacity() - link.orders.capacity();
        self.links.values().map(waiting).max().unwrap_or(0)
    }

    /// A second stream of a session replaces the first, which then ends.
    pub(super) fn open(
        &mut self,
        session: u64,
        orders: mpsc::Sender<Order>,
        wanted: DropGuard,
        acknowledged: u64,
        slots: u32,
    ) -> u64 {
        self.streams += 1;
        let stream = self.streams;
        let link = Link {
            stream,
            orders,
            _wanted: wanted,
            acknowledged,
            refused: None,
            unsettled: None,
            stored_at: None,
            begun: Vec::new(),
            slots,
        };
        self.links.insert(session, link);
        stream
    }

    /// The session's link, if this stream is its newest.
    pub(super) fn get(&mut self, session: u64, stream: u64) -> Option<&mut Link> {
        self.links.get_mut(&session).filter(|link| link.stream == stream)
    }

    /// Keeps newly begun trials until the session's next message stores them.
    pub(super) fn begin(&mut self, session: u64, leases: Vec<Lease>) {
        if let Some(link) = self.links.get_mut(&session) {
            link.begun.extend(leases);
        }
    }

    pub(super) fn take_begun(&mut self, session: u64, stream: u64) -> Vec<Lease> {
        self.get(session, stream).map(|link| std::mem::take(&mut link.begun)).unwrap_or_default()
    }

    /// Whether the session is without a stream now.
    pub(super) fn closed(&mut self, session: u64, stream: u64) -> bool {
        if self.get(session, stream).is_some() {
            self.links.remove(&session);
        }
        !self.links.contains_key(&session)
    }

    /// Never waits: a worker that does not read its stream loses it, since it would hold up all others.
    pub(super) fn send(&mut self, session: u64, order: Order) {
        if let Some(link) = self.links.get(&session)
            && link.orders.try_send(order).is_err()
        {
            tracing::warn!(session, "worker does not read its stream; it is closed");
            self.links.remove(&session);
        }
    }

    /// Says why, and closes the stream.
    pub(super) fn dismiss(&mut self, session: u64, reason: &str) {
        self.send(session, Order::Goodbye { reason: reason.to_owned() });
        self.links.remove(&session);
    }

    /// Closes all streams. The sessions stay.
    pub(super) fn clear(&mut self) {
        self.links.clear();
    }

    /// Every session with its slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = (u64, u64)> {
        self.links.iter().map(|(session, link)| (*session, u64::from(link.slots)))
    }

    pub(super) fn sessions(&self) -> Vec<u64> {
        self.links.keys().copied().collect()
    }
}
