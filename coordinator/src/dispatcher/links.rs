//! The open streams: at most one a session, never waited for.

use std::collections::BTreeMap;

use record::Usd;
use tokio::sync::mpsc;
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
    /// As last stored over this stream; what was stored before it is not known here.
    pub(super) unsettled: Option<Usd>,
    /// Trials that it plays at the same time.
    slots: u32,
}

impl Links {
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
        let link = Link { stream, orders, _wanted: wanted, acknowledged, unsettled: None, slots };
        self.links.insert(session, link);
        stream
    }

    /// The session's link, if this stream is its newest.
    pub(super) fn get(&mut self, session: u64, stream: u64) -> Option<&mut Link> {
        self.links.get_mut(&session).filter(|link| link.stream == stream)
    }

    /// Whether the session is without a stream now.
    pub(super) fn closed(&mut self, session: u64, stream: u64) -> bool {
        if self.get(session, stream).is_some() {
            self.links.remove(&session);
        }
        !self.links.contains_key(&session)
    }

    /// A worker that does not read what it is told loses its stream instead of holding up everybody.
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

    /// Every session with its slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = (u64, u64)> {
        self.links.iter().map(|(session, link)| (*session, u64::from(link.slots)))
    }

    pub(super) fn sessions(&self) -> Vec<u64> {
        self.links.keys().copied().collect()
    }
}
