//! A conversation of a battery that is over, as its oracles see it.

use record::{Scope, Turn};
use scenario::{
    Battery,
    battery::{Compat, Examination},
};

/// A conversation that is over.
#[derive(Debug, Clone, Copy)]
pub struct Conversation<'a> {
    pub battery: &'a Battery,
    pub examination: &'a Examination,
    /// In order; the first belongs to the examination's first turn.
    pub turns: &'a [Turn],
    /// The step that it was, from 1.
    pub step: u32,
}

impl<'a> Conversation<'a> {
    pub(super) fn is_compat(&self) -> bool {
        self.battery.compat == Some(Compat::Emely9043c93)
    }

    pub(super) fn replies(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        self.turns.iter().enumerate().map(|(index, turn)| (index, reply_of(turn)))
    }

    /// The number of the turn at this index.
    pub(super) fn number(&self, turn: usize) -> u32 {
        self.turns.get(turn).map_or(0, |turn| turn.number)
    }

    /// The number of words of the reply.
    pub(super) fn words(&self, turn: usize) -> u32 {
        let words = self.turns.get(turn).map_or(0, |turn| reply_of(turn).split_whitespace().count());
        u32::try_from(words).unwrap_or(u32::MAX)
    }

    pub(super) fn scope(&self, turn: usize) -> Scope {
        Scope::Turn { step: self.step, turn: self.number(turn) }
    }
}

pub(super) fn reply_of(turn: &Turn) -> &str {
    turn.agent.as_deref().unwrap_or("")
}
