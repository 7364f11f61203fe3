//! The judges of one trial: their questions are numbered, so that a seeded model answers the same each time.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use evaluate::{
    Scorer,
    scorer::{self, Chosen},
};
use llm::{Measures, measure::Measurement};
use record::{Role, Scope};
use scenario::ids::seed_of;
use telemetry::trace::{Head, ids};

use crate::{
    gate::Gate,
    recorder::{CallLog, Recorded},
    resources::Models,
    stage::trace_of,
};

#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) models: Models,
    pub(crate) log: Arc<CallLog>,
    pub(crate) gate: Gate,
    pub(crate) template: llm::Context,
    pub(crate) seed: u64,
    pub(crate) head: Head,
    /// Questions asked so far in this trial.
    pub(crate) questions: AtomicU32,
    /// The number of the last turn.
    pub(crate) turn: AtomicU32,
}

impl Bench {
    fn recorded<M: Measurement>(&self, model: &Option<Arc<dyn Measures<M>>>) -> Option<Arc<dyn Measures<M>>> {
        let model = Arc::clone(model.as_ref()?);
        Some(Arc::new(Recorded::new(model, Role::Scorer, Arc::clone(&self.log), self.gate.clone())))
    }
}

impl evaluate::JudgePool for Bench {
    fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Chat> {
        let model = self.models.judge(model_type);
        Arc::new(Recorded::new(model, Role::Judge, Arc::clone(&self.log), self.gate.clone()))
    }

    fn judge_max_tokens(&self) -> u32 {
        self.models.judge_max_tokens
    }

    fn scorer(&self, scope: Scope) -> Box<dyn Scorer + '_> {
        let scorer::Models { similarity, answer, next_sentence, toxicity } = &self.models.scores;
        let models = scorer::Models {
            similarity: self.recorded(similarity),
            answer: self.recorded(answer),
            next_sentence: self.recorded(next_sentence),
            toxicity: self.recorded(toxicity),
        };
        Box::new(Chosen::new(self, scope, models))
    }

    fn context(&self, scope: Scope) -> (llm::Context, u64) {
        let call = self.questions.fetch_add(1, Ordering::Relaxed);
        let trace = self.head.trace;
        let (turn, span) = match scope {
            Scope::Turn { turn, .. } => (turn, ids::turn_span(trace, turn)),
            Scope::Conversation { .. } | Scope::Step { .. } => {
                (self.turn.load(Ordering::Relaxed), ids::trial_span(trace))
            }
        };
        let idempotency_key = format!("{}/judge/{call}", self.template.idempotency_key);
        let context = llm::Context {
            role: Role::Judge.name().to_owned(),
            turn,
            call,
            idempotency_key,
            trace: Some(trace_of(self.head, span)),
            ..self.template.clone()
        };
        (context, seed_of(&[&self.seed.to_le_bytes(), b"judge", &call.to_le_bytes()]))
    }
}

#[cfg(test)]
mod tests {
    use evaluate::JudgePool as _;
    use llm::mock::{Behaviour, Mock};
    use record::call::Spend;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn scores_are_counted_under_whoever_gave_them() {
        let mock = |name: &str| Arc::new(Mock::new(name, Behaviour::default()));
        let scores = scorer::Models { similarity: Some(mock("vectors")), ..scorer::Models::default() };
        let models = Models {
            user_sim: mock("user"),
            judge: mock("words"),
            by_type: Default::default(),
            scores,
            judge_max_tokens: evaluate::JUDGE_MAX_TOKENS,
        };
        let bench = Bench {
            models,
            log: CallLog::new(Instant::now(), crate::outbox::Owed::default()),
            gate: Gate::new(),
            template: llm::Context::default(),
            seed: 7,
            head: telemetry::Traces::off().head(&scenario::RunId::new("r"), 0, 1),
            questions: AtomicU32::new(0),
            turn: AtomicU32::new(1),
        };
        let scorer = bench.scorer(Scope::Step { step: 1 });
        let score = scorer.similarity("cancel my order", "cancel an order").await.expect("a score");
        assert!(score.value > 0.9 && score.model == "vectors", "{score:?}");
        let toxicity = scorer.toxicity("you idiot").await.expect("scores");
        assert!(toxicity.scores[4] > 0.8 && toxicity.model == "judge words", "{toxicity:?}");
        let follows = scorer.next_sentence("Where is my order?", "Your order is on its way.").await.expect("a score");
        assert!(follows.value > 0.0, "{follows:?}");
        let answer = scorer.answer("Where do you live?", "Hello! I live in Oslo.").await.expect("an answer");
        assert_eq!(answer.text, "I live in Oslo.");
        let mut spend = Spend::default();
        bench.log.take().iter().for_each(|call| spend.add_call(call));
        let calls = [Role::Scorer, Role::Judge, Role::Agent].map(|role| spend.of(role).calls);
        assert_eq!(calls, [1, 3, 0]);
        assert!(spend.of(Role::Scorer).tokens.input > 0);
    }
}
