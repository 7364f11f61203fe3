//! The results of a run for the questions of a knowledge base, and the knowledge base with these results as comments.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use formats::qna::{self, Asked, KnowledgeBase, Pair, write};
use record::{Finding, Trial, Turn, Verdict, answer::Answer};
use scenario::{Plan, question::QUESTION};

use crate::clip;

/// Of a predicted answer or a reason.
const MOST_CHARS: usize = 4_000;
/// How many repeats of one question are listed one by one.
const MOST_TRIALS: usize = 8;

/// The results of a run for the questions of its plan. Receives all trials of the run.
#[derive(Debug)]
pub struct Batch {
    pub(super) asked: Vec<Asked>,
    /// For each case of the plan: the index of its source, and the question.
    cases: BTreeMap<u64, (usize, String)>,
    /// By source and question.
    results: BTreeMap<(usize, String), Results>,
}

/// The results of one question.
#[derive(Debug, Default)]
pub(super) struct Results {
    trials: u64,
    passed: u64,
    errors: u64,
    /// Without a verdict for another reason.
    unjudged: u64,
    pub(super) first: Vec<Outcome>,
}

/// The result of one trial.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) answer: Option<Answer>,
    /// The agent's answer.
    pub(super) said: Option<String>,
    /// Why there is no PASS.
    pub(super) reason: String,
}

impl Batch {
    /// `None` if the plan has no knowledge base.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let mut batch = Self { asked: Vec::new(), cases: BTreeMap::new(), results: BTreeMap::new() };
        let mut places = BTreeMap::new();
        for (index, group) in plan.groups.iter().enumerate() {
            let Some(asked) = qna::asked(group) else { continue };
            places.insert(index, batch.asked.len());
            batch.asked.push(asked);
        }
        for case in (0..plan.case_count()).map_while(|number| plan.case(number)) {
            let Some(place) = places.get(&case.group) else { continue };
            let question = case.parameters.iter().find(|(parameter, _)| parameter == QUESTION);
            let question = question.and_then(|(_, value)| value.as_str()).unwrap_or(&batch.asked[*place].question);
            batch.cases.insert(case.number, (*place, question.to_owned()));
        }
        (!batch.asked.is_empty()).then_some(batch)
    }

    pub fn add(&mut self, trial: &Trial, turns: &[Turn]) {
        let Some(key) = self.cases.get(&trial.case) else { return };
        let results = self.results.entry(key.clone()).or_default();
        results.trials += 1;
        results.passed += u64::from(trial.verdict == Verdict::Pass);
        results.errors += u64::from(trial.verdict == Verdict::Error);
        results.unjudged += u64::from(!matches!(trial.verdict, Verdict::Pass | Verdict::Fail | Verdict::Error));
        if results.first.len() < MOST_TRIALS {
            results.first.push(Outcome::of(trial, turns));
        }
    }

    /// The knowledge base with its results; `None` if only ids were expected and no answers.
    #[must_use]
    pub fn qna(&self) -> Option<String> {
        let pairs: Vec<(usize, Pair)> = self
            .asked
            .iter()
            .enumerate()
            .filter_map(|(index, asked)| Some((index, asked.clone().into_pair()?)))
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let base = self.beside();
        // A single answer needs no summary.
        let is_batch = pairs.len() > 1;
        let mut text = write::head(&base);
        if is_batch {
            let all: Vec<&Results> = pairs
                .iter()
                .flat_map(|(index, pair)| pair.questions.iter().filter_map(|question| self.found(*index, question)))
                .collect();
            let sum = |of: fn(&Results) -> u64| all.iter().map(|results| of(results)).sum::<u64>();
            let trials = sum(|results| results.trials);
            put(&mut text, format_args!("> # QnA pairs\n\n"));
            for (what, count) in [
                ("passed utterances", Some(sum(|results| results.passed))),
                ("errors", Some(sum(|results| results.errors)).filter(|count| *count > 0)),
                ("utterances without a verdict", Some(sum(|results| results.unjudged)).filter(|count| *count > 0)),
            ] {
                if let Some(count) = count {
                    put(&mut text, format_args!("> Total {what}: {count}/{trials}\n"));
                }
            }
            text.push('\n');
        }
        for (index, pair) in &pairs {
            self.pair(&mut text, *index, pair);
        }
        if is_batch && base.alterations.is_empty() {
            text.push_str("> # QnA Alterations\n");
        }
        text.push_str(&write::tail(&base));
        Some(text)
    }

    fn pair(&self, text: &mut String, index: usize, pair: &Pair) {
        let all: Vec<&Results> = pair.questions.iter().filter_map(|question| self.found(index, question)).collect();
        let passed: u64 = all.iter().map(|results| results.passed).sum();
        let trials: u64 = all.iter().map(|results| results.trials).sum();
        put(text, format_args!("> Utterance passed in this answer: {passed}/{trials}\n"));
        text.push_str(&write::source(pair));
        text.push('\n');
        text.push_str(&write::id(pair));
        for (number, question) in pair.questions.iter().enumerate() {
            if let Some(results) = self.found(index, question) {
                for outcome in &results.first {
                    put(text, format_args!("> {}\n", outcome.line()));
                }
                let more = results.trials - results.first.len() as u64;
                if more > 0 {
                    put(text, format_args!("> and {more} more, {} of {} passed\n", results.passed, results.trials));
                }
            }
            text.push_str(&write::question("##", number, question));
        }
        text.push_str(&write::rest(pair));
    }

    pub(super) fn found(&self, index: usize, question: &str) -> Option<&Results> {
        self.results.get(&(index, question.to_owned()))
    }

    /// The content of the files apart from their pairs, without duplicates.
    fn beside(&self) -> KnowledgeBase {
        let mut base = KnowledgeBase::default();
        let mut seen = BTreeSet::new();
        for beside in self.asked.iter().filter_map(|asked| asked.beside.clone()) {
            if base.name.is_empty() {
                base.name = beside.name;
            }
            base.info.extend(beside.info.into_iter().filter(|info| seen.insert(format!("{info:?}"))));
            base.alterations.extend(beside.alterations.into_iter().filter(|one| seen.insert(format!("{one:?}"))));
            base.urls.extend(beside.urls.into_iter().filter(|url| seen.insert(url.clone())));
            base.files.extend(beside.files.into_iter().filter(|file| seen.insert(format!("{file:?}"))));
        }
        base
    }
}

