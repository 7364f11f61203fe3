//! Calls to agents and models: their times, tokens and costs, and their rate-limit waits.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use opentelemetry::{
    KeyValue,
    metrics::{BoundCounter, BoundHistogram, Counter, Histogram, Meter},
};
use record::{Call, Role, call::ErrorKind};

use crate::{
    asked::{Asked, Endpoint, asked},
    metrics::{
        catalogue::{self, ENDPOINT, MODEL_LABEL, OUTCOME, ROLE},
        instruments::{counter, histogram, money, seconds},
        labels::{MOST_VALUES, Values},
    },
    names::{self, Conventions},
};

/// How many labels are cached; further kinds of calls build theirs each time.
const MOST_KEPT: usize = 4 * MOST_VALUES;
/// The length limit of a cached name: the endpoint chooses the length of a model's name.
const LONGEST_KEPT: usize = 1_024;

pub(super) struct Calls {
    duration: Histogram<f64>,
    first_chunk: Histogram<f64>,
    tokens: Tokens,
    calls: Counter<u64>,
    cost: Counter<f64>,
    estimated: Counter<u64>,
    throttled: Counter<u64>,
    wait: Histogram<f64>,
    retried: Histogram<f64>,
    models: Values,
    endpoints: Values,
    /// The addresses of endpoints and agents, by name.
    places: OnceLock<BTreeMap<String, Endpoint>>,
    /// By the attributes of calls.
    ready: RwLock<HashMap<Kind, ByEndpoint>>,
    ready_endpoints: RwLock<HashMap<String, Arc<Waits>>>,
}

type Kind = (Role, Option<ErrorKind>);
/// And by model.
type ByEndpoint = HashMap<String, HashMap<String, Arc<Labels>>>;

enum Tokens {
    Usual(Histogram<f64>),
    Latest { input: Counter<u64>, output: Counter<u64>, of_call: [Histogram<f64>; 2] },
}

/// The labels of all series of one kind of call, and these series: each is looked up once, at its first figure.
struct Labels {
    operation: Vec<KeyValue>,
    counted: [KeyValue; 3],
    /// The common labels of the call's tokens; for input and output, the last label is their type.
    tokens: [Vec<KeyValue>; 2],
    duration: OnceLock<BoundHistogram<f64>>,
    first_chunk: OnceLock<BoundHistogram<f64>>,
    calls: OnceLock<BoundCounter<u64>>,
    cost: OnceLock<BoundCounter<f64>>,
    of_tokens: [OnceLock<BoundHistogram<f64>>; 2],
}

/// The waits at one endpoint.
struct Waits {
    label: [KeyValue; 1],
    wait: OnceLock<BoundHistogram<f64>>,
}

impl Calls {
    pub(super) fn new(meter: &Meter, conventions: Conventions) -> Self {
        let tokens = match conventions {
            Conventions::Usual => Tokens::Usual(histogram(meter, &catalogue::TOKEN_USAGE)),
            Conventions::Latest => Tokens::Latest {
                input: counter(meter, &catalogue::INPUT_TOKENS),
                output: counter(meter, &catalogue::OUTPUT_TOKENS),
                of_call: [&catalogue::CALL_INPUT_TOKENS, &catalogue::CALL_OUTPUT_TOKENS]
                    .map(|one| histogram(meter, one)),
            },
        };
        Self {
            duration: histogram(meter, &catalogue::CALL_DURATION),
            first_chunk: histogram(meter, &catalogue::FIRST_CHUNK),
            tokens,
            calls: counter(meter, &catalogue::CALLS),
            cost: money(meter, &catalogue::COST),
            estimated: counter(meter, &catalogue::ESTIMATED),
            throttled: counter(meter, &catalogue::THROTTLED),
            wait: histogram(meter, &catalogue::LIMIT_WAIT),
            retried: histogram(meter, &catalogue::RETRIED),
            models: Values::new(MODEL_LABEL),
            endpoints: Values::new(ENDPOINT),
            places: OnceLock::new(),
            ready: RwLock::default(),
            ready_endpoints: RwLock::default(),
        }
    }

    /// Sets the addresses of the endpoints and agents; only the first call has an effect.
    pub(super) fn are_at(&self, places: BTreeMap<String, Endpoint>) {
        let _ = self.places.set(places);
    }

