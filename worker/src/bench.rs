//! The judges of one trial: their questions are numbered, so that a seeded model answers the same each time.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use evaluate::{
    Scorer,
    scorer::{self, Chosen},
};
use record::{Role, Scope};
use scenario::ids::seed_of;

use crate::{
    gate::Gate,
    recorder::{CallLog, Recorded},
    resources::Models,
};

#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) models: Models,
    pub(crate) log: Arc<CallLog>,
    pub(crate) gate: Gate,
    pub(crate) template: llm::Context,
    pub(crate) seed: u64,
    /// Questions asked so far in this trial.
    pub(crate) questions: AtomicU32,
    /// The number of the last turn.
    pub(crate) turn: AtomicU32,
}

impl evaluate::Bench for Bench {
    fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Model> {
        let model = self.models.judge(model_type);
        Arc::new(Recorded::new(model, Role::Judge, Arc::clone(&self.log), self.gate.clone()))
    }

    fn scorer(&self, scope: Scope) -> Box<dyn Scorer + '_> {
        let recorded = |model: &Option<Arc<dyn llm::Model>>| {
            let model = Arc::clone(model.as_ref()?);
            let recorded = Recorded::new(model, Role::Scorer, Arc::clone(&self.log), self.gate.clone());
            Some(Arc::new(recorded) as Arc<dyn llm::Model>)
        };
        let scorer::Models { similarity, answer, next_sentence, toxicity } = &self.models.scores;
        let models = scorer::Models {
            similarity: recorded(similarity),
            answer: recorded(answer),
            next_sentence: recorded(next_sentence),
            toxicity: recorded(toxicity),
        };
        Box::new(Chosen::new(self, scope, models))
    }

    fn context(&self, scope: Scope) -> (llm::Context, u64) {
        let call = self.questions.fetch_add(1, Ordering::Relaxed);
        let turn = match scope {
            Scope::Turn { turn, .. } => turn,
            Scope::Conversation { .. } | Scope::Step { .. } => self.turn.load(Ordering::Relaxed),
        };
        let idempotency_key = format!("{}/judge/{call}", self.template.idempotency_key);
        let context =
            llm::Context { role: Role::Judge.name().to_owned(), turn, call, idempotency_key, ..self.template.clone() };
        (context, seed_of(&[&self.seed.to_le_bytes(), b"judge", &call.to_le_bytes()]))
    }
}
