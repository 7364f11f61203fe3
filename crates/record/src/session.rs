//! The ids that an agent keeps state by: of one attempt at a trial, and of each conversation in it.

use scenario::{RunId, TrialId};

/// The id of an attempt, unique over all runs and attempts.
#[must_use]
pub fn session_id(run: &RunId, trial: &TrialId, epoch: u32) -> String {
    format!("{run}-{trial}-{epoch}")
}

/// The id of a conversation in an attempt, by its number from 1. The agent receives this id.
#[must_use]
pub fn conversation_id(session: &str, number: u32) -> String {
    format!("{session}-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_trial_attempt_and_conversation_has_an_id_of_its_own() {
        let id = |run: &str, trial: &str, epoch, number| {
            conversation_id(&session_id(&RunId::new(run), &TrialId::new(trial), epoch), number)
        };
        assert_eq!(id("20261122-030000-ab12", "0123456789abcdef", 2, 1), "20261122-030000-ab12-0123456789abcdef-2-1");
        let all = [id("r", "t", 1, 1), id("s", "t", 1, 1), id("r", "u", 1, 1), id("r", "t", 2, 1), id("r", "t", 1, 2)];
        assert_eq!(std::collections::BTreeSet::from(all).len(), 5);
    }
}
