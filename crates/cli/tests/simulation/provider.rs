//! The agent under test: it keeps its own ledger of what it was asked, by which worker, and what it answered.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex},
    time::Duration,
};

use llm::{
    Call, Error, Named,
    chat::{Reply, Request},
};

use crate::{events::Events, process};

/// What a 429 asks for.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);
/// The price of an answer, in nano-dollars: exactly what is reserved for the call.
pub(crate) const ANSWER_NANOS: i64 = 5_000_000;

#[derive(Debug)]
pub(crate) struct Ledger {
    events: Arc<Events>,
    calls: Mutex<Vec<Asked>>,
    /// Until then it answers with 429.
    storm_until: Mutex<Duration>,
}

/// A call that the agent received.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) at: Duration,
    pub(crate) worker: usize,
    pub(crate) trial: String,
    pub(crate) attempt: u32,
    pub(crate) turn: u32,
    /// `None`: throttled.
    pub(crate) reply: Option<String>,
}

impl Ledger {
    pub(crate) fn new(events: Arc<Events>) -> Self {
        Self { events, calls: Mutex::default(), storm_until: Mutex::default() }
    }

    pub(crate) fn storm_until(&self, end: Duration) {
        let mut until = self.storm_until.lock().unwrap();
        *until = end.max(*until);
    }

    pub(crate) fn calls(&self) -> Vec<Asked> {
        self.calls.lock().unwrap().clone()
    }

    /// Calls by trial and attempt.
    pub(crate) fn by_attempt(&self) -> BTreeMap<(String, u32), Vec<Asked>> {
        let mut by_attempt: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for call in self.calls() {
            by_attempt.entry((call.trial.clone(), call.attempt)).or_default().push(call);
        }
        by_attempt
    }
}

/// The agent as one worker calls it.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) worker: usize,
    pub(crate) ledger: Arc<Ledger>,
}

impl Named for Provider {
    fn endpoint(&self) -> &str {
        "agent"
    }
}

#[async_trait::async_trait]
impl Call<Request> for Provider {
    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        let now = process::now();
        let context = &request.context;
        self.ledger.events.add(&("asked", self.worker, &context.trial, context.attempt, context.turn));
        let mut hasher = DefaultHasher::new();
        (&context.trial, context.turn).hash(&mut hasher);
        request.messages.iter().for_each(|message| message.content.hash(&mut hasher));
        let draw = hasher.finish();
        let is_stormy = now < *self.ledger.storm_until.lock().unwrap();
        let text = match draw % 5 {
            0 => format!("I am sorry, I cannot find your order ({draw:016x})."),
            1 => format!("Your refund is on its way ({draw:016x})."),
            _ => format!("Could you tell me more, please ({draw:016x})?"),
        };
        let reply = (!is_stormy).then(|| text.clone());
        let (trial, attempt, turn) = (context.trial.clone(), context.attempt, context.turn);
        self.ledger.calls.lock().unwrap().push(Asked { at: now, worker: self.worker, trial, attempt, turn, reply });
        if is_stormy {
            let (after, message) = (Some(RETRY_AFTER), "slow down".to_owned());
            return Err(Error::Throttled { endpoint: "agent".to_owned(), after, message });
        }
        tokio::time::sleep(Duration::from_millis(200 + draw % 2_500)).await;
        let mut reply = Reply { text, ..Reply::default() };
        reply.receipt.usage.input = request.messages.iter().map(|message| message.content.len() as u64 / 4).sum();
        reply.receipt.usage.output = 12;
        Ok(reply)
    }
}
