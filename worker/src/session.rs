//! The worker's side of the lease protocol: one session after the other, until somebody says that it is enough.

use std::time::Duration;

use proto::v1::{self, coordinator_client::CoordinatorClient};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use self::live::{End, Session};
use crate::{executor::Executor, gate::Gate, outbox::Outbox};

mod live;
mod pipe;
#[cfg(test)]
mod tests;

/// How a worker presents itself.
#[derive(Debug, Clone)]
pub struct Config {
    /// For people.
    pub name: String,
    /// Concurrent trials.
    pub slots: u32,
    pub timing: Timing,
}

/// How long the worker trusts a silent coordinator.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Without an open stream no new call starts after this.
    pub away: Duration,
    /// Without a renewed lease everything that is being played is given up after this.
    pub self_fence: Duration,
    /// How long to try to reach a coordinator before giving up.
    pub patience: Duration,
    /// How long trials that are being played may take after a drain began.
    pub grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            away: Duration::from_secs(1),
            self_fence: Duration::from_secs(20),
            patience: Duration::from_secs(60),
            grace: Duration::from_secs(120),
        }
    }
}

/// How a worker is asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Drain {
    /// Take no more trials, and finish those that are being played.
    pub begin: CancellationToken,
    /// Give back what is being played too, at once. Means nothing before the drain began.
    pub hurry: CancellationToken,
}

impl From<CancellationToken> for Drain {
    fn from(begin: CancellationToken) -> Self {
        Self { begin, hurry: CancellationToken::new() }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("reach the coordinator within {} s: {last}", patience.as_secs())]
    Unreachable { patience: Duration, last: String },
    #[error("join the coordinator: {0}")]
    Refused(String),
    /// The session ended before the coordinator had everything; those trials will be played again.
    #[error("send the last results: the coordinator was away for too long")]
    Unsent,
}

const RECONNECT: Duration = Duration::from_millis(200);

/// Plays leased trials until `drain` is cancelled and what was being played is sent.
pub(crate) async fn run(
    config: &Config,
    channel: Channel,
    executor: &mut Executor,
    outbox: &Outbox,
    gate: &Gate,
    drain: &Drain,
) -> Result<(), Error> {
    let mut client = CoordinatorClient::new(channel)
        .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(proto::MAX_MESSAGE_BYTES);
    while let Some(joined) = join(config, &mut client, &drain.begin).await? {
        let mut session = Session::new(&joined, config, &mut client, executor, outbox, gate);
        match session.live(drain).await {
            End::Drained => break,
            End::Over | End::Broken => {
                if drain.begin.is_cancelled() && !outbox.is_empty() {
                    return Err(Error::Unsent);
                }
                tracing::info!("the session is over: running conversations are given up");
                executor.abandon_all();
                outbox.clear();
                // A coordinator that sends everybody home is not asked again at once.
                sleep(RECONNECT).await;
            }
        }
    }
    Ok(())
}

/// `None`: drained before there was a session.
async fn join(
    config: &Config,
    client: &mut CoordinatorClient<Channel>,
    drain: &CancellationToken,
) -> Result<Option<v1::JoinReply>, Error> {
    let patience = config.timing.patience;
    let give_up = Instant::now() + patience;
    let request = v1::JoinRequest {
        worker: config.name.clone(),
        slots: config.slots,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: proto::PROTOCOL,
    };
    let mut last = "it does not answer".to_owned();
    loop {
        let refused = tokio::select! {
            () = drain.cancelled() => return Ok(None),
            answer = client.join(request.clone()) => match answer {
                Ok(reply) => return Ok(Some(reply.into_inner())),
                Err(status) => status,
            },
            () = sleep_until(give_up) => return Err(Error::Unreachable { patience, last }),
        };
        match refused.code() {
            tonic::Code::Unavailable
            | tonic::Code::Unknown
            | tonic::Code::Cancelled
            | tonic::Code::DeadlineExceeded => {}
            _ => return Err(Error::Refused(refused.message().to_owned())),
        }
        last = proto::reason(&refused);
        tokio::select! {
            () = drain.cancelled() => return Ok(None),
            () = sleep(RECONNECT) => {}
        }
    }
}
