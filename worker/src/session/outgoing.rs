//! The worker's messages on a stream: short messages first, then batches as far as the pipe has room.

use std::collections::VecDeque;

use proto::v1::{self, worker_message::Body as Word};
use tokio::time::Instant;

use super::pipe::Pipe;
use crate::outbox::Outbox;

#[derive(Debug)]
pub(super) struct Outgoing {
    /// Messages that are not on the stream yet, batches not included.
    words: VecDeque<Word>,
    /// Batches go to the stream until the outbox is empty.
    flushing: bool,
    pipe: Pipe,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        Self { words: VecDeque::new(), flushing: false, pipe: Pipe::new() }
    }

    /// For the next stream. Trials that are given back stay: the coordinator would take them for lost.
    pub(super) fn reopen(&mut self) {
        let mut words = std::mem::take(&mut self.words);
        words.retain(|word| matches!(word, Word::Release(_)));
        *self = Self { words, ..Self::new() };
    }

    pub(super) fn say(&mut self, word: Word) {
        self.words.push_back(word);
    }

    pub(super) fn say_begun(&mut self, trials: Vec<v1::Held>) {
        if !trials.is_empty() {
            self.say(Word::Begun(v1::Begun { trials }));
        }
    }

    /// Gives trials back. `begun`: whether they were running.
    pub(super) fn release(&mut self, trials: Vec<v1::Held>, begun: bool) {
        if !trials.is_empty() {
            self.say(Word::Release(v1::Release { trials, begun }));
        }
    }

    /// Whether a heartbeat is still queued: the link is blocked, and another heartbeat would not arrive earlier.
    pub(super) fn has_heartbeat(&self) -> bool {
        self.words.iter().any(|word| matches!(word, Word::Beat(_)))
    }

    pub(super) fn flush(&mut self) {
        self.flushing = true;
    }

    pub(super) fn is_flushing(&self) -> bool {
        self.flushing
    }

    /// Whether [`Self::next`] may have something.
    pub(super) fn has_next(&self) -> bool {
        !self.words.is_empty() || self.may_send_batch()
    }

    /// Batches come last: a heartbeat must not wait behind results that a slow store holds up.
    pub(super) fn next(&mut self, outbox: &Outbox) -> Option<Word> {
        if let Some(word) = self.words.pop_front() {
            return Some(word);
        }
        if !self.may_send_batch() {
            return None;
        }
        let word = self.pipe.next(|| outbox.next_encoded(), Instant::now());
        self.flushing = word.is_some();
        word
    }

    /// The coordinator has read this many bytes of batches since the stream began.
    pub(super) fn received(&mut self, bytes: u64) {
        self.pipe.received(bytes, Instant::now());
    }

    /// Whether the link is known to carry a large batch in four seconds.
    pub(super) fn is_quick(&self) -> bool {
        self.pipe.is_quick()
    }

    pub(super) fn take_words(&mut self) -> VecDeque<Word> {
        std::mem::take(&mut self.words)
    }

    fn may_send_batch(&self) -> bool {
        self.flushing && self.pipe.has_room()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_stream_still_gives_back_trials() {
        let mut outgoing = Outgoing::new();
        let held = v1::Held { run: "a".to_owned(), first: 3, end: 5, epoch: 1 };
        outgoing.say_begun(vec![held.clone()]);
        outgoing.release(vec![held.clone()], false);
        outgoing.say(Word::Claim(v1::Claim::default()));
        outgoing.flush();
        outgoing.reopen();
        assert_eq!(outgoing.take_words(), [Word::Release(v1::Release { trials: vec![held], begun: false })]);
        assert!(!outgoing.is_flushing());
    }
}
