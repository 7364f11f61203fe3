//! How long a command waits for a coordinator that is away, and which answers end the wait at once.

use std::time::Duration;

use anyhow::anyhow;
use tokio::time::Instant;
use tonic::{Code, Response, Status};

use crate::{exit::usage, refusal, stderr::say};

const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// How long a coordinator may be away, counted from its last message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience(Duration);

impl Patience {
    /// For a coordinator in this process, which never comes back.
    pub(crate) const NONE: Self = Self(Duration::ZERO);

    /// For a question that is answered at once: longer than the next coordinator needs to take over.
    const TAKEOVER: Self = Self(Duration::from_secs(10));

    pub(crate) fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

/// Since when a coordinator is away.
#[derive(Debug)]
pub(crate) struct Away {
    patience: Patience,
    since: Option<Instant>,
}

impl Away {
    pub(crate) fn new(patience: Patience) -> Self {
        Self { patience, since: None }
    }

    /// Resets the wait: the coordinator has answered.
    pub(crate) fn is_back(&mut self) {
        self.since = None;
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// The coordinator refused, or was away for too long.
    pub(crate) async fn wait(&mut self, what: &str, status: &Status) -> anyhow::Result<()> {
        if refuses(status.code()) || refusal::speaks_no_grpc(status) {
            return Err(refused(what, status));
        }
        let Patience(most) = self.patience;
        if most.is_zero() {
            return Err(anyhow!("{what}: {}", reason(Some(status))));
        }
        let reason = reason(Some(status));
        let since = self.since.unwrap_or_else(|| {
            say(&format!("the coordinator went away ({reason}): waiting for it"));
            Instant::now()
        });
        self.since = Some(since);
        if since.elapsed() >= most {
            let waited = record::count::plural(most.as_secs(), "second", "seconds");
            return Err(anyhow!("{what}: the coordinator went away and was not back within {waited}: {reason}"));
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
        Ok(())
    }
}

/// The answer to a question that may be asked again. It waits while no coordinator is in charge.
pub(crate) async fn answered<T>(
    what: &str,
    mut ask: impl AsyncFnMut() -> Result<Response<T>, Status>,
) -> anyhow::Result<T> {
    let mut away = Away::new(Patience::TAKEOVER);
    loop {
        match ask().await {
            Ok(reply) => return Ok(reply.into_inner()),
            Err(status) if status.code() == Code::Unavailable && !refusal::needs_tls(&status) => {
                away.wait(what, &status).await?;
            }
            Err(status) => return Err(refusal::of(what, &status)),
        }
    }
}

/// Whether the coordinator refused the call. Every other code may come from a broken connection.
fn refuses(code: Code) -> bool {
    matches!(
        code,
        Code::NotFound
            | Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
            | Code::OutOfRange
            | Code::ResourceExhausted
            | Code::DataLoss
    )
}

/// The error of a refused call. An unknown run is the caller's mistake.
fn refused(what: &str, status: &Status) -> anyhow::Error {
    let error = refusal::of(what, status);
    if status.code() == tonic::Code::NotFound { usage(error) } else { error }
}

fn reason(status: Option<&Status>) -> String {
    let said = status.map(proto::reason).filter(|text| !text.is_empty());
    said.unwrap_or_else(|| "the connection was closed".to_owned())
}
