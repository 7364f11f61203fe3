//! The recording layer: keeps every call of a trial to a language model.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use llm::{
    Call, Named, Receipt, Usage,
    call::{Reply, Request},
    chat::Finish,
};
use record::{
    Role, Tokens, Usd, by_model,
    call::{CallTexts, ErrorKind},
    named_limits::{LimitOf, NamedLimits},
};
use telemetry::trace::CallContent;
use tokio::time::Instant;

use crate::{admission::Admission, call_texts, outbox::Owed};

/// The most texts of calls that a trial keeps until its trace is exported.
const MOST_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// The calls of one trial since they were last taken.
#[derive(Debug)]
pub(crate) struct CallLog {
    started: Instant,
    kept: Mutex<Kept>,
    owed: Owed,
    /// If traces have content.
    content: Option<CallContent>,
}

#[derive(Debug, Default)]
struct Kept {
    calls: Vec<Logged>,
    /// Of the texts of all calls so far.
    text_bytes: usize,
}

#[derive(Debug)]
struct Logged {
    /// The number of the question to a judge or scorer, which counts votes and tries; `None`: another role's call.
    question: Option<u32>,
    call: record::Call,
}

impl CallLog {
    pub(crate) fn new(started: Instant, owed: Owed, content: Option<CallContent>) -> Arc<Self> {
        Arc::new(Self { started, kept: Mutex::default(), owed, content })
    }

    pub(crate) fn keeps_texts(&self) -> bool {
        self.content.is_some()
    }

    /// The texts of a call, if its trace shows them and the trial has room for them.
    pub(crate) fn texts(&self, make: impl FnOnce(&CallContent) -> CallTexts) -> Option<Arc<CallTexts>> {
        let content = self.content.as_ref()?;
        if self.lock().text_bytes > MOST_TEXT_BYTES {
            return None;
        }
        let texts = make(content);
        self.lock().text_bytes += texts.bytes();
        Some(Arc::new(texts))
    }

    /// Takes the calls since the last time. Judges vote at the same time, and their calls are in the order of their questions,
    /// not of their answers; calls of other roles follow each other.
    pub(crate) fn take(&self) -> Vec<record::Call> {
        let mut calls = std::mem::take(&mut self.lock().calls);
        for questions in calls.chunk_by_mut(|one, next| one.question.is_some() == next.question.is_some()) {
            questions.sort_by_key(|logged| logged.question);
        }
        calls.into_iter().map(|logged| logged.call).collect()
    }

    /// Counts what a call costs as owed, without keeping the call.
    pub(crate) fn owe(&self, call: &record::Call) {
        self.owed.add(call);
    }

    pub(crate) fn push(&self, call: record::Call) {
        self.add(None, call);
    }

    fn add(&self, question: Option<u32>, call: record::Call) {
        self.owe(&call);
        self.lock().calls.push(Logged { question, call });
    }

    pub(crate) fn micros_since_start(&self, at: Instant) -> u64 {
        micros(at.saturating_duration_since(self.started))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no panic happens while the call log is locked")
    }
}

/// A chat or measuring model that records its calls in a trial's log.
pub(crate) struct Recorded<C: ?Sized> {
    model: Arc<C>,
    role: Role,
    log: Arc<CallLog>,
    admission: Admission,
}

impl<C: ?Sized> Recorded<C> {
    pub(crate) fn new(model: Arc<C>, role: Role, log: Arc<CallLog>, admission: Admission) -> Self {
        Self { model, role, log, admission }
    }
}

impl<C: Named + ?Sized> fmt::Debug for Recorded<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").field("role", &self.role).field("endpoint", &self.model.endpoint()).finish()
    }
}

