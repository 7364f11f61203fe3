//! How long turns took, each as one figure a turn and as histograms of many turns.
//!
//! Three times are never mixed. The *response time* is what a user waits: from the moment the turn was due to the last
//! byte of the reply. The *service time* is the agent's part of it. The *wait* is ours: for limits in the settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Role, Trial, Turn,
    call::Call,
    histogram::Histogram,
    latency::{FLOORS, Quantiles},
    trial::TurnLatency,
};

impl TurnLatency {
    /// Of a turn that the agent answered, when all of the agent's calls are in it. `ended_micros`: since the start of the trial.
    #[must_use]
    pub fn of(turn: &Turn, ended_micros: u64) -> Self {
        let agents = || turn.calls.iter().filter(|call| call.role == Role::Agent);
        let answer = agents().rfind(|call| call.error.is_none());
        let per_token_micros = answer.and_then(Call::per_token_micros);
        Self {
            total_micros: turn.duration_micros,
            ttft_micros: turn.first_token_micros(),
            response_micros: turn.response_micros,
            wait_micros: agents().map(|call| call.wait_micros).fold(0, u64::saturating_add),
            inter_token_micros: answer.and_then(|call| call.inter_token_micros),
            per_token_micros,
            estimated: per_token_micros.is_some() && answer.is_some_and(|call| call.estimated),
            number: turn.number,
            ended_micros,
        }
    }
}

impl Call {
    /// The mean time that each output token after the first one took; `None` where the reply was not streamed or has fewer
    /// than two tokens.
    #[must_use]
    pub fn per_token_micros(&self) -> Option<u64> {
        let streamed = self.total_micros.saturating_sub(self.ttft_micros?);
        let further = self.tokens.output.checked_sub(1).filter(|tokens| *tokens > 0)?;
        Some(streamed.saturating_add(further / 2) / further)
    }
}

/// The times of many turns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnTimes {
    pub response: Histogram,
    pub service: Histogram,
    pub wait: Histogram,
    pub ttft: Histogram,
    pub inter_token: Histogram,
    pub per_token: Histogram,
    /// Of `per_token`.
    pub estimated: u64,
    /// Of whole trials, in thousandths of a token a second.
    pub speed: Histogram,
    /// Of `speed`.
    pub estimated_speeds: u64,
}

impl TurnTimes {
    pub fn add_trial(&mut self, trial: &Trial) {
        trial.latencies.iter().for_each(|turn| self.add(turn));
        let took: u64 = trial.latencies.iter().map(|turn| turn.total_micros).fold(0, u64::saturating_add);
        if took == 0 || trial.unanswered > 0 {
            return;
        }
        let spent = trial.spend.of(Role::Agent);
        if spent.tokens.output > 0 {
            let speed = u128::from(spent.tokens.output) * 1_000_000_000 / u128::from(took);
            self.speed.record(u64::try_from(speed).unwrap_or(u64::MAX));
            self.estimated_speeds += u64::from(spent.estimated_calls > 0);
        }
    }

    pub fn add(&mut self, turn: &TurnLatency) {
        self.service.record(turn.total_micros);
        // Older records do not say how long the user waited.
        if let Some(response) = turn.response_micros {
            self.response.record(response);
            self.wait.record(turn.wait_micros);
        }
        for (histogram, micros) in [
            (&mut self.ttft, turn.ttft_micros),
            (&mut self.inter_token, turn.inter_token_micros),
            (&mut self.per_token, turn.per_token_micros),
        ] {
            if let Some(micros) = micros {
                histogram.record(micros);
            }
        }
        self.estimated += u64::from(turn.estimated);
    }

    pub fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.wait.merge(&other.wait);
        self.ttft.merge(&other.ttft);
        self.inter_token.merge(&other.inter_token);
        self.per_token.merge(&other.per_token);
        self.estimated += other.estimated;
        self.speed.merge(&other.speed);
        self.estimated_speeds += other.estimated_speeds;
    }

    #[must_use]
    pub fn figures(&self) -> Times {
        Times {
            response: Quantiles::of(&self.response),
            turn: Quantiles::of(&self.service),
            wait: Quantiles::of(&self.wait),
            ttft: Quantiles::of(&self.ttft),
            inter_token: Quantiles::of(&self.inter_token),
            per_output_token: Quantiles::of(&self.per_token),
            estimated_tokens: self.estimated,
            tokens_per_second: (self.speed.count() > 0).then(|| Speeds::of(&self.speed, self.estimated_speeds)),
        }
    }
}

