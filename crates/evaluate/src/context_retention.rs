//! `context_retention`: the agent remembers something for some turns.

use record::Turn;
use scenario::check;

use crate::{
    caseless::Caseless,
    error::Error,
    evaluator::{Behaviour, Found},
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{self, Material, Open, Question, yes_or_no},
    share::Share,
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

/// What the judges find about the turns after the first mention of an item.
#[derive(Debug, Default)]
struct Later {
    /// The number of turns in which the agent knew it.
    known: u32,
    /// The turns that count.
    counted: u32,
    share: Share,
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

    /// The score is the mean over the items. An item counts 0 if it was never mentioned, or only in the last turn. It does
    /// not count if the judge finds that no later turn is about it.
    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        if subject.turns.is_empty() {
            return Outcome::nothing_said();
        }
        let mut share = Share::default();
        let (mut findings, mut ballots) = (Vec::with_capacity(self.items.len()), Vec::new());
        for item in &self.items {
            let name = excerpt(&item.text, SHORT_BYTES);
            let Some(first) = item.first_turn(subject.turns) else {
                share.add(1.0, (0.0, 0.0));
                findings.push(format!("{name:?} was never mentioned: 0.0%"));
                continue;
            };
            if first + 1 == subject.turns.len() {
                share.add(1.0, (0.0, 0.0));
                findings.push(format!("{name:?} was mentioned in the last turn only: 0.0%"));
                continue;
            }
            let later = match self.known_after(item, first, subject, pool, &mut ballots).await {
                Ok(later) => later,
                Err(error) => return Outcome::from(error).about(&item.text).after(ballots),
            };
            let Later { known, counted, share: of_item } = later;
            match of_item.bounds() {
                Some(bounds) => {
                    share.add(1.0, bounds);
                    findings.push(format!("{name:?} was known in {known} of {counted} later turns: {of_item}"));
                }
                None => findings.push(format!("{name:?} applies to no later turn")),
            }
        }
        let outcome = match share.bounds() {
            None => Outcome::not_applicable("nothing to remember applies to a later turn"),
            Some(_) => {
                let required = self.threshold * 100.0;
                share.outcome(self.threshold, format!("context retention {share}, required {required:.1}%"))
            }
        };
        outcome.with_evidence(&findings.join("; ")).with_ballots(ballots)
    }

    /// Asks about the turns after `first`.
    async fn known_after(
        &self,
        item: &Item,
        first: usize,
        subject: &Subject<'_>,
        pool: &dyn JudgePool,
        ballots: &mut Vec<record::Ballot>,
    ) -> Result<Later, question::Error> {
        let end = subject.turns.len().min(first.saturating_add(1).saturating_add(self.retention_turns));
        let mut found = Later::default();
        for later in first + 1..end {
            let text = format!(
                "This was said earlier in the conversation: {:?}. Judging by the agent's reply in the last turn of \
                 the material, does the agent still know it and take it into account? The answer is no if the reply \
                 contradicts it, asks for it again, or ignores it.",
                item.text
            );
            let material = Material::of_turns(&subject.turns[first..=later], subject.steps);
            let answer = yes_or_no(&Question::about(subject, &text, &material), pool).await?;
            found.share.add_answer(answer.said);
            found.known += u32::from(answer.said == Ok(true));
            found.counted += u32::from(answer.said != Err(Open::NotApplicable));
            ballots.extend(answer.ballots.into_iter().map(|ballot| ballot.about(&item.text)));
        }
        Ok(found)
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