impl<C: Named + ?Sized> Named for Recorded<C> {
    fn endpoint(&self) -> &str {
        self.model.endpoint()
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    fn most_input_bytes(&self, max_tokens: Option<u32>) -> Option<u64> {
        self.model.most_input_bytes(max_tokens)
    }
}

#[async_trait]
impl<R: Request, C: Call<R> + ?Sized> Call<R> for Recorded<C> {
    async fn ask(&self, request: &R) -> Result<R::Reply, llm::Error> {
        let came = Instant::now();
        let held = self.admission.pass().await;
        let began = Instant::now();
        let question = matches!(self.role, Role::Judge | Role::Scorer).then(|| request.context().call);
        let mut open = OpenCall { recorded: Some(self), question, came, held, began };
        let answer = (*self.model).call(request).await;
        open.recorded = None;
        let started_micros = self.log.micros_since_start(came);
        let outcome = answer.as_ref().map(|reply| (reply.receipt(), reply.finish()));
        let call = call_of(self.role, &*self.model, outcome, started_micros, (held, began.elapsed()));
        let reply = answer.as_ref().ok().and_then(Reply::answer);
        let texts = self.log.texts(|content| call_texts::of_chat(content, request.messages(), reply, call.finish));
        self.log.add(question, record::Call { texts, ..call });
        answer.map_err(|failed| failed.error)
    }
}

/// The record of a call to a model. `held`: how long admission delayed it.
pub(crate) fn call_of(
    role: Role,
    model: &(impl Named + ?Sized),
    outcome: Result<(&Receipt, Option<Finish>), &llm::Failed>,
    started_micros: u64,
    (held, elapsed): (Duration, Duration),
) -> record::Call {
    match outcome {
        Ok((receipt, finish)) => record::Call {
            role,
            endpoint: model.endpoint().to_owned(),
            model: by_model::name(&receipt.model).into_owned(),
            started_micros,
            wait_micros: micros(held + receipt.timing.wait),
            connect_micros: receipt.timing.connect.map(micros),
            ttft_micros: receipt.timing.first_token.map(micros),
            inter_token_micros: receipt.timing.inter_token.map(micros),
            total_micros: micros(receipt.timing.total),
            retried_micros: micros(receipt.timing.retried),
            tokens: tokens_of(receipt.usage),
            texts: None,
            estimated: receipt.usage.estimated,
            cost: receipt.cost_nanos.map(Usd),
            plain_priced: receipt.plain_priced,
            reported_cost: receipt.reported_cost_nanos.map(Usd),
            finish: finish.map(finish_of),
            tries: receipt.tries.max(1),
            throttled_tries: receipt.throttled_tries,
            lost_tries: receipt.lost_tries,
            error: None,
            error_kind: None,
            of_trial: false,
            limits: limits_of(&receipt.learned),
        },
        Err(llm::Failed { error, effort }) => {
            let cost = (!error.may_have_been_charged()).then_some(Usd(0));
            let took = Took { held, elapsed, effort: *effort };
            let call = failed_call(role, model.endpoint(), started_micros, took, error, kind_of(error));
            record::Call { model: model.name().to_owned(), cost, ..call }
        }
    }
}

/// A call in flight. If it is dropped with its trial, it may still be charged.
struct OpenCall<'a, C: Named + ?Sized> {
    recorded: Option<&'a Recorded<C>>,
    question: Option<u32>,
    came: Instant,
    held: Duration,
    began: Instant,
}

impl<C: Named + ?Sized> Drop for OpenCall<'_, C> {
    fn drop(&mut self) {
        let Some(Recorded { model, role, log, .. }) = self.recorded else { return };
        let took = Took::given_up(self.held, self.began.elapsed());
        let started_micros = log.micros_since_start(self.came);
        let call = failed_call(*role, model.endpoint(), started_micros, took, &GIVEN_UP, ErrorKind::Other);
        log.add(self.question, record::Call { model: model.name().to_owned(), ..call });
    }
}

/// The error of a call that its trial did not wait for.
pub(crate) const GIVEN_UP: &str = "given up before it was answered";

/// How long a failed call took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    /// How long admission withheld the call.
    pub(crate) held: Duration,
    /// From then on, with its retries and its rate-limit waits.
    pub(crate) elapsed: Duration,
    pub(crate) effort: llm::Effort,
}

