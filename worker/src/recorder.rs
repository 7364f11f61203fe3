//! Counts every question of a trial to a language model: a layer round the model that keeps the calls.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use record::{Call, Role, Tokens, Usd, call::ErrorKind};
use tokio::time::Instant;

use crate::gate::Gate;

/// The calls of one trial since they were last taken.
#[derive(Debug)]
pub(crate) struct CallLog {
    started: Instant,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    calls: Vec<Call>,
}

impl CallLog {
    pub(crate) fn new(started: Instant) -> Arc<Self> {
        Arc::new(Self { started, kept: Mutex::default() })
    }

    /// Takes what was called since the last time.
    pub(crate) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.lock().calls)
    }

    pub(crate) fn push(&self, call: Call) {
        self.lock().calls.push(call);
    }

    pub(crate) fn micros_since_start(&self, at: Instant) -> u64 {
        micros(at.saturating_duration_since(self.started))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no panic happens while the call log is locked")
    }
}

/// A model whose calls are kept in a trial's log.
pub(crate) struct Recorded {
    model: Arc<dyn llm::Model>,
    role: Role,
    log: Arc<CallLog>,
    gate: Gate,
}

impl Recorded {
    pub(crate) fn new(model: Arc<dyn llm::Model>, role: Role, log: Arc<CallLog>, gate: Gate) -> Self {
        Self { model, role, log, gate }
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").field("role", &self.role).field("endpoint", &self.model.endpoint()).finish()
    }
}

#[async_trait]
impl llm::Model for Recorded {
    fn endpoint(&self) -> &str {
        self.model.endpoint()
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    async fn ask(&self, request: &llm::Request) -> Result<llm::Reply, llm::Error> {
        let came = Instant::now();
        let held = self.gate.pass().await;
        let began = Instant::now();
        let answer = self.model.ask(request).await;
        let started_micros = self.log.micros_since_start(came);
        self.log.push(match &answer {
            Ok(reply) => Call {
                role: self.role,
                endpoint: self.model.endpoint().to_owned(),
                model: reply.model.clone(),
                started_micros,
                wait_micros: micros(held + reply.timing.wait),
                connect_micros: reply.timing.connect.map(micros),
                ttft_micros: reply.timing.first_token.map(micros),
                inter_token_micros: reply.timing.inter_token.map(micros),
                total_micros: micros(reply.timing.total),
                retried_micros: micros(reply.timing.retried),
                tokens: Tokens { input: reply.usage.input_tokens, output: reply.usage.output_tokens },
                cost: reply.cost_nanos.map(Usd),
                tries: reply.tries,
                lost_tries: reply.lost_tries,
                error: None,
                error_kind: None,
                of_trial: false,
            },
            Err(error) => {
                let cost = (!error.may_have_been_charged()).then_some(Usd(0));
                let call = failed_call(
                    self.role,
                    self.model.endpoint(),
                    started_micros,
                    began.elapsed(),
                    error,
                    kind_of(error),
                );
                Call { model: self.model.name().to_owned(), cost, wait_micros: micros(held), ..call }
            }
        });
        answer
    }
}

/// A call that gave nothing: its tokens are unknown, so it makes the cost a lower bound.
pub(crate) fn failed_call(
    role: Role,
    endpoint: &str,
    started_micros: u64,
    took: Duration,
    error: &dyn fmt::Display,
    kind: ErrorKind,
) -> Call {
    Call {
        role,
        endpoint: endpoint.to_owned(),
        model: endpoint.to_owned(),
        started_micros,
        wait_micros: 0,
        connect_micros: None,
        ttft_micros: None,
        inter_token_micros: None,
        total_micros: micros(took),
        retried_micros: 0,
        tokens: Tokens::default(),
        cost: None,
        tries: 1,
        lost_tries: 0,
        error: Some(error.to_string()),
        error_kind: Some(kind),
        of_trial: false,
    }
}

fn kind_of(error: &llm::Error) -> ErrorKind {
    match error {
        llm::Error::Refused { .. } => ErrorKind::Refused,
        llm::Error::Throttled { .. } => ErrorKind::Throttled,
        llm::Error::TimedOut { .. } => ErrorKind::TimedOut,
        llm::Error::Malformed { .. } => ErrorKind::Malformed,
        llm::Error::Unreachable { .. } => ErrorKind::Unreachable,
        llm::Error::Exhausted { .. } => ErrorKind::Exhausted,
        llm::Error::Unwritable { .. } | llm::Error::NoKey { .. } => ErrorKind::Unwritable,
    }
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
