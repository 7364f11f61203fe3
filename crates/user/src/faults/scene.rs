//! The input of a detector: the draft, and its scenario and conversation.

use std::borrow::Cow;

/// What the model wants the user to say.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub say: &'a str,
    /// The draft ends the conversation because the goal is reached.
    pub done: bool,
}

/// The user's instructions, and the conversation so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scene<'a> {
    /// The model's instructions: none of their text belongs in the conversation.
    pub instructions: &'a [&'a str],
    /// The user's wishes, which it may write verbatim: the objective and the parts of the goal.
    pub wishes: &'a [&'a str],
    /// Other knowledge of the user: persona, constraints, results of its own tools.
    pub known: &'a [&'a str],
    pub facts: &'a [Fact<'a>],
    /// Oldest first.
    pub earlier: &'a [Exchange<'a>],
    /// The most words that a line may have.
    pub most_words: Option<u32>,
    /// The most sentences that a line may have.
    pub most_sentences: Option<u32>,
    /// The language of the user's lines, as an ISO 639 code or a tag such as `de-CH`.
    pub language: Option<&'a str>,
}

/// A fact of the user.
#[derive(Debug, Clone, Copy)]
pub struct Fact<'a> {
    pub name: &'a str,
    pub value: &'a str,
    pub tell: Tell<'a>,
}

/// When the user tells a fact.
#[derive(Debug, Clone, Copy)]
pub enum Tell<'a> {
    First,
    /// Once the agent has said one of these words; without any, the fact's name.
    Asked(&'a [String]),
    Never,
}

/// A turn as the user sees it.
#[derive(Debug, Clone)]
pub struct Exchange<'a> {
    pub user: Cow<'a, str>,
    pub agent: Cow<'a, str>,
}

impl<'a> Scene<'a> {
    /// All texts from which the user can know something.
    pub(super) fn sources(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let facts = self.facts.iter().map(|fact| fact.value);
        self.wishes.iter().chain(self.known).copied().chain(facts).chain(self.said())
    }

    /// The messages of both sides.
    pub(super) fn said(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.earlier.iter().flat_map(|exchange| [&*exchange.user, &*exchange.agent])
    }

    /// The agent's last message; empty before its first one.
    pub(super) fn heard(&self) -> &'a str {
        self.earlier.last().map_or("", |exchange| &exchange.agent)
    }
}
