//! Handles the coordinator's messages on a stream.

use llm::money::Funds;
use proto::v1::{self, coordinator_message::Body as Order};
use scenario::Digest;
use tokio::time::Instant;

use super::{
    limits::Said,
    live::{End, Session},
};

impl Session<'_> {
    /// `Some`: the stream is over.
    pub(super) async fn obey(&mut self, order: Order, hello_sent: Instant) -> Option<End> {
        match order {
            Order::Welcome(welcome) => self.welcomed(&welcome, hello_sent),
            Order::Grant(grant) => {
                if self.claims.is_answered_by(&grant) {
                    self.coordinator_clock.heard(self.claims.asked(), grant.clock.as_ref(), Instant::now());
                    return self.granted(grant).await;
                }
            }
            Order::Acknowledged(done) => {
                fail::fail_point!("acknowledgement-heard");
                self.outbox.acknowledged(done.sequence);
            }
            Order::Fenced(fenced) => {
                self.executor.fence(&fenced.trials);
                self.executor.start_ready();
            }
            Order::Refused(refused) => {
                let reason = refused.reason.as_str();
                tracing::warn!(batch = refused.sequence, reason, "the coordinator refuses a record");
                let unfinished = self.outbox.refused(&refused);
                self.executor.end_unrecorded(unfinished, reason);
                self.outgoing.flush();
            }
            Order::Renewed(renewed) => {
                if let Some(sent) = self.heartbeats.answered() {
                    self.renew_calls();
                    self.coordinator_clock.heard(sent, renewed.clock.as_ref(), Instant::now());
                    self.restore_shares();
                }
            }
            Order::Stop(stop) => {
                let first_attempts = (stop.end > 0).then_some(stop.first..stop.end);
                let (waited, given_up) = self.executor.stop_run(&stop.run, first_attempts.as_ref(), stop.drain);
                self.outgoing.release(waited, false);
                self.outgoing.release(given_up, true);
                self.executor.start_ready();
            }
            Order::Received(received) => {
                self.outgoing.received(received.bytes);
                self.outbox.set_quick(self.outgoing.is_quick());
            }
            Order::Share(share) => self.take_share(share),
            Order::Funds(v1::Funds { run, granted, short, used_up }) => {
                // It may come before the first trial of the run.
                fail::fail_point!("money-heard");
                self.executor.purses().open(&run);
                self.executor.purses().fund(&run, Funds { granted, short, used_up });
                self.executor.start_ready();
            }
            Order::Pause(pause) => self.pause(&pause),
            Order::Learned(learned) => self.adopt(&learned),
            Order::Day(grant) => self.grant_day(&grant),
            Order::Goodbye(goodbye) if goodbye.retry => {
                self.trouble = goodbye.reason;
                return Some(End::Broken);
            }
            Order::Goodbye(goodbye) => {
                tracing::info!(reason = goodbye.reason, "the coordinator ended the session");
                return Some(if goodbye.rejoin { End::Over } else { End::Drained });
            }
        }
        None
    }

    fn welcomed(&mut self, welcome: &v1::Welcome, hello_sent: Instant) {
        fail::fail_point!("welcome-heard");
        self.outbox.acknowledged(welcome.acknowledged);
        self.outgoing.flush();
        self.heartbeats.welcomed(hello_sent);
        self.renew_calls();
        self.coordinator_clock.heard(hello_sent, welcome.clock.as_ref(), Instant::now());
        self.log_welcome();
        self.set_away(false);
        self.fenced = false;
        for (trials, begun) in std::mem::take(&mut self.given_up) {
            self.outgoing.release(trials, begun);
        }
        self.executor.connected(true);
        self.executor.purses().say_again();
        self.say_limits(Said::NEWS);
        self.executor.start_ready();
        if self.claims.is_open() {
            // The stream broke before the answer came.
            self.say_claim();
        }
        let begun = self.executor.all_begun(&self.outbox.unacknowledged_attempts());
        self.outgoing.say_begun(begun);
    }

    /// Logs that there is a stream again, and how long there was none.
    fn log_welcome(&mut self) {
        let Some(since) = self.apart.take() else { return };
        if std::mem::replace(&mut self.welcomed, true) {
            let away_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(session = self.id, away_ms, "the coordinator is back");
        } else {
            tracing::info!(session = self.id, "joined the coordinator");
        }
    }

    async fn granted(&mut self, grant: v1::Grant) -> Option<End> {
        if grant.leases.is_empty() {
            self.claims.came_to_nothing(grant.retry_millis);
        } else {
            let trials = grant.leases.iter().map(|lease| lease.end.saturating_sub(lease.first)).sum();
            self.executor.granted(trials, Instant::now());
        }
        for lease in grant.leases {
            if self.leaving.is_some() {
                self.outgoing.release(vec![held_of(&lease)], false);
            } else if let Some(end) = self.take_lease(&lease).await {
                return Some(end);
            }
        }
        self.executor.start_ready();
        None
    }

    /// Fetches the plan of a lease if it is not known. A lease without its plan is declined.
    async fn take_lease(&mut self, lease: &v1::Lease) -> Option<End> {
        let digest = Digest::new(lease.plan_digest.clone());
        if !self.executor.knows(&digest) {
            let mut client = self.client.clone();
            let request = v1::GetPlanRequest { digest: lease.plan_digest.clone() };
            let learned = match self.reach(client.get_plan(request)).await {
                None => return Some(self.silent()),
                Some(Ok(reply)) => self.executor.learn(digest, &reply.into_inner().plan).map_err(|why| why.to_string()),
                Some(Err(status)) => Err(status.message().to_owned()),
            };
            if let Err(error) = learned {
                tracing::warn!(run = lease.run, error, "the plan of a lease cannot be had");
                self.decline(lease);
                return None;
            }
        }
        let began = lease.began_micros.and_then(|micros| self.coordinator_clock.at(micros));
        fail::fail_point!("lease-heard");
        if let Err(error) = self.executor.accept(lease, began) {
            tracing::warn!(run = lease.run, %error, "a lease cannot be played");
            self.decline(lease);
        }
        None
    }

    /// Returns a lease, for workers that can play it, and pauses before the next claim.
    fn decline(&mut self, lease: &v1::Lease) {
        self.outgoing.release(vec![held_of(lease)], false);
        self.claims.declined();
    }
}

fn held_of(lease: &v1::Lease) -> v1::Held {
    v1::Held { run: lease.run.clone(), first: lease.first, end: lease.end, epoch: lease.epoch }
}
