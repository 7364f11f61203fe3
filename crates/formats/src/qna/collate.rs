//! Merges a file with the files that it imports and refers to.
//!
//! Imports are followed breadth first, each file once. A question that is a link is replaced by the questions, answers,
//! alterations or utterances that it names. [`Files`] decides which files a file may name.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
};

use super::{
    base::{KnowledgeBase, Pair, alteration, default_source, is_address, spaced},
    parse::parse,
    sheet::{Link, Sheet, Written, link},
};
use scenario::format::{Files, TextFile};
use yaml::{Diagnostic, Findings};

/// The most files that one knowledge base is put together from.
const MAX_FILES: usize = 1_000;
/// The most references that lead from one to the next.
const MAX_REFERENCES: usize = 32;

/// A knowledge base with the places of its pairs.
#[derive(Debug, Default)]
pub struct Collated {
    pub base: KnowledgeBase,
    /// One for each pair.
    pub places: Vec<SourceLine>,
    pub diagnostics: Vec<Diagnostic>,
}

/// The place of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    pub path: String,
    /// 1-based.
    pub line: u32,
}

/// Reads a file and all that it imports.
#[must_use]
pub fn collate(text: &str, path: &str, files: &mut dyn Files) -> Collated {
    let mut collator = Collator {
        files,
        sheets: BTreeMap::new(),
        collated: Collated::default(),
        known: BTreeSet::new(),
        ids: BTreeMap::new(),
        prompts: Vec::new(),
    };
    let root = TextFile { path: path.to_owned(), text: text.to_owned(), warning: None };
    let mut waiting = VecDeque::from([(collator.sheet(root), Vec::new())]);
    let mut done = BTreeSet::new();
    while let Some((path, chain)) = waiting.pop_front() {
        if done.insert(path.clone()) {
            waiting.extend(collator.put_in(&path, &chain));
        }
    }
    collator.check_prompts();
    collator.collated
}

struct Collator<'a> {
    files: &'a mut dyn Files,
    /// By path.
    sheets: BTreeMap<String, Rc<Sheet>>,
    collated: Collated,
    known: BTreeSet<Pair>,
    /// The pairs by their ids.
    ids: BTreeMap<u32, usize>,
    /// The place of each prompt: (pair, prompt, path, line).
    prompts: Vec<(usize, usize, String, u32)>,
}

