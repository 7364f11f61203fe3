//! Stored records of a run that cannot be read back.

use scenario::{CaseId, TrialId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Trial;

/// Stored records of a run that cannot be read back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Unreadable {
    /// Trials with an unknown end. Each is an ERROR of kind `unreadable`, and `gabfest resume` plays it again.
    pub records: u64,
    /// Trials that count and whose transcripts cannot be read.
    pub transcripts: u64,
    /// The first 100 of both, in the plan's order.
    pub trials: Vec<UnreadableTrial>,
}

impl Unreadable {
    const LISTED: usize = 100;

    #[must_use]
    pub fn is_none(&self) -> bool {
        self.records == 0 && self.transcripts == 0
    }

    /// Adds a trial whose record cannot be read.
    pub fn add_record(&mut self, trial: &Trial) {
        self.records += 1;
        let reason = trial.failure.as_ref().map(|failure| failure.message.as_str());
        self.list(trial, reason.unwrap_or_default());
    }

    /// Adds a trial whose transcript cannot be read.
    pub fn add_transcript(&mut self, trial: &Trial, reason: &str) {
        self.transcripts += 1;
        self.list(trial, &format!("its transcript cannot be read: {reason}"));
    }

    fn list(&mut self, trial: &Trial, reason: &str) {
        if self.trials.len() < Self::LISTED {
            self.trials.push(UnreadableTrial {
                number: trial.number,
                trial_id: trial.trial_id.clone(),
                case_id: trial.case_id.clone(),
                repeat: trial.repeat,
                reason: reason.to_owned(),
            });
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableTrial {
    /// Its place in the plan, from 0.
    pub number: u64,
    pub trial_id: TrialId,
    pub case_id: CaseId,
    /// From 0.
    pub repeat: u32,
    pub reason: String,
}
