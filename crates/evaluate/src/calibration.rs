//! Labelled conversations, to measure a judge against people before it decides anything.
//!
//! A file has one JSON object a line: a conversation, one criterion, and the label that a person gave.

mod attacks;

use std::{collections::BTreeSet, fmt::Write as _};

use record::{Scope, Turn, turn::Origin};
use scenario::{Diagnostic, check::Judging};
use serde::{Deserialize, Serialize};

pub use self::attacks::{ATTACKS, Attack, attacks_in};
use crate::{
    error::Error as CompileError,
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    question::{
        self, Ballot, Counted, Error, Form, Material, Question, Scale, Verdict, Votes, form_of_ballot, majority,
    },
    rubric,
};

/// The size limit of a file.
pub const MAX_BYTES: usize = 16 << 20;
/// The most solved examples in a prompt.
pub const MOST_EXAMPLES: usize = 6;

const SCOPE: Scope = Scope::Conversation { step: 1 };

/// A conversation, a criterion, and a person's verdict.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    pub id: String,
    /// For tables by group.
    #[serde(default)]
    pub domain: String,
    #[serde(default)]
    pub language: String,
    pub turns: Vec<Said>,
    pub criterion: String,
    pub label: Label,
    /// Why the label holds.
    #[serde(default)]
    pub reason: String,
    /// 1-based.
    #[serde(skip)]
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    pub user: String,
    pub agent: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    Met,
    NotMet,
    NotApplicable,
    CannotTell,
}

/// A criterion as ballots name it.
#[must_use]
pub fn named(criterion: &str) -> String {
    excerpt(criterion.trim(), SHORT_BYTES).into_owned()
}

impl Label {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not_met",
            Self::NotApplicable => "not_applicable",
            Self::CannotTell => "cannot_tell",
        }
    }

    /// A criterion that is met in part is not met.
    fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Met => Self::Met,
            Verdict::NotApplicable => Self::NotApplicable,
            Verdict::CannotTell => Self::CannotTell,
            Verdict::Partly | Verdict::NotMet | Verdict::Point(_) | Verdict::Millionths(_) | Verdict::Words(_) => {
                Self::NotMet
            }
        }
    }
}

/// Reads a file of labelled conversations. A file with an error gives no items.
#[must_use]
pub fn read(text: &str, path: &str) -> (Vec<Item>, Vec<Diagnostic>) {
    const HELP: &str = "a line is {\"id\": …, \"turns\": [{\"user\": …, \"agent\": …}], \"criterion\": …, \"label\": \"met\"}; \
        labels are met, not_met, not_applicable and cannot_tell";
    let (mut items, mut found, mut ids) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (index, written) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let mut fault = |message: String| found.push(Diagnostic::error(path, line, 0, message).with_help(HELP));
        match serde_json::from_str::<Item>(written) {
            Err(error) => fault(format!("not a labelled conversation: {error}")),
            Ok(item) if item.turns.is_empty() => fault("`turns` is empty, so there is nothing to judge".to_owned()),
            Ok(item) if item.criterion.trim().is_empty() => fault("`criterion` is empty".to_owned()),
            Ok(item) if !ids.insert(item.id.clone()) => fault(format!("the id `{}` is there twice", item.id)),
            Ok(item) => items.push(Item { line, ..item }),
        }
    }
    if items.is_empty() && found.is_empty() {
        found.push(Diagnostic::error(path, 1, 0, "expected labelled conversations, found none").with_help(HELP));
    }
    if found.is_empty() { (items, found) } else { (Vec::new(), found) }
}

/// How the judge is measured.
#[derive(Debug)]
pub struct Calibration {
    judging: Judging,
    model_type: Option<String>,
    form: Form,
}

/// The judge's answer to one item.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// `None`: the votes tie.
    pub label: Option<Label>,
    pub reason: String,
    pub ballots: Vec<record::Ballot>,
}

impl Calibration {
    /// # Errors
    /// The form does not compile.
    pub fn new(judging: Judging, model_type: Option<String>) -> Result<Self, CompileError> {
        let form = form_of_ballot(Scale::Marks, &judging)?;
        Ok(Self { judging, model_type, form })
    }

    /// Asks the question that a `rubric` asks about a criterion.
    ///
    /// # Errors
    /// The model fails, or no answer is in the form.
    pub async fn ask(
        &self,
        item: &Item,
        examples: &[&Item],
        attack: Option<&Attack>,
        pool: &dyn JudgePool,
    ) -> Result<Answered, Error> {
        let text = rubric::question_of(&item.criterion);
        let examples = if examples.is_empty() { String::new() } else { solved(examples) };
        let material = Material::of_turns(&turns(item, attack), &[]);
        let question = Question {
            model_type: self.model_type.as_deref(),
            judging: &self.judging,
            examples: &examples,
            ..Question::new(&text, &material, SCOPE)
        };
        let read = |text: &str| Ballot::read(&self.form.read(text)?, Scale::Marks, &self.judging, &material);
        let votes = question::ask(&question, &self.form, pool, read).await.map_err(|few| few.recorded(recorded))?;
        let label = match majority(votes.answers().map(|ballot| Label::of(&ballot.verdict))) {
            Counted::Majority(label) => Some(label),
            Counted::Tie => None,
        };
        let agreeing = votes.answers().find(|ballot| Some(Label::of(&ballot.verdict)) == label);
        let ballots = recorded(&votes);
        Ok(Answered { label, reason: agreeing.map(Ballot::shown).unwrap_or_default(), ballots })
    }
}

fn recorded(votes: &Votes<Ballot>) -> Vec<record::Ballot> {
    votes.recorded("", |ballot| (ballot.verdict.name(), Some(ballot.confidence), ballot.shown()))
}

