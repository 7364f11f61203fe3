//! `no_repeated_reply`: the agent does not give the same reply twice.

use std::collections::{HashMap, hash_map::Entry};

use record::{FailureKind, Turn, turn::Origin};
use scenario::check;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::{
    evaluator::Immediate,
    excerpt::{SHORT_BYTES, excerpt},
    outcome::Outcome,
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct NoRepeatedReply {
    min_words: usize,
}

impl NoRepeatedReply {
    pub(crate) fn new(rule: &check::NoRepeatedReply) -> Self {
        Self { min_words: usize::try_from(rule.min_words.0).unwrap_or(usize::MAX) }
    }

    /// The words by which replies are compared; `None` if the reply is too short.
    fn words_of(&self, reply: &str) -> Option<Vec<String>> {
        let words: Vec<String> = reply.unicode_words().map(str::to_lowercase).collect();
        (words.len() >= self.min_words).then_some(words)
    }
}

impl Immediate for NoRepeatedReply {
    fn look(&self, subject: &Subject<'_>) -> Outcome {
        if !subject.conversation {
            return Outcome::error(
                FailureKind::Misconfigured,
                "this step is not a conversation, so no reply can recur",
            );
        }
        let said = |turn: &&Turn| turn.speaker != Origin::Program;
        let replies: Vec<&str> = subject.turns.iter().filter(said).filter_map(|turn| turn.agent.as_deref()).collect();
        if replies.is_empty() {
            return Outcome::nothing_said();
        }
        let mut seen = HashMap::new();
        for (index, reply) in replies.iter().enumerate() {
            let Some(words) = self.words_of(reply) else { continue };
            match seen.entry(words) {
                Entry::Vacant(place) => _ = place.insert(index + 1),
                Entry::Occupied(first) => {
                    let shown = excerpt(reply.trim(), SHORT_BYTES);
                    let reason = format!("reply {} repeats reply {}: {shown:?}", index + 1, first.get());
                    return Outcome::fail(reason).with_evidence(reply);
                }
            }
        }
        Outcome::pass(format!("none of {} replies recurs", replies.len()))
    }
}
