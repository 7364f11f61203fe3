//! While another coordinator is in charge: relays calls to it, and takes over when it is gone.

use std::{sync::Arc, time::Duration};

use store::{Contender, Hold, Holder};
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::Channel;

use crate::{
    Elsewhere,
    office::{Ended, Error, Office},
    service::Place,
};

/// Between two looks at the store: a part of the time without a coordinator when one is killed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
const LOOKS_WITHIN: Duration = Duration::from_secs(2);
const TAKES_WITHIN: Duration = Duration::from_secs(30);
/// After the store was away its holder gets so long to renew its hold: it is probably there.
const HOLDER_FIRST: Duration = Duration::from_secs(1);
/// Shorter absences of the store change nothing.
const AWAY: Duration = Duration::from_secs(2);
/// Without store and holder for so long, clients are sent elsewhere.
const ISOLATED: Duration = Duration::from_secs(4);

/// A coordinator of several.
#[derive(Debug)]
pub struct Peer<C: Contender, W> {
    pub contender: C,
    pub office: Office<C::Store>,
    pub world: W,
    /// Of this coordinator, for others: its name, and the URL where they reach it.
    pub name: String,
    pub address: String,
}

/// What a coordinator of several needs of the world around it.
pub trait World: Send + Sync {
    type Way: Way;

    /// The way to the coordinator at this URL, or why there is none.
    fn way_to(&self, address: &str) -> Result<Self::Way, String>;

    fn tell(&self, news: News<'_>);
}

/// The way to another coordinator.
pub trait Way: Clone + Send + Sync + 'static {
    /// A channel that connects when it is used.
    fn channel(&self) -> Channel;

    /// Whether something listens there.
    fn answers(&self) -> impl Future<Output = bool> + Send;
}

/// For the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News<'a> {
    InCharge,
    Relaying { name: &'a str, address: &'a str },
}

/// What it knows of the one in charge.
struct Known<Way> {
    holder: Option<Holder>,
    way: Option<Way>,
}

/// Whether the store answers.
struct Contact {
    /// Since when it does not.
    lost: Option<Instant>,
    /// Since when it does again.
    back: Option<Instant>,
}

impl<C: Contender, W: World> Peer<C, W> {
    /// In charge or not, until it is asked to stop.
    pub async fn serve(self) -> Result<(), Error> {
        while let Some(store) = self.follow().await? {
            self.world.tell(News::InCharge);
            if self.office.hold(store).await? == Ended::Drained {
                break;
            }
        }
        Ok(())
    }

    /// Until it is in charge; `None`: it was asked to stop.
    async fn follow(&self) -> Result<Option<C::Store>, Error> {
        let mut known = Known { holder: None, way: None };
        let mut contact = Contact { lost: None, back: None };
        loop {
            let looked = match timeout(LOOKS_WITHIN, self.contender.look()).await {
                Ok(looked) => looked,
                Err(_) => Err(store::Error::Unavailable(format!("no answer within {} s", LOOKS_WITHIN.as_secs()))),
            };
            match looked {
                Ok(seen) => {
                    contact.is_there();
                    let free = match seen.as_ref().map(|holder| holder.hold) {
                        None | Some(Hold::Released) => true,
                        Some(Hold::Expired) => contact.is_steady(),
                        Some(Hold::Held) => false,
                    };
                    if free && let Some(store) = self.take(&mut contact).await? {
                        return Ok(Some(store));
                    }
                    if let Some(holder) = seen {
                        self.relay_to(&mut known, holder);
                    }
                }
                Err(error) => contact.is_lost(&error),
            }
            self.tell(&known, &contact).await;
            tokio::select! {
                () = self.office.drain.cancelled() => return Ok(None),
                () = sleep(BETWEEN_LOOKS) => {}
            }
        }
    }

    async fn take(&self, contact: &mut Contact) -> Result<Option<C::Store>, Error> {
        let taken = timeout(TAKES_WITHIN, self.contender.take(&self.name, &self.address)).await;
        match taken.unwrap_or_else(|_| Err(store::Error::Unavailable("no answer".to_owned()))) {
            Ok(store) => Ok(Some(store)),
            // Another one was faster.
            Err(store::Error::InUse(_)) => Ok(None),
            Err(error @ store::Error::Unavailable(_)) => {
                contact.is_lost(&error);
                Ok(None)
            }
            Err(error) => Err(Error::Take(error)),
        }
    }

    fn relay_to(&self, known: &mut Known<W::Way>, holder: Holder) {
        let same = |before: &Holder| (before.epoch, &before.address) == (holder.epoch, &holder.address);
        if known.holder.as_ref().is_some_and(same) {
            return;
        }
        let Holder { name, address, .. } = &holder;
        let way = match address.as_str() {
            _ if *name == self.name => Err("nobody is in charge yet".to_owned()),
            "" => Err(format!("the coordinator in charge, {name}, names no address (--advertise)")),
            address => self.world.way_to(address),
        };
        match &way {
            Ok(way) => {
                self.world.tell(News::Relaying { name, address });
                let way = way.clone();
                let there = Elsewhere::new(address, move || way.channel());
                self.office.standing.sends(Place::Elsewhere(Arc::new(there)));
            }
            Err(reason) => {
                tracing::warn!(reason, holder = name, "calls cannot be relayed");
                self.office.standing.sends(Place::Nowhere(reason.clone()));
            }
        }
        *known = Known { way: way.ok(), holder: Some(holder) };
    }

    /// Ready while it reaches the store or the coordinator in charge.
    async fn tell(&self, known: &Known<W::Way>, contact: &Contact) {
        let away = contact.lost.map(|since| since.elapsed()).filter(|away| *away >= AWAY);
        let Some(away) = away else { return self.office.standing.waits(None, false).await };
        let reached = match &known.way {
            Some(way) => way.answers().await,
            None => false,
        };
        let trouble = (!reached).then(|| "neither the store nor a coordinator in charge answers".to_owned());
        let isolated = trouble.is_some() && away >= ISOLATED;
        self.office.standing.waits(trouble, isolated).await;
    }
}

impl Contact {
    fn is_lost(&mut self, error: &store::Error) {
        if self.lost.is_none() {
            tracing::warn!(%error, "the store does not answer");
            self.lost = Some(Instant::now());
        }
        self.back = None;
    }

    fn is_there(&mut self) {
        if self.lost.take().is_some() {
            tracing::info!("the store answers again");
            self.back = Some(Instant::now());
        }
    }

    /// Whether its holder had time to renew its hold.
    fn is_steady(&self) -> bool {
        self.back.is_none_or(|back| back.elapsed() >= HOLDER_FIRST)
    }
}
