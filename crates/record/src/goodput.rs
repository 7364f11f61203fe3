//! Goodput: the turns, and the conversations, that were fast enough to be of use.

use scenario::Goodput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Trial, trial::TurnLatency};

/// Counts of turns and trials that meet all limits, and of what kept turns from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Met {
    pub turns: u64,
    pub turns_met: u64,
    /// Trials in which the agent was asked.
    pub conversations: u64,
    pub conversations_met: u64,
    pub missed: Missed,
}

/// Turns that did not meet a limit. A turn counts with each limit that it did not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Missed {
    /// Turns without an answer, which meet nothing.
    pub unanswered: u64,
    pub response: u64,
    pub ttft: u64,
    pub per_output_token: u64,
}

impl Met {
    pub fn add(&mut self, limits: &Goodput, trial: &Trial) {
        let answered = trial.latencies.len() as u64;
        let asked = answered + u64::from(trial.unanswered);
        if asked == 0 {
            return;
        }
        let met = trial.latencies.iter().map(|turn| self.missed.add(limits, turn)).filter(|met| *met).count() as u64;
        self.missed.unanswered += u64::from(trial.unanswered);
        self.turns += asked;
        self.turns_met += met;
        self.conversations += 1;
        self.conversations_met += u64::from(met == asked);
    }

    pub fn merge(&mut self, other: &Self) {
        self.turns += other.turns;
        self.turns_met += other.turns_met;
        self.conversations += other.conversations;
        self.conversations_met += other.conversations_met;
        let Missed { unanswered, response, ttft, per_output_token } = other.missed;
        self.missed.unanswered += unanswered;
        self.missed.response += response;
        self.missed.ttft += ttft;
        self.missed.per_output_token += per_output_token;
    }
}

/// Whether the turn meets all limits.
#[must_use]
pub fn meets(limits: &Goodput, turn: &TurnLatency) -> bool {
    Missed::default().add(limits, turn)
}

impl Missed {
    /// Whether the turn meets all limits.
    fn add(&mut self, limits: &Goodput, turn: &TurnLatency) -> bool {
        let above = |time: Option<u64>, limit: Option<u64>| time.zip(limit).is_some_and(|(time, limit)| time > limit);
        let response = above(Some(turn.response()), limits.response_micros);
        let ttft = above(Some(turn.ttft_micros.unwrap_or(turn.total_micros)), limits.ttft_micros);
        let per_token = above(turn.per_token_micros, limits.per_token_micros);
        self.response += u64::from(response);
        self.ttft += u64::from(ttft);
        self.per_output_token += u64::from(per_token);
        !(response || ttft || per_token)
    }
}

#[cfg(test)]
mod tests {
    use scenario::{CaseId, TrialId};

    use super::*;
    use crate::{Failure, FailureKind, Verdict};

    fn turn(response: u64, ttft: Option<u64>, per_token: Option<u64>) -> TurnLatency {
        TurnLatency {
            total_micros: response,
            response_micros: Some(response),
            ttft_micros: ttft,
            per_token_micros: per_token,
            ..TurnLatency::default()
        }
    }

    fn trial(latencies: Vec<TurnLatency>, unanswered: u32) -> Trial {
        let planned = scenario::Trial {
            number: 0,
            id: TrialId::new("t"),
            case: 0,
            case_id: CaseId::new("c"),
            repeat: 0,
            seed: 1,
        };
        let unplayed = Trial::unplayed(&planned, 1, Verdict::Pass, Failure::new(FailureKind::Panicked, ""));
        Trial { latencies, unanswered, ..unplayed }
    }

    #[test]
    fn a_turn_meets_all_limits_or_none_and_a_conversation_needs_all_its_turns() {
        let limits = Goodput { response_micros: Some(100), ttft_micros: Some(20), per_token_micros: Some(5) };
        let (fast, slow) = (turn(100, Some(20), Some(5)), turn(101, Some(21), Some(6)));
        let rows = [
            (vec![], 0, Met::default()),
            (vec![fast], 0, Met { turns: 1, turns_met: 1, conversations: 1, conversations_met: 1, ..Met::default() }),
            (
                vec![fast, slow],
                0,
                Met {
                    turns: 2,
                    turns_met: 1,
                    conversations: 1,
                    missed: Missed { response: 1, ttft: 1, per_output_token: 1, unanswered: 0 },
                    ..Met::default()
                },
            ),
            (
                vec![fast],
                1,
                Met {
                    turns: 2,
                    turns_met: 1,
                    conversations: 1,
                    missed: Missed { unanswered: 1, ..Missed::default() },
                    ..Met::default()
                },
            ),
        ];
        let (mut all, mut merged) = (Met::default(), Met::default());
        for (latencies, unanswered, expected) in rows {
            let trial = trial(latencies, unanswered);
            let mut met = Met::default();
            met.add(&limits, &trial);
            assert_eq!(met, expected, "{trial:?}");
            all.add(&limits, &trial);
            merged.merge(&met);
        }
        assert_eq!(merged, all);
    }

    #[test]
    fn a_reply_that_was_not_streamed_has_its_first_token_at_its_end_and_no_time_per_token() {
        let limits = Goodput { ttft_micros: Some(20), per_token_micros: Some(1), ..Goodput::default() };
        let mut met = Met::default();
        met.add(&limits, &trial(vec![turn(20, None, None), turn(21, None, None)], 0));
        assert_eq!((met.turns_met, met.missed.ttft, met.missed.per_output_token), (1, 1, 0));
        let mut none = Met::default();
        none.add(&Goodput::default(), &trial(vec![turn(9_999, None, None)], 1));
        assert_eq!((none.turns_met, none.conversations_met), (1, 0), "no limit makes an unanswered turn a good one");
    }
}