/// How long answered turns took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// Response time: from the moment the turn was due to the last byte of the reply, with rate-limit waits and repeated tries.
    /// A first turn is due when the schedule says, a later one when the user's message is ready.
    #[serde(default)]
    pub response: Quantiles,
    /// Service time: the agent's own time for its whole reply, without rate-limit waits and earlier tries.
    pub turn: Quantiles,
    /// Rate-limit waits of each turn: for the limits in the settings, and in pauses that the endpoint asked for.
    #[serde(default)]
    pub wait: Quantiles,
    /// To the first byte of content of streamed replies, as a part of the service time.
    pub ttft: Quantiles,
    /// The mean time between two pieces of each streamed reply.
    #[serde(default)]
    pub inter_token: Quantiles,
    /// Of each streamed reply: (last byte − first token) / (output tokens − 1).
    #[serde(default)]
    pub per_output_token: Quantiles,
    /// Replies of `per_output_token` whose tokens are estimated from the text, because the endpoint did not report them.
    #[serde(default)]
    pub estimated_tokens: u64,
    /// Output tokens of each trial by the agent's own time for them, of trials in which every turn was answered. Absent by the
    /// number of the turn, and where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<Speeds>,
}

/// How fast conversations get their tokens: the slow end, which users notice.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Speeds {
    /// Trials.
    pub count: u64,
    pub p50: f64,
    /// Nine in ten trials are at least as fast; `null` below 64 trials.
    pub p10: Option<f64>,
    /// `null` below 130 trials.
    pub p5: Option<f64>,
    /// `null` below 662 trials.
    pub p1: Option<f64>,
    pub mean: f64,
    /// Trials with calls whose tokens are estimated.
    pub estimated: u64,
}

impl Speeds {
    fn of(thousandths: &Histogram, estimated: u64) -> Self {
        let at = |share: f64| thousandths.quantile(share) as f64 / 1_000.0;
        // The slow tail needs as many samples as the tail at the other end.
        let [p10, p5, p1, _] = FLOORS
            .map(|(share, floor)| (thousandths.count() >= floor).then(|| at(((1.0 - share) * 1e6).round() / 1e6)));
        let mean = (thousandths.mean() / 10.0).round() / 100.0;
        Self { count: thousandths.count(), p50: at(0.50), p10, p5, p1, mean, estimated }
    }
}

/// The times of turns by their number in the trial: replies take longer as the history grows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ByNumber([TurnTimes; 6]);

/// The first number of each range; the last one is open.
const FIRST: [u32; 6] = [1, 2, 3, 4, 8, 16];

impl ByNumber {
    pub fn add(&mut self, turn: &TurnLatency) {
        // Older records do not say which turn it was.
        if let Some(range) = FIRST.iter().rposition(|first| *first <= turn.number) {
            self.0[range].add(turn);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(ours, theirs)| ours.merge(theirs));
    }

    /// The ranges in which a turn was answered.
    pub fn figures(&self) -> impl Iterator<Item = NumberedTimes> {
        let until = FIRST[1..].iter().map(|next| Some(next - 1)).chain([None]);
        let ranges = FIRST.iter().zip(until).zip(&self.0).filter(|(_, times)| times.service.count() > 0);
        ranges.map(|((from, until), times)| NumberedTimes { from: *from, until, latency: times.figures() })
    }
}

