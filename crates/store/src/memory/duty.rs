//! The duty of a store in memory, with the guarantees of the one in PostgreSQL. The caller reads the store's clock (`now`).

use std::time::Duration;

use crate::{
    Error, Hold, Holder,
    duty::{TTL, held_by},
};

#[derive(Debug)]
pub(super) struct Duty {
    holder: String,
    address: String,
    epoch: i64,
    /// `None`: it was given up.
    until: Option<Duration>,
}

impl Duty {
    /// For a coordinator that takes it over. [`Error::InUse`] if another one holds it.
    pub(super) fn taken(before: Option<&Self>, holder: &str, now: Duration) -> Result<Self, Error> {
        let (epoch, address) = match before {
            Some(duty) if duty.hold(now) == Hold::Held => return Err(held_by(&duty.holder)),
            Some(duty) => (duty.epoch + 1, duty.address.clone()),
            None => (1, String::new()),
        };
        Ok(Self { holder: holder.to_owned(), address, epoch, until: Some(now + TTL) })
    }

    pub(super) fn epoch(&self) -> i64 {
        self.epoch
    }

    pub(super) fn seen(&self, now: Duration) -> Holder {
        let Self { holder, address, epoch, until: _ } = self;
        Holder { name: holder.clone(), address: address.clone(), epoch: *epoch, hold: self.hold(now) }
    }

    fn hold(&self, now: Duration) -> Hold {
        match self.until {
            None => Hold::Released,
            Some(until) if until < now => Hold::Expired,
            Some(_) => Hold::Held,
        }
    }

    /// Whether the coordinator with this epoch may write.
    pub(super) fn is_of(&self, epoch: Option<i64>) -> bool {
        epoch == Some(self.epoch) && self.until.is_some()
    }

    pub(super) fn advertise(&mut self, address: &str) {
        address.clone_into(&mut self.address);
    }

    pub(super) fn renew(&mut self, now: Duration) {
        self.until = Some(now + TTL);
    }

    pub(super) fn give_up(&mut self) {
        self.until = None;
    }
}

#[cfg(test)]
mod tests {
    use record::summary::RunState;

    use super::*;
    use crate::{Memory, Store as _};

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    async fn writes(store: &Memory) -> Result<(), Error> {
        store.open_session("worker", &scenario::Digest::of(b"token"), 0).await.map(drop)
    }

    #[tokio::test]
    async fn one_coordinator_writes_at_a_time() {
        let store = Memory::new();
        assert_eq!(store.holder(at(0)), None);
        let first = store.taken("first", at(0)).unwrap();
        first.advertise("http://one");
        writes(&first).await.unwrap();
        assert!(first.renew(at(2)));
        let refused = store.taken("second", at(5)).unwrap_err();
        assert!(matches!(&refused, Error::InUse(who) if who.contains("of coordinator first")), "{refused}");

        // It was silent for too long. What it writes late changes nothing.
        writes(&first).await.unwrap();
        let second = store.taken("second", at(6)).unwrap();
        let refused = writes(&first).await.unwrap_err();
        assert!(matches!(refused, Error::TakenOver), "{refused}");
        assert!(!first.renew(at(6)) && writes(&store).await.is_err());
        first.give_up();
        first.advertise("http://one");
        let seen = second.holder(at(6)).unwrap();
        assert_eq!((seen.name.as_str(), seen.epoch, seen.hold), ("second", 2, Hold::Held));
        writes(&second).await.unwrap();
        assert_eq!(second.holder(at(10)).unwrap().hold, Hold::Expired);

        // Handed over, it is free at once, and stays given up.
        second.give_up();
        assert!(!second.renew(at(10)) && writes(&second).await.is_err());
        assert_eq!(store.holder(at(6)).unwrap().hold, Hold::Released);
        writes(&store.taken("third", at(6)).unwrap()).await.unwrap();
    }

    #[tokio::test]
    async fn a_store_that_nobody_took_needs_no_holder() {
        let store = Memory::new();
        writes(&store).await.unwrap();
        let unknown = store.set_state(&scenario::RunId::new("run"), RunState::Finished, None).await;
        assert!(matches!(unknown, Err(Error::UnknownRun(_))));
    }
}
