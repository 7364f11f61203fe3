//! `context_retention`: the agent still knows some turns later what was said once.

use record::Turn;
use scenario::check;

use crate::{
    caseless::Caseless,
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{self, Material, Question, yes_or_no},
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct ContextRetention {
    items: Vec<Item>,
    /// The number of turns after the first mention that the judge is asked about.
    retention_turns: usize,
    /// 0 to 1: the required mean over the items.
    threshold: f64,
}

#[derive(Debug)]
struct Item {
    text: String,
    matcher: Caseless,
}

impl ContextRetention {
    pub(crate) fn new(rule: &check::ContextRetention) -> Result<Self, Error> {
        const FIELD: &str = "test_memory_of";
        let items = &rule.test_memory_of;
        if items.is_empty() || items.iter().any(|item| item.trim().is_empty()) {
            return Err(Error::Empty { field: FIELD });
        }
        let items = items
            .iter()
            .map(|item| Ok(Item { text: item.trim().to_owned(), matcher: Caseless::new(item.trim(), FIELD)? }))
            .collect::<Result<_, Error>>()?;
        let retention_turns = usize::try_from(rule.retention_turns.0).unwrap_or(usize::MAX);
        Ok(Self { items, retention_turns, threshold: rule.memory_accuracy_threshold.0 })
    }

    /// The score is the mean over the items. An item counts 0 if it was never mentioned, or only in the last turn.
    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        if subject.turns.is_empty() {
            return Outcome::nothing_said();
        }
        let (mut sum, mut findings, mut ballots) = (0.0, Vec::with_capacity(self.items.len()), Vec::new());
        for item in &self.items {
            let name = excerpt(&item.text, SHORT_BYTES);
            let finding = match item.first_turn(subject.turns) {
                None => format!("{name:?} was never mentioned: 0.0%"),
                Some(first) => match self.known_after(item, first, subject, pool, &mut ballots).await {
                    Ok((_, 0)) => format!("{name:?} was mentioned in the last turn only: 0.0%"),
                    Ok((known, asked)) => {
                        let share = f64::from(known) / f64::from(asked);
                        sum += share;
                        format!("{name:?} was known in {known} of {asked} later turns: {:.1}%", share * 100.0)
                    }
                    Err(error) => return error.into(),
                },
            };
            findings.push(finding);
        }
        let score = sum / self.items.len() as f64;
        let reason = format!("context retention {:.1}%, required {:.1}%", score * 100.0, self.threshold * 100.0);
        let outcome = Outcome::decided(score >= self.threshold, reason).with_score(score);
        outcome.with_evidence(&findings.join("; ")).with_ballots(ballots)
    }

    /// The number of turns after `first` in which the agent knew it, and the number of turns asked about.
    async fn known_after(
        &self,
        item: &Item,
        first: usize,
        subject: &Subject<'_>,
        pool: &dyn JudgePool,
        ballots: &mut Vec<record::Ballot>,
    ) -> Result<(u32, u32), question::Error> {
        let end = subject.turns.len().min(first.saturating_add(1).saturating_add(self.retention_turns));
        let (mut known, mut asked) = (0, 0);
        for later in first + 1..end {
            let text = format!(
                "This was said earlier in the conversation: {:?}. Judging by the agent's reply in the last turn of \
                 the material, does the agent still know it and take it into account? The answer is no if the reply \
                 contradicts it, asks for it again, or ignores it.",
                item.text
            );
            let material = Material::of_turns(&subject.turns[first..=later]);
            let answer = yes_or_no(&Question::about(subject, &text, &material), pool).await?;
            known += u32::from(answer.yes);
            asked += 1;
            ballots.extend(answer.ballots.into_iter().map(|ballot| ballot.about(&item.text)));
        }
        Ok((known, asked))
    }
}

impl Behaviour for ContextRetention {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

impl Item {
    /// The index of the first turn that mentions it, on either side.
    fn first_turn(&self, turns: &[Turn]) -> Option<usize> {
        turns.iter().position(|turn| {
            self.matcher.is_in(&turn.user) || turn.said().is_some_and(|said| self.matcher.is_in(&said))
        })
    }
}