impl Collator<'_> {
    /// Parses a file once. Returns its path.
    fn sheet(&mut self, file: TextFile) -> String {
        if !self.sheets.contains_key(&file.path) {
            let mut findings = Findings::new(&file.path);
            let sheet = parse(&file.text, &mut findings);
            self.collated.diagnostics.extend(file.warning);
            self.collated.diagnostics.extend(findings.into_sorted());
            self.sheets.insert(file.path.clone(), Rc::new(sheet));
        }
        file.path
    }

    /// Adds the content of a file. Returns the files that it imports, each with the path to it.
    fn put_in(&mut self, path: &str, chain: &[String]) -> Vec<(String, Vec<String>)> {
        let Some(sheet) = self.sheets.get(path).cloned() else { return Vec::new() };
        self.info(&sheet);
        for pair in &sheet.pairs {
            self.pair(path, pair);
        }
        let mut chain = chain.to_vec();
        chain.push(path.to_owned());
        sheet.links.iter().flat_map(|link| self.import(path, link, &chain)).collect()
    }

    fn info(&mut self, sheet: &Sheet) {
        let base = &mut self.collated.base;
        for (name, value) in &sheet.info {
            if name == "@kb.name" {
                if base.name.is_empty() {
                    base.name.clone_from(value);
                }
            } else if !base.info.contains(&(name.clone(), value.clone())) {
                base.info.push((name.clone(), value.clone()));
            }
        }
        for alteration in sheet.alterations.iter().filter_map(|written| alteration(written.words.clone())) {
            if !base.alterations.contains(&alteration) {
                base.alterations.push(alteration);
            }
        }
    }

    fn pair(&mut self, path: &str, written: &Written) {
        let mut questions = Vec::new();
        for (question, line) in &written.questions {
            match reference(question) {
                Some((file, what)) => {
                    let mut walk = vec![path.to_owned()];
                    questions.extend(self.referred(path, *line, file, what, &mut walk));
                }
                None => questions.push(question.clone()),
            }
        }
        let questions = each_once(questions);
        if questions.is_empty() {
            return;
        }
        let pair = Pair {
            id: written.id,
            source: written.source.clone().filter(|source| !source.is_empty()).unwrap_or_else(default_source),
            questions,
            filters: written.filters.clone(),
            answer: written.answer.clone().unwrap_or_default(),
            prompts: written.prompts.iter().map(|(prompt, _)| prompt.clone()).collect(),
        };
        let index = self.collated.base.pairs.len();
        // Files that are imported by several ways, or copied, hold the same pairs.
        if !self.known.insert(pair.clone()) {
            return;
        }
        if let Some(id) = pair.id
            && let Some(other) = self.ids.insert(id, index)
        {
            let place = &self.collated.places[other];
            let message = format!("the id {id} is that of the pair in {}:{} too", place.path, place.line);
            self.error(path, written.line, message, "give each pair a unique id");
        }
        self.collated.base.pairs.push(pair);
        self.collated.places.push(SourceLine { path: path.to_owned(), line: written.line });
        let lines = written.prompts.iter().map(|(_, line)| *line).enumerate();
        self.prompts.extend(lines.map(|(prompt, line)| (index, prompt, path.to_owned(), line)));
    }

    fn import(&mut self, path: &str, link: &Link, chain: &[String]) -> Vec<(String, Vec<String>)> {
        let Link { line, name, target } = link;
        let line = *line;
        if is_address(target) {
            self.collated.base.note_address(name, target);
            return Vec::new();
        }
        let file = target.split('#').next().unwrap_or_default().trim();
        if file.is_empty() {
            self.error(path, line, format!("Cannot find reference `{target}`: it names no file"), "write a path");
            return Vec::new();
        }
        let read = match self.files.read(path, file) {
            Ok(read) => read,
            Err(fault) => {
                let help = "paths are relative to the file that names them";
                self.error(path, line, format!("Cannot find reference: `{file}` {fault}"), help);
                return Vec::new();
            }
        };
        let mut found = Vec::new();
        for file in read {
            if chain.contains(&file.path) {
                if !target.contains('*') {
                    let way = chain.join(" -> ");
                    let message = format!("Loop detected: {way} -> {}", file.path);
                    self.error(path, line, message, "let only one of them import the other");
                }
                continue;
            }
            if self.sheets.len() >= MAX_FILES && !self.sheets.contains_key(&file.path) {
                let message = format!("more than {MAX_FILES} files belong together");
                self.error(path, line, message, "put them into fewer files");
                break;
            }
            found.push((self.sheet(file), chain.to_vec()));
        }
        found
    }

    /// The texts behind a reference.
    fn referred(&mut self, path: &str, line: u32, file: &str, what: &str, walk: &mut Vec<String>) -> Vec<String> {
        let key = |path: &str| format!("{path}#{what}");
        let target = if file.is_empty() {
            path.to_owned()
        } else {
            match self.files.read(path, file).map(|read| read.into_iter().next()) {
                Ok(Some(read)) => self.sheet(read),
                Ok(None) => {
                    self.error(path, line, format!("Cannot find reference `{file}#{what}`"), "name one file");
                    return Vec::new();
                }
                Err(fault) => {
                    let help = "paths are relative to the file that names them";
                    self.error(path, line, format!("Cannot find reference: `{file}` {fault}"), help);
                    return Vec::new();
                }
            }
        };
        if walk.contains(&key(&target)) || walk.len() > MAX_REFERENCES {
            let way = walk[1..].join(" -> ");
            self.error(path, line, format!("Loop detected: {way} -> {}", key(&target)), "write the questions once");
            return Vec::new();
        }
        let found = self.sheets.get(&target).map(|sheet| texts(sheet, what)).unwrap_or_default();
        if found.is_empty() {
            let help =
                "`#?` selects all questions, `#?a-question?` those of one pair, `#Intent` the utterances of an intent";
            self.error(path, line, format!("Cannot find reference `{file}#{what}`"), help);
        }
        walk.push(key(&target));
        let mut all = Vec::new();
        for (text, at) in found {
            match reference(&text) {
                Some((file, what)) => {
                    let (file, what) = (file.to_owned(), what.to_owned());
                    all.extend(self.referred(&target, at, &file, &what, walk));
                }
                None => all.push(text),
            }
        }
        walk.pop();
        all
    }

    fn check_prompts(&mut self) {
        let targets = self.collated.base.targets();
        for (pair, prompt, path, line) in std::mem::take(&mut self.prompts) {
            let written = &self.collated.base.pairs[pair].prompts[prompt];
            if targets.of(written).is_none() {
                let message = format!("Cannot find follow up prompt definition for `{}`", written.link);
                self.error(&path, line, message, "name the id of a pair, or one of its questions after `?`");
            }
        }
    }

    fn error(&mut self, path: &str, line: u32, message: String, help: &str) {
        self.collated.diagnostics.push(Diagnostic::error(path, line, 1, message).with_help(help));
    }
}

