//! Whose noise it is: the variance of a verdict within a case, split between the judge, the agent and the simulated user.
//!
//! Repeats of a case differ because the user says something else, the agent answers otherwise, or the judge decides otherwise. Two
//! experiments separate them: the same transcript judged several times has only the judge's noise, and the same user turns played again
//! against the live agent have only the agent's and the judge's. With the score `y` of one judging,
//!
//! `Var(y | case) = Var(E[y | user]) + E[Var(E[y | transcript] | user)] + E[Var(y | transcript)]`: user + agent + judge.
//!
//! Each part has the unbiased estimate of a nested analysis of variance within its case, and is the mean over cases, weighted by their
//! conversations. R. L. Brennan, "Generalizability theory" (2001).
//!
//! - [`parts`]: the parts and their intervals.
//! - [`votes`]: what several votes of a judge change.
//! - [`allocation`]: how many conversations, replays and votes the same money buys best.
//! - [`found`]: all of it, as `gabfest noise --json` prints it.

pub mod allocation;
pub mod found;
pub mod parts;
pub mod votes;

/// A case, with its conversations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Case {
    pub name: String,
    pub conversations: Vec<Conversation>,
}

/// A recorded conversation. Scores are 0 to 1; those of a verdict are 0 and 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    /// Each judging of its transcript.
    pub judged: Vec<f64>,
    /// Each replay of its user turns, with each judging of that transcript.
    pub replays: Vec<Vec<f64>>,
}
