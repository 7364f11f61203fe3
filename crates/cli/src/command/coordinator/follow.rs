//! While another coordinator is in charge: relays calls to it, and takes over when it is gone.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use coordinator::{Elsewhere, service::Place};
use pki::Authority;
use store::{Candidate, Engine, Error, Hold, Holder, Postgres};
use tokio::time::{Instant, sleep, timeout};

use super::hold::{Ended, Office};
use crate::{remote::Between, stdout};

/// Between two looks at the database: a part of the time without a coordinator when one is killed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
const LOOKS_WITHIN: Duration = Duration::from_secs(2);
const TAKES_WITHIN: Duration = Duration::from_secs(30);
/// After the database was away its holder gets so long to renew its hold: it is probably there.
const HOLDER_FIRST: Duration = Duration::from_secs(1);
/// Shorter absences of the store change nothing.
const AWAY: Duration = Duration::from_secs(2);
/// Without store and holder for so long, clients are sent elsewhere.
const ISOLATED: Duration = Duration::from_secs(4);

/// A coordinator of several.
pub(super) struct Peer {
    pub(super) candidate: Candidate,
    pub(super) office: Office,
    pub(super) authority: Option<Arc<Authority>>,
    /// Of this coordinator, for others: its name, and the URL where they reach it.
    pub(super) name: String,
    pub(super) address: String,
    /// Of the store, for people.
    pub(super) place: String,
}

/// What it knows of the one in charge.
#[derive(Default)]
struct Known {
    holder: Option<Holder>,
    between: Option<Between>,
}

/// Whether the database answers.
struct Contact {
    /// Since when it does not.
    lost: Option<Instant>,
    /// Since when it does again.
    back: Option<Instant>,
}

impl Peer {
    /// In charge or not, until it is asked to stop.
    pub(super) async fn serve(self) -> anyhow::Result<()> {
        while let Some(store) = self.follow().await? {
            stdout::line("in charge of the runs")?;
            if self.office.hold(Engine::Postgres(store)).await? == Ended::Drained {
                break;
            }
        }
        Ok(())
    }

    /// Until it is in charge; `None`: it was asked to stop.
    async fn follow(&self) -> anyhow::Result<Option<Postgres>> {
        let mut known = Known::default();
        let mut contact = Contact { lost: None, back: None };
        loop {
            let looked = match timeout(LOOKS_WITHIN, self.candidate.look()).await {
                Ok(looked) => looked,
                Err(_) => Err(Error::Unavailable(format!("no answer within {} s", LOOKS_WITHIN.as_secs()))),
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
                        self.relay_to(&mut known, holder)?;
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

    async fn take(&self, contact: &mut Contact) -> anyhow::Result<Option<Postgres>> {
        let taken = timeout(TAKES_WITHIN, self.candidate.take(&self.name, &self.address)).await;
        match taken.unwrap_or_else(|_| Err(Error::Unavailable("no answer".to_owned()))) {
            Ok(store) => Ok(Some(store)),
            // Another one was faster.
            Err(Error::InUse(_)) => Ok(None),
            Err(error @ Error::Unavailable(_)) => {
                contact.is_lost(&error);
                Ok(None)
            }
            Err(error) => Err(error).with_context(|| format!("failed to open the store in {}", self.place)),
        }
    }

    fn relay_to(&self, known: &mut Known, holder: Holder) -> anyhow::Result<()> {
        let same = |before: &Holder| (before.epoch, &before.address) == (holder.epoch, &holder.address);
        if known.holder.as_ref().is_some_and(same) {
            return Ok(());
        }
        let Holder { name, address, .. } = &holder;
        let between = match address.as_str() {
            _ if *name == self.name => Err(anyhow::anyhow!("nobody is in charge yet")),
            "" => Err(anyhow::anyhow!("the coordinator in charge, {name}, names no address (--advertise)")),
            address => Between::new(address, self.authority.clone()),
        };
        let place = between.as_ref().map_err(|error| format!("{error:#}")).and_then(|between| {
            let (between, address) = (between.clone(), address.clone());
            // The address was read before.
            let channel = between.channel().map_err(|error| format!("{error:#}"))?;
            Ok(Place::Elsewhere(Arc::new(Elsewhere::new(address, move || {
                between.channel().unwrap_or_else(|_| channel.clone())
            }))))
        });
        match place {
            Ok(place) => {
                stdout::line(&format!("relaying to coordinator {name} at {address}, which is in charge"))?;
                self.office.standing.sends(place);
            }
            Err(reason) => {
                tracing::warn!(reason, holder = name, "calls cannot be relayed");
                self.office.standing.sends(Place::Nowhere(reason));
            }
        }
        *known = Known { between: between.ok(), holder: Some(holder) };
        Ok(())
    }

    /// Ready while it reaches the store or the coordinator in charge.
    async fn tell(&self, known: &Known, contact: &Contact) {
        let away = contact.lost.map(|since| since.elapsed()).filter(|away| *away >= AWAY);
        let Some(away) = away else { return self.office.standing.waits(None, false).await };
        let reached = match &known.between {
            Some(between) => between.answers().await,
            None => false,
        };
        let trouble = (!reached).then(|| "neither the store nor a coordinator in charge answers".to_owned());
        let isolated = trouble.is_some() && away >= ISOLATED;
        self.office.standing.waits(trouble, isolated).await;
    }
}

impl Contact {
    fn is_lost(&mut self, error: &Error) {
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
