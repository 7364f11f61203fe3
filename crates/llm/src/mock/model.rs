//! The mock in this process: calls answered without a socket.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{
    Error, Receipt, Timing, Usage,
    call::{Call, Named},
    chat::{self, Reply},
    measure,
};

use super::{
    answer::{self, Answer},
    behaviour::{Behaviour, Role},
    chance::Key,
    measure::{Mocked, key_of},
    queue::Queue,
    tokens,
    weather::{self, Pace, Trouble},
};

/// A model that answers by itself.
#[derive(Debug, Clone)]
pub struct Mock {
    endpoint: String,
    behaviour: Behaviour,
    /// Its behaviour, as a server has its parameters.
    asked_with: Arc<str>,
    began: Instant,
    queue: Queue,
}

/// The outcome of one try, before any delay.
#[derive(Debug)]
pub(crate) struct Outcome<'a, T> {
    pub(crate) role: Role,
    pub(crate) pace: Pace<'a>,
    pub(crate) result: Result<T, Trouble>,
    /// Names the call, the same for each of its tries.
    pub(crate) id: u64,
}

/// A measurement and the tokens that it read.
#[derive(Debug)]
pub(crate) struct Measured<V> {
    pub(crate) value: V,
    pub(crate) usage: Usage,
}

impl Mock {
    #[must_use]
    pub fn new(endpoint_name: impl Into<String>, behaviour: Behaviour) -> Self {
        let asked_with = serde_json::to_string(&behaviour).unwrap_or_default().into();
        let began = Instant::now();
        let queue = Queue::of(behaviour.at_once, began);
        Self { endpoint: endpoint_name.into(), behaviour, asked_with, began, queue }
    }

    /// The name of its build.
    pub(crate) fn fingerprint(&self) -> Option<String> {
        self.behaviour.fingerprint.clone()
    }

    /// `model`: the requested name, which determines the role if the context does not.
    pub(crate) fn chat(&self, request: &chat::Request, model: &str) -> Outcome<'_, Answer> {
        let role = answer::role_of(request, model);
        let key = answer::key_of(request, role);
        let answer = || answer::answer(&self.behaviour, request, role, key);
        let mut outcome = self.outcome(role, key, request.context.try_number, answer);
        if outcome.result.as_ref().is_ok_and(|answer| answer.is_failure) {
            outcome.pace.first = outcome.pace.first.mul_f64(1.0 + self.behaviour.failure_delay);
        }
        outcome
    }

    pub(crate) fn measure<M: Mocked>(&self, request: &measure::Request<M>) -> Outcome<'_, Measured<M::Value>> {
        let measured = || {
            let usage = Usage { input: tokens::of_messages(request.of.texts()), ..Usage::default() };
            Measured { value: request.of.value(), usage }
        };
        self.outcome(Role::Scorer, key_of(request), request.context.try_number, measured)
    }

    fn outcome<T>(&self, role: Role, key: Key, try_number: u32, answer: impl FnOnce() -> T) -> Outcome<'_, T> {
        let trouble = weather::trouble(&self.behaviour, key, try_number);
        let result = trouble.map_or_else(|| Ok(answer()), Err);
        let mut pace = weather::pace(&self.behaviour, key, try_number, || self.began.elapsed());
        pace.first += self.queue.wait(Instant::now(), pace.first);
        Outcome { role, pace, result, id: key.value() }
    }

    /// The rest of an outcome after its first pause, and the length of that pause.
    async fn first<T>(
        &self,
        start: Instant,
        pace: Pace<'_>,
        result: Result<T, Trouble>,
    ) -> Result<(T, Duration), Error> {
        if matches!(result, Err(Trouble::Hang)) {
            // Only the caller's own limit ends it.
            std::future::pending::<()>().await;
        }
        until(start, pace.first).await;
        let first_token = start.elapsed();
        Ok((result.map_err(|trouble| self.error(trouble))?, first_token))
    }

    fn receipt(&self, usage: Usage, timing: Timing) -> Receipt {
        Receipt {
            usage,
            model: self.endpoint.clone(),
            fingerprint: self.behaviour.fingerprint.clone().unwrap_or_default(),
            asked_with: Some(Arc::clone(&self.asked_with)),
            timing,
            tries: 1,
            ..Receipt::default()
        }
    }

    fn error(&self, trouble: Trouble) -> Error {
        let endpoint = self.endpoint.clone();
        match trouble {
            Trouble::Throttled { after } => {
                Error::Throttled { endpoint, after: Some(after), message: "the mock throttles this call".to_owned() }
            }
            Trouble::Failed => Error::Unreachable {
                endpoint,
                status: Some(500),
                message: "the mock fails this call".to_owned(),
                sent: true,
            },
            Trouble::Malformed | Trouble::Hang => Error::Malformed {
                endpoint,
                message: "the mock answers this call with nonsense".to_owned(),
                partial: String::new(),
            },
        }
    }
}

impl Named for Mock {
    fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

#[async_trait]
impl Call<chat::Request> for Mock {
    async fn ask(&self, request: &chat::Request) -> Result<Reply, Error> {
        let start = Instant::now();
        let Outcome { pace, result, .. } = self.chat(request, &self.endpoint);
        let (answer, first_token) = self.first(start, pace, result).await?;
        let pieces = pieces(&answer.text).count();
        until(start, pace.last(pieces)).await;
        let total = start.elapsed();
        let gaps = u32::try_from(pieces.saturating_sub(1)).unwrap_or(u32::MAX);
        let timing = Timing {
            first_token: Some(first_token),
            inter_token: (gaps > 0).then(|| (total - first_token) / gaps.max(1)),
            total,
            ..Timing::default()
        };
        Ok(Reply {
            text: answer.text,
            tool_calls: answer.tool_calls,
            actions: answer.actions,
            notes: answer.notes,
            finish: answer.finish,
            receipt: Box::new(self.receipt(answer.usage, timing)),
            ..Reply::default()
        })
    }
}

#[async_trait]
impl<M: Mocked> Call<measure::Request<M>> for Mock {
    async fn ask(&self, request: &measure::Request<M>) -> Result<measure::Reply<M::Value>, Error> {
        let start = Instant::now();
        let Outcome { pace, result, .. } = self.measure(request);
        let (Measured { value, usage }, first_token) = self.first(start, pace, result).await?;
        let timing = Timing { first_token: Some(first_token), total: start.elapsed(), ..Timing::default() };
        Ok(measure::Reply { value, receipt: self.receipt(usage, timing) })
    }
}

/// The pieces in which a reply is streamed: words with the space after them.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// Waits until this long after the start. Returns at once if that time is past, because a timer costs a millisecond.
pub(crate) async fn until(start: Instant, due: Duration) {
    if due > Duration::ZERO {
        tokio::time::sleep_until(start + due).await;
    }
}
