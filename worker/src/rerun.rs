//! Trials of an earlier run that are judged again, or whose user speaks again, instead of being played anew.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use record::{Trial, Turn};

/// The recorded trials of an earlier run of the same plan.
#[async_trait]
pub trait Recordings: Send + Sync + fmt::Debug {
    /// The trial at this place of the plan, with its turns; `None`: the recorded run did not play it. An error says why it
    /// cannot be read.
    async fn trial(&self, number: u64) -> Result<Option<(Trial, Vec<Turn>)>, String>;
}

/// What is done with recorded trials.
#[derive(Debug, Clone)]
pub struct Rerun {
    pub recordings: Arc<dyn Recordings>,
    pub what: Again,
    /// Which time it is, from 1. Rounds share no seeds, so that they share no answers.
    pub round: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The judged checks are asked again about the recorded conversation. Nothing is played.
    Judge,
    /// The recorded lines of the user are said again to the agent.
    Lines,
}
