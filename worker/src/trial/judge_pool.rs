//! The judges of one trial. Their questions are numbered, so that a seeded model answers the same each time.

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
use scenario::plan::JudgeGate;

use super::calling::Calling;
use crate::resources::Models;

#[derive(Debug)]
pub(crate) struct JudgePool<'a> {
    models: &'a Models,
    calling: &'a Calling,
    /// Questions asked so far in this trial.
    questions: &'a AtomicU32,
    /// The number of the last turn.
    turn: u32,
    gate: Option<&'a JudgeGate>,
}

impl<'a> JudgePool<'a> {
    pub(super) fn new(models: &'a Models, calling: &'a Calling, questions: &'a AtomicU32, turn: u32) -> Self {
        Self { models, calling, questions, turn, gate: None }
    }

    /// With the judges that decide.
    pub(super) fn gated(self, gate: Option<&'a JudgeGate>) -> Self {
        Self { gate, ..self }
    }

    fn recorded<M: Measurement>(&self, model: &Option<Arc<dyn Measures<M>>>) -> Option<Arc<dyn Measures<M>>> {
        Some(Arc::new(self.calling.recorded(Arc::clone(model.as_ref()?), Role::Scorer)))
    }
}

impl evaluate::JudgePool for JudgePool<'_> {
    fn judge(&self, model_type: Option<&str>) -> Arc<dyn llm::Chat> {
        Arc::new(self.calling.recorded(self.models.judge(model_type), Role::Judge))
    }

    fn judge_max_tokens(&self) -> u32 {
        self.models.judge_max_tokens
    }

    fn gate(&self) -> Option<&JudgeGate> {
        self.gate
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
        let (turn, trace) = match scope {
            Scope::Turn { turn, .. } => (turn, self.calling.trace_of_turn(turn)),
            Scope::Conversation { .. } | Scope::Step { .. } => (self.turn, self.calling.trace_of_trial()),
        };
        self.calling.of_judge(turn, call, trace)
    }
}

#[cfg(test)]
mod tests {
    use evaluate::JudgePool as _;
    use llm::mock::{Behaviour, Mock};
    use record::call::Spend;
    use tokio::time::Instant;

    use super::*;
    use crate::{admission::Admission, recorder::CallLog};

    fn calling() -> Calling {
        Calling {
            log: CallLog::new(Instant::now(), crate::outbox::Owed::default(), None),
            admission: Admission::new(),
            context: llm::Context::default(),
            seed: 7,
            head: telemetry::Traces::off().head(&scenario::RunId::new("r"), 0, 1),
        }
    }

    /// Answers later questions sooner. Its tokens tell the question.
    #[derive(Debug)]
    struct Hurried;

    impl llm::Named for Hurried {
        fn endpoint(&self) -> &str {
            "hurried"
        }
    }

    #[async_trait::async_trait]
    impl llm::Call<llm::chat::Request> for Hurried {
        async fn ask(&self, request: &llm::chat::Request) -> Result<llm::chat::Reply, llm::Error> {
            let question = u64::from(request.context.call);
            tokio::time::sleep(std::time::Duration::from_secs(100 - question)).await;
            let usage = llm::Usage { input: question, ..llm::Usage::default() };
            let receipt = Box::new(llm::Receipt { usage, ..llm::Receipt::default() });
            Ok(llm::chat::Reply { receipt, ..llm::chat::Reply::default() })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_at_the_same_time_are_kept_in_the_order_of_their_questions() {
        let calling = calling();
        let judge = calling.recorded(Arc::new(Hurried), Role::Judge);
        let user = calling.recorded(Arc::new(Hurried), Role::UserSim);
        let ask = async |model: &dyn llm::Chat, number: u32| {
            let (context, _) = calling.of_judge(1, number, calling.trace_of_turn(1));
            let request = llm::chat::Request { context, ..llm::chat::Request::default() };
            model.ask(&request).await.expect("an answer");
        };
        ask(&user, 9).await;
        futures_util::future::join_all((0..3).map(|number| ask(&judge, number))).await;
        ask(&user, 4).await;
        let found: Vec<_> = calling.log.take().iter().map(|call| (call.role, call.tokens.input)).collect();
        let judged = |number| (Role::Judge, number);
        assert_eq!(found, [(Role::UserSim, 9), judged(0), judged(1), judged(2), (Role::UserSim, 4)]);
    }

    #[tokio::test]
    async fn scores_are_counted_under_their_source() {
        let mock = |name: &str| Arc::new(Mock::new(name, Behaviour::default()));
        let scores = scorer::Models { similarity: Some(mock("vectors")), ..scorer::Models::default() };
        let models = Models {
            user_sim: mock("user"),
            judge: mock("words"),
            by_type: Default::default(),
            scores,
            judge_max_tokens: evaluate::JUDGE_MAX_TOKENS,
        };
        let calling = calling();
        let questions = AtomicU32::new(0);
        let judges = JudgePool::new(&models, &calling, &questions, 1);
        let scorer = judges.scorer(Scope::Step { step: 1 });
        let score = scorer.similarity("cancel my order", "cancel an order").await.expect("a score");
        assert!(score.value > 0.9 && score.model == "vectors", "{score:?}");
        let toxicity = scorer.toxicity("you idiot").await.expect("scores");
        assert!(toxicity.scores[4] > 0.8 && toxicity.model == "judge words", "{toxicity:?}");
        let follows = scorer.next_sentence("Where is my order?", "Your order is on its way.").await.expect("a score");
        assert!(follows.value > 0.0, "{follows:?}");
        let answer = scorer.answer("Where do you live?", "Hello! I live in Oslo.").await.expect("an answer");
        assert_eq!(answer.text, "I live in Oslo.");
        let mut spend = Spend::default();
        calling.log.take().iter().for_each(|call| spend.add_call(call));
        let calls = [Role::Scorer, Role::Judge, Role::Agent].map(|role| spend.of(role).calls);
        assert_eq!(calls, [1, 3, 0]);
        assert!(spend.of(Role::Scorer).tokens.input > 0);
    }
}
