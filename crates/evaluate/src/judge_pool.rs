//! The models that evaluators can ask: judges by model type, and the scorer.

use std::{fmt, sync::Arc};

use scenario::plan::JudgeGate;

use crate::scorer::Scorer;

/// Leaves room for a judge that reasons before it answers. The answer itself takes 300 to 500 tokens.
pub const JUDGE_MAX_TOKENS: u32 = 2_000;

/// Gives evaluators the judges of one trial.
pub trait JudgePool: Send + Sync + fmt::Debug {
    /// The model of a model type such as `TEXT_LARGE`; `None` is the default judge.
    fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Chat>;

    /// The token limit of one answer of a judge, reasoning included. A form that needs more gets more.
    fn judge_max_tokens(&self) -> u32 {
        JUDGE_MAX_TOKENS
    }

    /// Which judges decide; `None`: all.
    fn gate(&self) -> Option<&JudgeGate> {
        None
    }

    /// The model that scores texts. Its calls count under this scope.
    fn scorer(&self, scope: record::Scope) -> Box<dyn Scorer + '_>;

    /// The context and seed of the next question: `call` counts the questions of this trial's turn.
    fn context(&self, scope: record::Scope) -> (llm::Context, u64);
}

/// Why the judges of these ballots only inform; `None`: they decide. `votes`: how many the question has.
pub(crate) fn objection(pool: &dyn JudgePool, ballots: &[record::Ballot], votes: u64) -> Option<Box<str>> {
    let gate = pool.gate().filter(|_| !ballots.is_empty())?;
    let judges = ballots.iter().map(|ballot| ballot.judge.as_str());
    let criteria = ballots.iter().map(|ballot| ballot.criterion.as_str());
    gate.objection(judges, criteria, votes).map(String::into_boxed_str)
}

/// The same of a judge that measures a score: what `gabfest judge` measures are verdicts.
pub(crate) fn objection_to_scores(pool: &dyn JudgePool, ballots: &[record::Ballot]) -> Option<Box<str>> {
    pool.gate().filter(|gate| gate.min_kappa.is_some() && !ballots.is_empty())?;
    Some("a judge gives the score, and no measurement says how well: choose another model in `scores`".into())
}