/// The file and the part of it that a question names instead of being one.
pub(super) fn reference(question: &str) -> Option<(&str, &str)> {
    let (_, target) = link(question)?;
    if is_address(target) {
        return None;
    }
    let (file, what) = target.split_once('#')?;
    Some((file.trim(), what.trim()))
}

/// The part of a file that a reference names, with lines if they are known.
fn texts(sheet: &Sheet, what: &str) -> Vec<(String, u32)> {
    if let Some(name) = what.strip_prefix('?') {
        let name = name.trim().trim_end_matches('?').trim();
        let named = |pair: &&Written| {
            let bare = |question: &str| spaced(question.trim_end_matches('?')) == spaced(name);
            name.is_empty() || pair.questions.iter().any(|(question, _)| bare(question))
        };
        return sheet.pairs.iter().filter(named).flat_map(|pair| pair.questions.clone()).collect();
    }
    let unplaced = |text: &String| (text.clone(), 0);
    if what == "*answers*" {
        return sheet.pairs.iter().filter_map(|pair| pair.answer.as_ref()).map(unplaced).collect();
    }
    if what == "*alterations*" {
        return sheet.alterations.iter().flat_map(|alteration| &alteration.words).map(unplaced).collect();
    }
    if let Some(word) = what.strip_prefix('$') {
        let word = word.trim_end_matches('?').trim();
        let named = sheet.alterations.iter().filter(|alteration| alteration.words.first().is_some_and(|w| w == word));
        return named.flat_map(|alteration| &alteration.words).map(unplaced).collect();
    }
    let intent = what.strip_suffix("*utterances*").unwrap_or(what).trim();
    let intents = sheet.intents.iter().filter(|(name, _)| intent.is_empty() || name == intent);
    intents.flat_map(|(_, utterances)| utterances).filter_map(|text| Some((unlabelled(text)?, 0))).collect()
}

/// An utterance without its labels (`{city=Rome}` is `Rome`); `None` for a pattern, which is not a message.
fn unlabelled(utterance: &str) -> Option<String> {
    let mut said = String::new();
    let mut rest = utterance;
    while let Some((before, behind)) = rest.split_once('{') {
        let (label, after) = behind.split_once('}')?;
        let (_, value) = label.split_once('=')?;
        said.push_str(before);
        said.push_str(value.trim());
        rest = after;
    }
    said.push_str(rest);
    Some(said)
}

fn each_once(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.retain(|text| !text.is_empty() && seen.insert(text.clone()));
    texts
}