impl Outcome {
    fn of(trial: &Trial, turns: &[Turn]) -> Self {
        let turn = turns.last();
        let failed =
            trial.judgments.iter().find(|judgment| !matches!(judgment.finding, Finding::Pass | Finding::NotApplicable));
        let reason = match (&trial.failure, failed) {
            (_, Some(judgment)) if trial.verdict == Verdict::Fail => judgment.reason.as_str(),
            (Some(failure), _) => failure.message.as_str(),
            (None, Some(judgment)) => judgment.reason.as_str(),
            (None, None) => "",
        };
        Self {
            verdict: trial.verdict,
            answer: turn.and_then(Answer::of),
            said: turn.and_then(|turn| turn.agent.as_ref()).map(|said| clip::ellipsis(said, MOST_CHARS)),
            reason: clip::ellipsis(reason, MOST_CHARS),
        }
    }

    /// `PASS, 167(92.01)`, `FAIL, 161(100), Predicted Answer: …`, `ERROR, …`.
    fn line(&self) -> String {
        let mut line = self.verdict.name().to_owned();
        let answer = self.answer.map(|answer| answer.to_string());
        line.extend(answer.iter().flat_map(|answer| [", ", answer]));
        match (self.verdict, &self.said) {
            (Verdict::Pass, _) => {}
            (Verdict::Fail, Some(said)) => put(&mut line, format_args!(", Predicted Answer: {}", one_line(said))),
            (_, _) => put(&mut line, format_args!(", {}", one_line(&self.reason))),
        }
        line
    }
}

/// Line ends become `
/// `, so that a comment or a row stays on its line; control characters are removed.
pub(super) fn one_line(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\n', "\\n").replace('\t', " ");
    text.chars().filter(|letter| !letter.is_control()).collect()
}

pub(super) fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a String takes what is written to it");
}
