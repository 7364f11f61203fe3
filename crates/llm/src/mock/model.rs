//! The mock in this process: the trait [`Model`] without a socket.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{Error, Model, Reply, Request, Timing};

use super::{
    answer::{self, Answer},
    behaviour::{Behaviour, Role},
    weather::{self, Pace, Trouble},
};

/// A model that answers by itself.
#[derive(Debug, Clone)]
pub struct Mock {
    endpoint: String,
    behaviour: Behaviour,
}

/// What comes of one try of a request, before anything is waited for.
#[derive(Debug)]
pub(crate) struct Outcome<'a> {
    pub(crate) role: Role,
    pub(crate) pace: Pace<'a>,
    pub(crate) result: Result<Answer, Trouble>,
    /// Names the call, the same for each of its tries.
    pub(crate) id: u64,
}

impl Mock {
    #[must_use]
    pub fn new(endpoint_name: impl Into<String>, behaviour: Behaviour) -> Self {
        Self { endpoint: endpoint_name.into(), behaviour }
    }

    /// `model`: the name that was asked for, which tells the role where the context does not.
    pub(crate) fn play(&self, request: &Request, model: &str) -> Outcome<'_> {
        let role = answer::role_of(request, model);
        let key = answer::key_of(request, role);
        let try_number = request.context.try_number;
        let result = match weather::trouble(&self.behaviour, key, try_number) {
            Some(trouble) => Err(trouble),
            None => Ok(answer::answer(&self.behaviour, request, role, key)),
        };
        Outcome { role, pace: weather::pace(&self.behaviour, key, try_number), result, id: key.value() }
    }

    fn error(&self, trouble: Trouble) -> Error {
        let endpoint = self.endpoint.clone();
        match trouble {
            Trouble::Throttled { after } => {
                Error::Throttled { endpoint, after: Some(after), message: "the mock was told to throttle".to_owned() }
            }
            Trouble::Failed => Error::Unreachable {
                endpoint,
                status: Some(500),
                message: "the mock was told to fail".to_owned(),
                sent: true,
            },
            Trouble::Malformed | Trouble::Hang => Error::Malformed {
                endpoint,
                message: "the mock was told to answer nonsense".to_owned(),
                partial: String::new(),
            },
        }
    }
}

#[async_trait]
impl Model for Mock {
    fn endpoint(&self) -> &str {
        &self.endpoint
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        let start = Instant::now();
        let Outcome { pace, result, .. } = self.play(request, &self.endpoint);
        if matches!(result, Err(Trouble::Hang)) {
            // The caller's own limit ends it.
            std::future::pending::<()>().await;
        }
        until(start, pace.first).await;
        let first_token = start.elapsed();
        let answer = result.map_err(|trouble| self.error(trouble))?;
        let pieces = pieces(&answer.text).count();
        until(start, pace.last(pieces)).await;
        let total = start.elapsed();
        let gaps = u32::try_from(pieces.saturating_sub(1)).unwrap_or(u32::MAX);
        Ok(Reply {
            text: answer.text,
            tool_calls: answer.tool_calls,
            actions: answer.actions,
            notes: answer.notes,
            finish_reason: Some(answer.finish_reason.to_owned()),
            usage: answer.usage,
            model: self.endpoint.clone(),
            timing: Timing {
                first_token: Some(first_token),
                inter_token: (gaps > 0).then(|| (total - first_token) / gaps.max(1)),
                total,
                ..Timing::default()
            },
            vectors: answer.vectors,
            labels: answer.labels,
            tries: 1,
            ..Reply::default()
        })
    }
}

/// The pieces in which a reply is streamed: words with the space after them.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// Waits until so long after the start; not at all where that is past, for a timer costs a millisecond.
pub(crate) async fn until(start: Instant, due: Duration) {
    if due > Duration::ZERO {
        tokio::time::sleep_until(start + due).await;
    }
}