/// The times of turns with some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumberedTimes {
    /// The first number of the range; the first turn of a trial has number 1.
    pub from: u32,
    /// The last one; `null` if the range is open.
    pub until: Option<u32>,
    pub latency: Times,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tokens, turn::Origin};

    fn call(role: Role, wait: u64, ttft: Option<u64>, total: u64, output: u64, error: Option<&str>) -> Call {
        Call {
            role,
            endpoint: "e".to_owned(),
            model: "m".to_owned(),
            started_micros: 0,
            wait_micros: wait,
            connect_micros: None,
            ttft_micros: ttft,
            inter_token_micros: ttft.map(|_| 40),
            total_micros: total,
            retried_micros: 0,
            tokens: Tokens { output, ..Tokens::default() },
            estimated: true,
            cost: None,
            plain_priced: false,
            reported_cost: None,
            finish: None,
            tries: 1,
            throttled_tries: 0,
            lost_tries: 0,
            limits: crate::named_limits::NamedLimits::default(),
            error: error.map(str::to_owned),
            error_kind: None,
            of_trial: false,
            texts: None,
        }
    }

    #[test]
    fn a_turn_has_the_waits_of_all_its_calls_and_the_stream_of_its_answer() {
        let (agent, user) = (Role::Agent, Role::UserSim);
        let mut turn = Turn::new(3, 1, Origin::Scripted, "Hi".to_owned(), 50);
        turn.duration_micros = 2_000;
        turn.response_micros = Some(2_700);
        turn.calls = vec![
            call(user, 9_000, Some(1), 2, 3, None),
            call(agent, 100, Some(300), 1_000, 9, None),
            call(agent, 500, Some(200), 1_000, 5, None),
        ];
        let found = TurnLatency::of(&turn, 7_777);
        assert_eq!((found.total_micros, found.ttft_micros, found.response_micros), (2_000, Some(1_200), Some(2_700)));
        assert_eq!((found.wait_micros, found.number, found.ended_micros), (600, 3, 7_777));
        assert_eq!((found.inter_token_micros, found.per_token_micros, found.estimated), (Some(40), Some(200), true));
    }

    #[test]
    fn time_per_token_needs_a_stream_of_two_tokens() {
        let of = |ttft, output| call(Role::Agent, 0, ttft, 1_000, output, None).per_token_micros();
        assert_eq!(of(Some(100), 10), Some(100));
        assert_eq!(of(Some(100), 8), Some(129), "900 / 7, rounded");
        assert_eq!((of(None, 10), of(Some(100), 1), of(Some(100), 0)), (None, None, None));
        assert_eq!(of(Some(2_000), 2), Some(0), "a first token after the last byte is a broken clock");
    }

    #[test]
    fn turns_are_counted_by_their_number() {
        let turn = |number| TurnLatency { number, total_micros: u64::from(number), ..TurnLatency::default() };
        let (mut one, mut other) = (ByNumber::default(), ByNumber::default());
        [1, 1, 4, 7, 8, 0].into_iter().for_each(|number| one.add(&turn(number)));
        [15, 16, 999].into_iter().for_each(|number| other.add(&turn(number)));
        one.merge(&other);
        let found: Vec<_> = one.figures().map(|of| (of.from, of.until, of.latency.turn.count)).collect();
        assert_eq!(found, [(1, Some(1), 2), (4, Some(7), 2), (8, Some(15), 2), (16, None, 2)]);
    }

    #[test]
    fn a_record_of_an_older_version_has_only_its_service_time() {
        let mut times = TurnTimes::default();
        times.add(&TurnLatency { total_micros: 5, ttft_micros: Some(3), ..TurnLatency::default() });
        let found = times.figures();
        assert_eq!((found.turn.count, found.ttft.count, found.response.count, found.wait.count), (1, 1, 0, 0));
    }

    #[test]
    fn a_trial_has_the_speed_of_its_tokens_if_every_turn_was_answered() {
        let planned = scenario::Trial {
            number: 0,
            id: scenario::TrialId::new("t"),
            case: 0,
            case_id: scenario::CaseId::new("c"),
            repeat: 0,
            seed: 1,
        };
        let failure = crate::Failure::new(crate::FailureKind::Panicked, "");
        let mut trial = Trial::unplayed(&planned, 1, crate::Verdict::Pass, failure);
        trial.latencies = vec![TurnLatency { total_micros: 250_000, ..TurnLatency::default() }; 2];
        trial.spend.add_call(&call(Role::Agent, 0, None, 1, 30, None));
        trial.spend.add_call(&call(Role::UserSim, 0, None, 1, 999, None));
        let mut times = TurnTimes::default();
        times.add_trial(&trial);
        trial.unanswered = 1;
        times.add_trial(&trial);
        let found = times.figures();
        let speeds = found.tokens_per_second.unwrap();
        assert_eq!((found.turn.count, speeds.count, speeds.mean, speeds.estimated), (4, 1, 60.0, 1));
        assert_eq!((speeds.p50, speeds.p10), (60.0, None));
    }
}