    pub(super) fn ended(&self, call: &Call) {
        let labels = self.labels(call);
        let duration = labels.duration.get_or_init(|| self.duration.bind(&labels.operation));
        duration.record(seconds(call.total_micros));
        if let (Some(first), None) = (call.ttft_micros, &call.error) {
            let first_chunk = labels.first_chunk.get_or_init(|| self.first_chunk.bind(&labels.operation));
            first_chunk.record(seconds(first));
        }
        self.count_tokens(call, &labels);
        labels.calls.get_or_init(|| self.calls.bind(&labels.counted)).add(1);
        let [role, model, _] = &labels.counted;
        let cost = labels.cost.get_or_init(|| self.cost.bind(&[role.clone(), model.clone()]));
        cost.add(call.cost.unwrap_or_default().dollars());
        if call.estimated {
            self.estimated.add(1, &[role.clone(), model.clone()]);
        }
        if call.throttled_tries > 0 {
            self.throttled.add(u64::from(call.throttled_tries), &[role.clone(), model.clone()]);
        }
        let waits = self.waits(&call.endpoint);
        waits.wait.get_or_init(|| self.wait.bind(&waits.label)).record(seconds(call.wait_micros));
        if call.retried_micros > 0 {
            self.retried.record(seconds(call.retried_micros), &waits.label);
        }
    }

    /// A call without counts used an unknown number of tokens, not zero, and an embedding has no output.
    fn count_tokens(&self, call: &Call, labels: &Labels) {
        let used = [call.tokens.input, call.tokens.output];
        match &self.tokens {
            Tokens::Usual(histogram) => {
                for ((tokens, bound), labels) in used.into_iter().zip(&labels.of_tokens).zip(&labels.tokens) {
                    if tokens > 0 {
                        bound.get_or_init(|| histogram.bind(labels)).record(tokens as f64);
                    }
                }
            }
            Tokens::Latest { input, output, of_call } => {
                let [(_, labels), _] = labels.tokens.each_ref().map(|all| all.split_last().expect("their type"));
                for ((tokens, sum), histogram) in used.into_iter().zip([input, output]).zip(of_call) {
                    if tokens > 0 {
                        sum.add(tokens, labels);
                        histogram.record(tokens as f64, labels);
                    }
                }
            }
        }
    }

    fn labels(&self, call: &Call) -> Arc<Labels> {
        let error = call.error.as_ref().map(|_| call.error_kind.unwrap_or(ErrorKind::Other));
        let kind = (call.role, error);
        {
            let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner);
            let models = ready.get(&kind).and_then(|endpoints| endpoints.get(&call.endpoint));
            if let Some(labels) = models.and_then(|models| models.get(&call.model)) {
                return Arc::clone(labels);
            }
        }
        let labels = Arc::new(self.make(call, error));
        if call.endpoint.len().max(call.model.len()) > LONGEST_KEPT {
            return labels;
        }
        let mut ready = self.ready.write().unwrap_or_else(PoisonError::into_inner);
        let models = ready.entry(kind).or_default().entry(call.endpoint.clone()).or_default();
        if models.len() < MOST_KEPT {
            models.insert(call.model.clone(), Arc::clone(&labels));
        }
        labels
    }

    fn make(&self, call: &Call, error: Option<ErrorKind>) -> Labels {
        let nowhere = BTreeMap::new();
        let Asked { operation, provider, model, answered, .. } = asked(self.places.get().unwrap_or(&nowhere), call);
        let model = self.models.get(model);
        let role = call.role.name();
        let mut common = vec![
            KeyValue::new(names::OPERATION, operation),
            KeyValue::new(names::PROVIDER, provider.to_owned()),
            KeyValue::new(names::REQUEST_MODEL, Arc::clone(&model)),
            KeyValue::new(names::ROLE, role),
        ];
        common.extend(answered.map(|answered| KeyValue::new(names::RESPONSE_MODEL, self.models.get(answered))));
        let with = |more: Option<KeyValue>| common.iter().cloned().chain(more).collect();
        let outcome = if error.is_some() { "error" } else { "ok" };
        Labels {
            operation: with(error.map(|kind| KeyValue::new(names::ERROR_TYPE, kind.name()))),
            tokens: ["input", "output"].map(|direction| with(Some(KeyValue::new(names::TOKEN_TYPE, direction)))),
            counted: [KeyValue::new(ROLE, role), KeyValue::new(MODEL_LABEL, model), KeyValue::new(OUTCOME, outcome)],
            duration: OnceLock::new(),
            first_chunk: OnceLock::new(),
            calls: OnceLock::new(),
            cost: OnceLock::new(),
            of_tokens: Default::default(),
        }
    }

    fn waits(&self, endpoint: &str) -> Arc<Waits> {
        {
            let ready = self.ready_endpoints.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(waits) = ready.get(endpoint) {
                return Arc::clone(waits);
            }
        }
        let label = [KeyValue::new(ENDPOINT, self.endpoints.get(endpoint))];
        let waits = Arc::new(Waits { label, wait: OnceLock::new() });
        let mut ready = self.ready_endpoints.write().unwrap_or_else(PoisonError::into_inner);
        if ready.len() < MOST_KEPT && endpoint.len() <= LONGEST_KEPT {
            ready.insert(endpoint.to_owned(), Arc::clone(&waits));
        }
        waits
    }
}
