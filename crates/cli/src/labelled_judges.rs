//! The judges of one labelled sample or item, outside a run. Their questions are numbered, so that a seeded model answers
//! the same each time.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use evaluate::{Scorer, scorer::Chosen};
use record::{Role, Scope};
use scenario::{RunId, ids::seed_of};
use worker::Models;

#[derive(Debug)]
pub(crate) struct LabelledJudges {
    models: Models,
    run: RunId,
    /// The caller: `validate` or `judge`. Each asks with its own seeds.
    purpose: String,
    /// The position of the sample in the file: one line may have several.
    place: u64,
    /// Asked so far.
    questions: AtomicU32,
}

impl LabelledJudges {
    pub(crate) fn new(models: &Models, run: &RunId, purpose: impl Into<String>, place: u64) -> Self {
        let (models, run, purpose) = (models.clone(), run.clone(), purpose.into());
        Self { models, run, purpose, place, questions: AtomicU32::new(0) }
    }
}

impl evaluate::JudgePool for LabelledJudges {
    fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Chat> {
        self.models.judge(model_type)
    }

    fn judge_max_tokens(&self) -> u32 {
        self.models.judge_max_tokens
    }

    fn scorer(&self, scope: Scope) -> Box<dyn Scorer + '_> {
        Box::new(Chosen::new(self, scope, self.models.scores.clone()))
    }

    fn context(&self, _: Scope) -> (llm::Context, u64) {
        let call = self.questions.fetch_add(1, Ordering::Relaxed);
        let context = llm::Context {
            role: Role::Judge.name().to_owned(),
            run: self.run.to_string(),
            turn: 1,
            call,
            idempotency_key: format!("{}/{}/{}/{call}", self.run, self.purpose, self.place),
            ..llm::Context::default()
        };
        (context, seed_of(&[self.purpose.as_bytes(), &self.place.to_le_bytes(), &call.to_le_bytes()]))
    }
}
