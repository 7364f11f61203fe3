//! A connection ends with the certificate that opened it: it expires, or is revoked. Without one it ends soon.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use pki::{Authority, Peer};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::clock;

/// Enough to exchange a token or to ask for the health; a client without a certificate takes no place for longer.
const WITHOUT_CERTIFICATE: Duration = Duration::from_secs(60);
/// Between two looks.
const PERIOD: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct StillValid {
    authority: Arc<Authority>,
    peer: Peer,
    opened: Instant,
    looks: Interval,
}

impl StillValid {
    pub(super) fn new(authority: Arc<Authority>, peer: Peer) -> Self {
        // Not at once: the call that comes first is refused with a reason.
        let opened = Instant::now();
        let mut looks = interval_at(opened + PERIOD, PERIOD);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { authority, peer, opened, looks }
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
        let Peer::Known(caller) = &self.peer else {
            return (self.opened.elapsed() >= WITHOUT_CERTIFICATE).then_some("it has no certificate");
        };
        let expired = clock::now_millis() / 1_000 >= caller.expires_at;
        let reason = match (expired, self.authority.is_revoked(&caller.identity)) {
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
            let mut still = StillValid::new(Arc::clone(&authority), peer);
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
}
