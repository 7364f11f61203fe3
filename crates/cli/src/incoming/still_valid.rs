//! A connection ends with the certificate that opened it: it expires, or is revoked. Where certificates are needed, it ends
//! soon without one. Every connection ends while the coordinator is cut off.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use pki::{Authority, Peer};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::clock;

/// Enough to exchange a token or to ask for the health; a client without a certificate takes no place for longer.
const WITHOUT_CERTIFICATE: Duration = Duration::from_secs(60);
/// Between two looks.
const PERIOD: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct StillValid {
    authority: Option<Arc<Authority>>,
    peer: Peer,
    isolated: watch::Receiver<bool>,
    opened: Instant,
    looks: Interval,
}

impl StillValid {
    /// `authority`: `None` without certificates. `isolated`: whether the coordinator can serve nobody.
    pub(super) fn new(authority: Option<Arc<Authority>>, peer: Peer, isolated: watch::Receiver<bool>) -> Self {
        // Not at once: the call that comes first is refused with a reason.
        let opened = Instant::now();
        let mut looks = interval_at(opened + PERIOD, PERIOD);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { authority, peer, isolated, opened, looks }
    }

    /// Ready when the connection must end, with the reason.
    pub(super) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        while self.looks.poll_tick(cx).is_ready() {
            if let Some(reason) = self.over() {
                return Poll::Ready(io::Error::new(io::ErrorKind::ConnectionAborted, reason));
            }
        }
        Poll::Pending
    }

    fn over(&self) -> Option<&'static str> {
        if *self.isolated.borrow() {
            return Some("this coordinator reaches neither the store nor another coordinator");
        }
        let authority = self.authority.as_ref()?;
        let Peer::Known(caller) = &self.peer else {
            return (self.opened.elapsed() >= WITHOUT_CERTIFICATE).then_some("it has no certificate");
        };
        let expired = clock::now_millis() / 1_000 >= caller.expires_at;
        let reason = match (expired, authority.is_revoked(&caller.identity)) {
            (true, _) => "its certificate has expired",
            (_, true) => "its certificate is revoked",
            _ => return None,
        };
        tracing::info!(caller = caller.identity.name, reason, "a connection is closed");
        Some(reason)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use pki::{Caller, Role};

    use super::*;

    fn caller(authority: &Authority, seconds: u64) -> Caller {
        let lifetime = Duration::from_secs(seconds);
        let credentials = authority.issue(Role::View, "v", lifetime, clock::now_millis()).unwrap();
        Caller { identity: credentials.identity().clone(), expires_at: credentials.expires_at() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_lasts_as_long_as_its_certificate_counts() {
        let place = tempfile::tempdir().unwrap();
        let authority = Arc::new(Authority::create(place.path(), &[], "tester", clock::now_millis()).unwrap());
        let ends = async |peer: Peer| {
            let began = Instant::now();
            let isolated = watch::channel(false).1;
            let mut still = StillValid::new(Some(Arc::clone(&authority)), peer, isolated);
            let ended = tokio::time::timeout(Duration::from_secs(600), poll_fn(|cx| still.poll_over(cx))).await;
            ended.ok().map(|error| (error.to_string(), began.elapsed()))
        };
        let good = caller(&authority, 3_600);
        assert_eq!(ends(Peer::Known(good.clone())).await, None);
        let (reason, after) = ends(Peer::Unknown).await.unwrap();
        assert_eq!((reason.as_str(), after), ("it has no certificate", WITHOUT_CERTIFICATE));
        let expired = Caller { expires_at: clock::now_millis() / 1_000, ..good.clone() };
        assert_eq!(ends(Peer::Known(expired)).await, Some(("its certificate has expired".to_owned(), PERIOD)));
        authority.revoke(&good.identity.id).unwrap();
        assert_eq!(ends(Peer::Known(good)).await, Some(("its certificate is revoked".to_owned(), PERIOD)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_to_a_coordinator_that_is_cut_off_ends() {
        let (isolated, seen) = watch::channel(false);
        let mut still = StillValid::new(None, Peer::Unknown, seen);
        let waited = tokio::time::timeout(Duration::from_secs(600), poll_fn(|cx| still.poll_over(cx))).await;
        assert!(waited.is_err());
        isolated.send_replace(true);
        let reason = poll_fn(|cx| still.poll_over(cx)).await.to_string();
        assert_eq!(reason, "this coordinator reaches neither the store nor another coordinator");
    }
}
