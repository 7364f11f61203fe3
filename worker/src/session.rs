//! The worker's side of the lease protocol: one session after the other, until the worker is drained.
//!
//! [`live`] is one session over its streams, [`orders`] handles the coordinator's messages, [`outgoing`] queues the
//! worker's, and [`pipe`] limits how many results are in flight. [`limits`] says what the worker needs of its limits.
//! [`heartbeat`] renews the session, [`claim`] asks for trials, and [`coordinator_clock`] tells when their load began.

use std::time::Duration;

use proto::{
    Transport,
    v1::{self, coordinator_client::CoordinatorClient},
};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use self::{
    config::RECONNECT,
    live::{End, Session},
};
use crate::{admission::Admission, executor::Executor, outbox::Outbox};

mod claim;
mod config;
mod coordinator_clock;
mod heartbeat;
mod limits;
mod live;
mod machine;
mod orders;
mod outgoing;
mod pipe;
#[cfg(test)]
mod tests;

pub use self::config::{Config, Drain, Timing};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the coordinator was not reached within {} s: {last}", patience.as_secs())]
    Unreachable { patience: Duration, last: String },
    #[error("join the coordinator: {0}")]
    Refused(String),
    /// The session ended before the coordinator had everything; those trials will be played again.
    #[error("send the last results: the coordinator was away for too long")]
    Unsent,
}

/// Plays leased trials until `drain` is cancelled and the running ones are sent.
pub(crate) async fn run(
    config: &Config,
    coordinator: Transport,
    executor: &mut Executor,
    outbox: &Outbox,
    admission: &Admission,
    drain: &Drain,
) -> Result<(), Error> {
    let mut client = CoordinatorClient::new(coordinator)
        .max_decoding_message_size(proto::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(proto::MAX_MESSAGE_BYTES);
    while let Some(joined) = join(config, &mut client, &drain.begin).await? {
        fail::fail_point!("worker-joined");
        let mut session = Session::new(&joined, config, &mut client, executor, outbox, admission);
        match session.live(drain).await {
            End::Drained => break,
            End::Lost => {
                let (patience, last) = (config.timing.patience, std::mem::take(&mut session.trouble));
                executor.abandon_all().await;
                let is_unsent = drain.begin.is_cancelled() && !outbox.is_empty();
                return Err(if is_unsent { Error::Unsent } else { Error::Unreachable { patience, last } });
            }
            End::Over | End::Broken => {
                if drain.begin.is_cancelled() && !outbox.is_empty() {
                    return Err(Error::Unsent);
                }
                tracing::info!("the session is over: running conversations are given up");
                executor.abandon_all().await;
                outbox.clear();
                // Do not reconnect at once to a coordinator that ends all sessions.
                sleep(RECONNECT).await;
            }
        }
    }
    Ok(())
}

/// `None`: drained before there was a session.
async fn join(
    config: &Config,
    client: &mut CoordinatorClient<Transport>,
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
                Ok(reply) => {
                    let reply = reply.into_inner();
                    tracing::info!(session = reply.session, coordinator = reply.version, "joined");
                    return Ok(Some(reply));
                }
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