/// Examples from other conversations in the other half of the file, alternately met and not met, preferring the same
/// language.
#[must_use]
pub fn examples<'a>(items: &'a [Item], item: &Item, count: usize) -> Vec<&'a Item> {
    let mut others: Vec<&Item> =
        items.iter().filter(|other| half(other) != half(item) && other.turns != item.turns).collect();
    others.sort_by_key(|other| {
        let order = scenario::ids::seed_of(&[b"example", other.id.as_bytes()]);
        (other.language != item.language, order)
    });
    let mut chosen: Vec<&Item> = Vec::new();
    for index in 0..count.min(MOST_EXAMPLES) {
        let wanted = if index.is_multiple_of(2) { Label::Met } else { Label::NotMet };
        let next = others
            .iter()
            .find(|other| other.label == wanted && chosen.iter().all(|chosen| chosen.turns != other.turns));
        chosen.extend(next);
    }
    chosen
}

/// Items about one conversation are in the same half.
fn half(item: &Item) -> u64 {
    let first = item.turns.first().map_or("", |said| said.user.as_str());
    scenario::ids::seed_of(&[b"fold", first.as_bytes()]) % 2
}

fn solved(examples: &[&Item]) -> String {
    let mut text = "Solved examples from other conversations:".to_owned();
    for (index, example) in examples.iter().enumerate() {
        let _ = write!(text, "\nExample {}:", index + 1);
        for Said { user, agent } in &example.turns {
            let _ = write!(text, "\n  user: {user}\n  agent: {agent}");
        }
        let _ = write!(text, "\n  criterion: {}\n  verdict: {}", example.criterion, example.label.name());
        if !example.reason.is_empty() {
            let _ = write!(text, " ({})", example.reason);
        }
    }
    text.push_str("\n\nNow the conversation to judge.\n");
    text
}

/// The conversation as a record, with an attack at the end of the agent's last message.
fn turns(item: &Item, attack: Option<&Attack>) -> Vec<Turn> {
    let last = item.turns.len().saturating_sub(1);
    let turn = |(index, said): (usize, &Said)| {
        let agent = match attack {
            Some(attack) if index == last => format!("{} {}", said.agent, attack.text),
            _ => said.agent.clone(),
        };
        Turn {
            number: u32::try_from(index + 1).unwrap_or(u32::MAX),
            step: 1,
            speaker: Origin::Simulated,
            user: said.user.clone(),
            agent: Some(agent),
            messages: Vec::new(),
            exit_code: None,
            tool_calls: Vec::new(),
            actions: Vec::new(),
            started_micros: 0,
            duration_micros: 0,
            response_micros: None,
            calls: Vec::new(),
            notes: Vec::new(),
            simulated: None,
        }
    };
    item.turns.iter().enumerate().map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"id":"a","turns":[{"user":"hi","agent":"hello"}],"criterion":"It greets.","label":"met"}"#;

    #[test]
    fn every_line_is_one_item_and_every_fault_has_its_line() {
        let (items, found) = read(&format!("{LINE}\n\n{}\n", LINE.replace("\"a\"", "\"b\"")), "a.jsonl");
        assert!(found.is_empty(), "{found:?}");
        assert_eq!((items.len(), items[1].line, items[1].label), (2, 3, Label::Met));
        for (line, part) in [
            (LINE.replace("met\"}", "good\"}"), "unknown variant `good`"),
            (LINE.replace("criterion", "criterium"), "unknown field `criterium`"),
            (LINE.replace("[{\"user\":\"hi\",\"agent\":\"hello\"}]", "[]"), "`turns` is empty"),
            (LINE.replace("It greets.", " "), "`criterion` is empty"),
            ("{".to_owned(), "not a labelled conversation"),
            (LINE.to_owned(), "the id `a` is there twice"),
        ] {
            let (items, found) = read(&format!("{LINE}\n{line}\n"), "a.jsonl");
            assert!(items.is_empty(), "{line}");
            assert!(found[0].to_string().contains(part) && found[0].to_string().contains(":2"), "{} {part}", found[0]);
        }
        assert!(read("\n", "a.jsonl").1[0].to_string().contains("found none"));
    }

    #[test]
    fn examples_come_from_other_conversations_of_the_other_fold() {
        let item = |index: usize| Item {
            id: format!("i{index}"),
            domain: String::new(),
            language: if index.is_multiple_of(3) { "de" } else { "en" }.to_owned(),
            // Two items share a conversation.
            turns: vec![Said { user: format!("question {}", index / 2), agent: "answer".to_owned() }],
            criterion: "It answers.".to_owned(),
            label: if index.is_multiple_of(2) { Label::Met } else { Label::NotMet },
            reason: String::new(),
            line: 0,
        };
        let items: Vec<Item> = (0..60).map(item).collect();
        for item in &items {
            let examples = examples(&items, item, 4);
            assert_eq!(examples.len(), 4, "{}", item.id);
            assert!(examples.iter().all(|example| example.turns != item.turns));
            let labels: Vec<Label> = examples.iter().map(|example| example.label).collect();
            assert_eq!(labels, [Label::Met, Label::NotMet, Label::Met, Label::NotMet]);
            assert!(examples.iter().all(|example| example.language == item.language), "enough in its language");
            for example in examples {
                let back = super::examples(&items, example, MOST_EXAMPLES);
                assert!(back.iter().all(|back| half(back) != half(example)), "the folds do not mix");
            }
        }
        assert!(super::examples(&items, &items[0], 100).len() <= MOST_EXAMPLES);
    }
}
