//! Reasoning that a model writes before its answer: separated from it, wherever a stream splits the marks.

use crate::message::Annotation;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// How much reasoning is kept: enough to see what went wrong.
const MOST_KEPT_BYTES: usize = 16 << 10;

/// Of the spaces before a block: a reply that begins with more of them is no block.
const MOST_SPACE_BYTES: usize = 256;

/// Only a block at the start of a reply is reasoning: later, a model may be talking about the mark itself.
#[derive(Debug, Default)]
pub(crate) struct Thinking {
    place: Place,
    /// A possible start of a mark.
    held: String,
    kept: String,
    bytes: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Inside,
    /// Behind the block and before the first letter of the answer.
    Behind,
    Answer,
}

impl Thinking {
    /// Takes the next piece of a reply, and adds its part of the answer to `answer`.
    pub(crate) fn hear(&mut self, text: &str, answer: &mut String) {
        match self.place {
            Place::Answer => answer.push_str(text),
            Place::Before => self.before(text, answer),
            Place::Inside => self.inside(text, answer),
            Place::Behind => self.behind(text, answer),
        }
    }

    /// The reply is over: a held incomplete mark is text.
    pub(crate) fn end(&mut self, answer: &mut String) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Inside => self.add(&held),
            _ => answer.push_str(&held),
        }
    }

    /// Reasoning from a field of its own.
    pub(crate) fn add(&mut self, reasoning: &str) {
        self.bytes += reasoning.len();
        let room = MOST_KEPT_BYTES.saturating_sub(self.kept.len());
        self.kept.push_str(&reasoning[..reasoning.floor_char_boundary(room)]);
    }

    /// The size of all reasoning, kept or not.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The note for the turn; `None` without reasoning.
    pub(crate) fn into_note(self) -> Option<Annotation> {
        let text = self.kept.trim();
        (!text.is_empty()).then(|| Annotation { kind: "reasoning".to_owned(), text: text.to_owned() })
    }

    fn before(&mut self, text: &str, answer: &mut String) {
        // Most replies have no block, and are copied only once.
        if self.held.is_empty() && text.trim_start().starts_with(|letter| letter != '<') {
            self.place = Place::Answer;
            return answer.push_str(text);
        }
        self.held.push_str(text);
        let begins = self.held.trim_start();
        if let Some(inside) = begins.strip_prefix(OPEN) {
            let inside = inside.to_owned();
            self.held.clear();
            self.place = Place::Inside;
            self.inside(&inside, answer);
        } else if !OPEN.starts_with(begins) || self.held.len() > MOST_SPACE_BYTES {
            self.place = Place::Answer;
            answer.push_str(&std::mem::take(&mut self.held));
        }
    }

    fn inside(&mut self, text: &str, answer: &mut String) {
        self.held.push_str(text);
        let held = std::mem::take(&mut self.held);
        if let Some((reasoning, rest)) = held.split_once(CLOSE) {
            self.add(reasoning);
            self.place = Place::Behind;
            return self.behind(rest, answer);
        }
        // The mark is ASCII, so a part of it begins at a letter.
        let from = (1..CLOSE.len()).rev().find(|length| held.ends_with(&CLOSE[..*length])).unwrap_or(0);
        let (reasoning, mark) = held.split_at(held.len() - from);
        self.add(reasoning);
        mark.clone_into(&mut self.held);
    }

    fn behind(&mut self, text: &str, answer: &mut String) {
        let text = text.trim_start();
        if !text.is_empty() {
            self.place = Place::Answer;
            answer.push_str(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Answer and reasoning of a reply in these pieces.
    fn heard<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, Option<String>) {
        let (mut thinking, mut answer) = (Thinking::default(), String::new());
        pieces.into_iter().for_each(|piece| thinking.hear(piece, &mut answer));
        thinking.end(&mut answer);
        (answer, thinking.into_note().map(|note| note.text))
    }

    const ROWS: [(&str, &str, Option<&str>); 12] = [
        ("", "", None),
        ("Hello <think>no</think>", "Hello <think>no</think>", None),
        ("<think>Two and two.</think>\n\nFour.", "Four.", Some("Two and two.")),
        ("\n <think>\nTwo\n</think>Four.", "Four.", Some("Two")),
        ("<think></think>Four.", "Four.", None),
        ("<think>cut in the", "", Some("cut in the")),
        ("<think>cut in the </th", "", Some("cut in the </th")),
        ("<think>a < b </thin> c</think> <b>", "<b>", Some("a < b </thin> c")),
        ("<thought>hm", "<thought>hm", None),
        ("<thi", "<thi", None),
        ("  \n", "  \n", None),
        ("<think>ä</think>ö <think>é</think>", "ö <think>é</think>", Some("ä")),
    ];

    #[test]
    fn only_a_block_at_the_beginning_is_reasoning() {
        for (reply, answer, reasoning) in ROWS {
            assert_eq!(heard([reply]), (answer.to_owned(), reasoning.map(str::to_owned)), "{reply}");
        }
    }

    #[test]
    fn every_split_of_a_stream_means_the_same() {
        for (reply, answer, reasoning) in ROWS {
            let cuts = (0..=reply.len()).filter(|at| reply.is_char_boundary(*at));
            for (first, second) in cuts.map(|at| reply.split_at(at)) {
                assert_eq!(
                    heard([first, second]),
                    (answer.to_owned(), reasoning.map(str::to_owned)),
                    "{first}|{second}"
                );
            }
            let letters = reply.char_indices().map(|(at, letter)| &reply[at..at + letter.len_utf8()]);
            assert_eq!(heard(letters), (answer.to_owned(), reasoning.map(str::to_owned)), "{reply}");
        }
    }

    #[test]
    fn kept_reasoning_is_bounded() {
        let (answer, reasoning) = heard(["<think>", &"é".repeat(1 << 20), "</think>", "Four."]);
        assert_eq!((&*answer, reasoning.map(|text| text.len())), ("Four.", Some(MOST_KEPT_BYTES)));
    }

    proptest! {
        #[test]
        fn pieces_join_to_the_same(
            parts in prop::collection::vec(prop::sample::select(vec!["<think>", "</think>", "<", "/", "th", " ", "é", "ink>"]), 0..12),
        ) {
            let whole = parts.concat();
            prop_assert_eq!(heard(parts.iter().copied()), heard([&*whole]));
        }
    }
}