impl Took {
    /// It is unknown how far the call had come.
    pub(crate) fn given_up(held: Duration, elapsed: Duration) -> Self {
        Self { held, elapsed, effort: llm::Effort { tries: 1, ..llm::Effort::default() } }
    }
}

/// A failed call: its tokens are unknown, so the cost is a lower bound.
pub(crate) fn failed_call(
    role: Role,
    endpoint: &str,
    started_micros: u64,
    took: Took,
    error: &dyn fmt::Display,
    kind: ErrorKind,
) -> record::Call {
    let Took { held, elapsed, effort } = took;
    record::Call {
        role,
        endpoint: endpoint.to_owned(),
        model: endpoint.to_owned(),
        started_micros,
        wait_micros: micros(held + effort.waited),
        connect_micros: None,
        ttft_micros: None,
        inter_token_micros: None,
        total_micros: micros(elapsed.saturating_sub(effort.waited + effort.retried)),
        retried_micros: micros(effort.retried),
        tokens: Tokens::default(),
        texts: None,
        estimated: false,
        cost: None,
        plain_priced: false,
        limits: NamedLimits::default(),
        reported_cost: None,
        finish: None,
        tries: effort.tries,
        throttled_tries: effort.throttled_tries,
        lost_tries: effort.lost_tries,
        error: Some(error.to_string()),
        error_kind: Some(kind),
        of_trial: false,
    }
}

/// Tokens as the record has them.
pub(crate) fn tokens_of(usage: Usage) -> Tokens {
    let Usage { input, output, cached_input, cache_write, reasoning, estimated: _ } = usage;
    Tokens { input, output, cached_input, cache_write, reasoning }
}

/// The limits that an endpoint has learned, as the record has them.
pub(crate) fn limits_of(learned: &llm::Allowed) -> NamedLimits {
    let limits = [
        (LimitOf::Requests, learned.requests),
        (LimitOf::Tokens, learned.tokens),
        (LimitOf::InputTokens, learned.input_tokens),
        (LimitOf::OutputTokens, learned.output_tokens),
    ];
    limits.into_iter().filter_map(|(of, limit)| Some((of, limit?.get()))).collect()
}

pub(crate) fn finish_of(finish: Finish) -> record::call::Finish {
    match finish {
        Finish::Stop => record::call::Finish::Stop,
        Finish::Length => record::call::Finish::Length,
        Finish::ToolCalls => record::call::Finish::ToolCalls,
        Finish::Refused => record::call::Finish::Refused,
        Finish::Other => record::call::Finish::Other,
    }
}

fn kind_of(error: &llm::Error) -> ErrorKind {
    match error {
        llm::Error::Refused { status: 429, .. } => ErrorKind::Throttled,
        llm::Error::Refused { status: 500.., .. } => ErrorKind::Failed,
        llm::Error::Refused { .. } | llm::Error::Unsupported { .. } => ErrorKind::Refused,
        llm::Error::Throttled { .. } => ErrorKind::Throttled,
        llm::Error::TimedOut { .. } => ErrorKind::TimedOut,
        llm::Error::Malformed { .. } => ErrorKind::Malformed,
        llm::Error::Unreachable { status: Some(408 | 409 | 424), .. } => ErrorKind::Refused,
        llm::Error::Unreachable { status: Some(_), .. } => ErrorKind::Failed,
        llm::Error::Unreachable { status: None, .. } => ErrorKind::Unreachable,
        llm::Error::OutOfResources { .. } => ErrorKind::OutOfResources,
        llm::Error::Exhausted { .. } => ErrorKind::Exhausted,
        llm::Error::NoMoney { .. } => ErrorKind::NoMoney,
        llm::Error::Unwritable { .. } | llm::Error::NoKey { .. } | llm::Error::NotRecorded { .. } => {
            ErrorKind::Unwritable
        }
    }
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
