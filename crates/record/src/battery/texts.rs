//! Visits every text of a battery's record, for redaction, cutting and counting bytes.
//!
//! Each struct is destructured completely, so that a new field does not compile until it is handled here.

use scenario::battery::{Answer, DataSet, Examination, Mutation, Test};
use serde_json::Value;

use super::examined::{Cell, Examined, Head, Reply};

impl Examined {
    /// Applies a change to every text.
    pub fn each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        let Self { head, replies } = self;
        let Head { requirements: _, examination, thresholds: _, shown: _, compat: _, saved: _ } = head;
        of_examination(examination, change);
        for Reply { turn: _, finding: _, cell } in replies {
            of_cell(cell, change);
        }
    }

    /// Bytes as JSON.
    #[must_use]
    pub fn size(&self) -> usize {
        let mut counted = Count(0);
        // Counting cannot fail, and all keys are strings.
        let _ = serde_json::to_writer(&mut counted, self);
        counted.0
    }
}

fn of_examination(examination: &mut Examination, change: &mut impl FnMut(&mut String)) {
    let Examination { turns, sets } = examination;
    for Test { requirement: _, set: _, part: _, text, mutation } in turns.iter_mut().flatten() {
        change(text);
        if let Some(Mutation { text, values: _, changed }) = mutation {
            change(text);
            changed.iter_mut().for_each(&mut *change);
        }
    }
    for (_, sets) in sets {
        for DataSet { id: _, kind: _, information, questions, extract, answer, blocked } in sets {
            let texts = information.iter_mut().chain(questions).chain(extract).chain(blocked);
            texts.for_each(&mut *change);
            match answer {
                Some(Answer::Text(text)) => change(text),
                Some(Answer::Yes(_)) | None => {}
            }
        }
    }
}

fn of_cell(cell: &mut Cell, change: &mut impl FnMut(&mut String)) {
    let Cell { requirement: _, set: _, word, values: _, interpretation, detail, scores, models, counted: _ } = cell;
    word.iter_mut().chain(models).for_each(&mut *change);
    scores.iter_mut().for_each(|(name, _)| change(name));
    for value in [interpretation, detail] {
        // Text, a number, or a boolean; nothing else is ever written.
        if let Some(Value::String(text)) = value {
            change(text);
        }
    }
}

struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use scenario::battery::{Kind, Part, Requirement, Shown, Thresholds, Values};
    use serde_json::json;

    use super::*;
    use crate::Finding;

    /// A text in every field that has one.
    fn examined() -> Examined {
        let text = |name: &str| format!("secret {name}");
        let mutation = Mutation { text: text("garbled"), values: Values::Swaps(1), changed: vec![text("changed")] };
        let test = Test {
            requirement: Requirement::WordOrder,
            set: 1,
            part: Part::Question,
            text: text("test"),
            mutation: Some(mutation),
        };
        let set = DataSet {
            id: 1,
            kind: Kind::Qa,
            information: vec![text("information")],
            questions: vec![text("question")],
            extract: Some(text("extract")),
            answer: Some(Answer::Text(text("answer"))),
            blocked: vec![text("blocked")],
        };
        let cell = Cell {
            requirement: Requirement::WordOrder,
            set: Some(1),
            word: Some(text("word")),
            values: None,
            interpretation: Some(json!(text("interpretation"))),
            detail: Some(json!(text("detail"))),
            scores: vec![(text("score"), 0.5)],
            models: vec![text("model")],
            counted: true,
        };
        let head = Head {
            requirements: vec![Requirement::WordOrder],
            examination: Examination { turns: vec![None, Some(test)], sets: vec![(Requirement::WordOrder, vec![set])] },
            thresholds: Thresholds::default(),
            shown: Shown::default(),
            compat: None,
            saved: false,
        };
        Examined { head, replies: vec![Reply { turn: 2, finding: Finding::Pass, cell }] }
    }

    #[test]
    fn every_text_is_reached() {
        let mut examined = examined();
        let json = String::from_utf8(examined.to_json()).unwrap();
        assert_eq!(examined.size(), json.len());
        let mut texts = 0;
        examined.each_text(&mut |text| {
            texts += 1;
            *text = text.replace("secret", "clean");
        });
        assert_eq!(texts, json.matches("secret").count());
        let clean = String::from_utf8(examined.to_json()).unwrap();
        assert!(!clean.contains("secret"), "{clean}");
        assert_eq!(Examined::from_json(clean.as_bytes()).unwrap(), examined);
    }
}
