//! The series of one place: a suite, a scenario and a persona. Each is looked up once, at its first figure.
//!
//! A series exists from its lookup on, and a histogram without a figure would be shown. Counters start at 0.

use std::{fmt, sync::OnceLock};

use opentelemetry::{
    KeyValue,
    metrics::{BoundCounter, BoundHistogram, Counter, Histogram, Meter},
};
use record::{Call, Role, Trial, Turn, Verdict, turn::Origin};

use crate::metrics::{
    catalogue::{self, VERDICT},
    instruments::{counter, histogram, money, seconds},
};

/// The metrics of turns and trials.
pub(super) struct Instruments {
    turns: Counter<u64>,
    turn_duration: Histogram<f64>,
    first_token: Histogram<f64>,
    response: Histogram<f64>,
    wait: Histogram<f64>,
    late: Histogram<f64>,
    conversations: Counter<u64>,
    trials_played: Counter<u64>,
    conversation_duration: Histogram<f64>,
    conversation_cost: Counter<f64>,
}

/// A histogram of a place, from its first figure on.
type Times = OnceLock<BoundHistogram<f64>>;

pub(super) struct Series {
    /// Suite, scenario and persona.
    place: [KeyValue; 3],
    turns: BoundCounter<u64>,
    turn_duration: Times,
    first_token: Times,
    response: Times,
    wait: Times,
    late: Times,
    conversation_duration: Times,
    /// In the order of [`Verdict::ALL`].
    by_verdict: [OnceLock<Ended>; Verdict::ALL.len()],
}

/// The trials of a place that ended with one verdict.
struct Ended {
    conversations: BoundCounter<u64>,
    trials: BoundCounter<u64>,
    cost: BoundCounter<f64>,
}

impl Instruments {
    pub(super) fn new(meter: &Meter) -> Self {
        Self {
            turns: counter(meter, &catalogue::TURNS),
            turn_duration: histogram(meter, &catalogue::TURN_DURATION),
            first_token: histogram(meter, &catalogue::TURN_FIRST_TOKEN),
            response: histogram(meter, &catalogue::TURN_RESPONSE),
            wait: histogram(meter, &catalogue::TURN_WAIT),
            late: histogram(meter, &catalogue::START_LATE),
            conversations: counter(meter, &catalogue::CONVERSATIONS),
            trials_played: counter(meter, &catalogue::TRIALS_PLAYED),
            conversation_duration: histogram(meter, &catalogue::CONVERSATION_DURATION),
            conversation_cost: money(meter, &catalogue::CONVERSATION_COST),
        }
    }
}

impl Series {
    /// Creates the counters of the place at its first trial: a scraper would otherwise miss everything that a counter
    /// had counted before its first scrape.
    pub(super) fn new(of: &Instruments, place: [KeyValue; 3]) -> Self {
        let series = Self {
            turns: of.turns.bind(&place),
            place,
            turn_duration: Times::new(),
            first_token: Times::new(),
            response: Times::new(),
            wait: Times::new(),
            late: Times::new(),
            conversation_duration: Times::new(),
            by_verdict: Default::default(),
        };
        series.turns.add(0);
        for verdict in [Verdict::Pass, Verdict::Fail] {
            if let Some(Ended { conversations, trials, cost }) = series.ended_with(of, verdict) {
                conversations.add(0);
                trials.add(0);
                cost.add(0.0);
            }
        }
        series
    }

    /// Records a finished turn without its calls.
    pub(super) fn turn(&self, of: &Instruments, turn: &Turn) {
        self.turns.add(1);
        if !is_answered(turn) {
            return;
        }
        let record = |times: &Times, histogram: &Histogram<f64>, labels: &[KeyValue], micros: u64| {
            times.get_or_init(|| histogram.bind(labels)).record(seconds(micros));
        };
        record(&self.turn_duration, &of.turn_duration, &self.place, turn.duration_micros);
        if let Some(first) = turn.first_token_micros() {
            record(&self.first_token, &of.first_token, &self.place, first);
        }
        if let Some(response) = turn.response_micros {
            let agents = turn.calls.iter().filter(|call| call.role == Role::Agent);
            let wait = agents.map(|call| call.wait_micros).fold(0, u64::saturating_add);
            record(&self.response, &of.response, self.suite(), response);
            record(&self.wait, &of.wait, self.suite(), wait);
        }
    }

    /// Records a finished trial without its checks.
    pub(super) fn ended(&self, of: &Instruments, trial: &Trial) {
        if let Some(start) = trial.start.filter(|_| trial.epoch == 1) {
            self.late.get_or_init(|| of.late.bind(self.suite())).record(seconds(start.late_micros));
        }
        let duration = self.conversation_duration.get_or_init(|| of.conversation_duration.bind(&self.place[..2]));
        duration.record(trial.duration_ms as f64 / 1e3);
        if let Some(Ended { conversations, trials, cost }) = self.ended_with(of, trial.verdict) {
            conversations.add(u64::from(trial.conversations));
            trials.add(1);
            cost.add(trial.spend.cost().dollars());
        }
    }

    fn ended_with(&self, of: &Instruments, verdict: Verdict) -> Option<&Ended> {
        let index = Verdict::ALL.iter().position(|one| *one == verdict)?;
        let ended = self.by_verdict[index].get_or_init(|| {
            let [suite, scenario, persona] = &self.place;
            let verdict = KeyValue::new(VERDICT, verdict.name());
            let all = [suite.clone(), scenario.clone(), persona.clone(), verdict.clone()];
            Ended {
                conversations: of.conversations.bind(&all),
                trials: of.trials_played.bind(&all),
                cost: of.conversation_cost.bind(&[suite.clone(), scenario.clone(), verdict]),
            }
        });
        Some(ended)
    }

    fn suite(&self) -> &[KeyValue] {
        &self.place[..1]
    }
}

/// Whether the agent answered a call: a program and a turn of a saved conversation have none.
fn is_answered(turn: &Turn) -> bool {
    let answered = |call: &Call| call.role == Role::Agent && call.error.is_none();
    turn.agent.is_some() && turn.speaker != Origin::Program && turn.calls.iter().any(answered)
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.place).finish()
    }
}
