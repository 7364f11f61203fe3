//! Knowledge bases as the QnA Maker service exports and takes them: JSON.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    base::{KnowledgeBase, Pair, Prompt, alteration, default_source, is_address, normal, one_line as line},
    collate::{Collated, SourceLine, reference},
};
use scenario::question::Filter;
use yaml::Diagnostic;

/// Prompts may contain their target pairs, which may have prompts too.
const MAX_DEPTH: usize = 32;

/// Reads a knowledge base, or its alterations. Unknown keys are ignored, as the service does.
#[must_use]
pub fn read(text: &str, path: &str) -> Collated {
    let mut reader = Reader { path, collated: Collated::default(), context_only: BTreeSet::new(), nested: Vec::new() };
    match serde_json::from_str::<Value>(text) {
        Ok(value) => reader.base(&value),
        Err(error) => {
            let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
            let column = u32::try_from(error.column()).unwrap_or(u32::MAX);
            let message = format!("is not JSON: {error}");
            reader.collated.diagnostics.push(Diagnostic::error(path, line.max(1), column, message));
        }
    }
    reader.collated
}

/// In the service's form. If there are prompts, every pair has an id, because prompts name ids.
#[must_use]
pub fn write(base: &KnowledgeBase) -> Value {
    let has_prompts = base.pairs.iter().any(|pair| !pair.prompts.is_empty());
    let ids = if has_prompts { ids(base) } else { base.pairs.iter().map(|pair| pair.id.unwrap_or(0)).collect() };
    let targets = base.targets();
    let context_only = base.context_only();
    let pairs: Vec<Value> = base
        .pairs
        .iter()
        .enumerate()
        .map(|(index, pair)| {
            let metadata: Vec<Value> =
                pair.filters.iter().map(|filter| json!({ "name": filter.name, "value": filter.value })).collect();
            let mut value = json!({
                "id": ids[index],
                "answer": pair.answer,
                "source": pair.source,
                "questions": pair.questions,
                "metadata": metadata,
            });
            if has_prompts {
                let prompts: Vec<Value> = pair
                    .prompts
                    .iter()
                    .enumerate()
                    .map(|(order, prompt)| {
                        let id = targets.of(prompt).map_or(0, |target| ids[target]);
                        json!({ "displayText": prompt.display, "qnaId": id, "qna": null, "displayOrder": order })
                    })
                    .collect();
                value["context"] = json!({ "isContextOnly": context_only.contains(&index), "prompts": prompts });
            }
            value
        })
        .collect();
    let files: Vec<Value> =
        base.files.iter().map(|file| json!({ "fileName": file.name, "fileUri": file.uri })).collect();
    json!({ "urls": base.urls, "qnaList": pairs, "files": files, "name": base.name })
}

/// The pairs' own ids, and the smallest free ones for the others.
#[must_use]
pub fn ids(base: &KnowledgeBase) -> Vec<u32> {
    let taken: BTreeSet<u32> = base.pairs.iter().filter_map(|pair| pair.id).collect();
    let mut free = (1_u32..).filter(|id| !taken.contains(id));
    base.pairs.iter().map(|pair| pair.id.unwrap_or_else(|| free.next().unwrap_or(0))).collect()
}

struct Reader<'a> {
    path: &'a str,
    collated: Collated,
    /// Ids of pairs that only prompts reach.
    context_only: BTreeSet<u32>,
    /// Pairs inside of prompts, with their future link.
    nested: Vec<Value>,
}

impl Reader<'_> {
    fn base(&mut self, value: &Value) {
        let Value::Object(base) = value else {
            return self.error(
                "",
                "is not a knowledge base: its JSON is a list; the name of a conversation ends in `.conversation.json`",
            );
        };
        if let Some(alterations) = base.get("wordAlterations") {
            self.alterations(alterations);
        }
        let key = ["qnaList", "qnaDocuments"].into_iter().find(|wanted| get(base, wanted).is_some());
        let Some(key) = key else {
            if base.contains_key("wordAlterations") {
                return;
            }
            return self.error("", "is not a knowledge base: it has no `qnaList`");
        };
        self.collated.base.name = base.get("name").and_then(Value::as_str).map(line).unwrap_or_default();
        let Some(list) = get(base, key).and_then(Value::as_array) else {
            return self.error(key, "is not a list");
        };
        for (index, pair) in list.iter().enumerate() {
            self.pair(pair, &format!("{key}[{index}]"), 0);
        }
        for (index, url) in list_of(base, "urls").iter().enumerate() {
            let url = url.as_str().unwrap_or_default();
            self.address(url, url, &format!("urls[{index}]"));
        }
        for (index, file) in list_of(base, "files").iter().enumerate() {
            let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
            self.address(text("fileName"), text("fileUri"), &format!("files[{index}].fileUri"));
        }
        self.finish();
    }

    fn alterations(&mut self, value: &Value) {
        for (index, one) in value.as_array().into_iter().flatten().enumerate() {
            let words = list(one.get("alterations")).iter().filter_map(Value::as_str).map(line).collect::<Vec<_>>();
            match alteration(words) {
                None => self.error(&format!("wordAlterations[{index}]"), "has fewer than two words"),
                Some(known) if self.collated.base.alterations.contains(&known) => {}
                Some(new) => self.collated.base.alterations.push(new),
            }
        }
    }

    /// Pages and documents for the service to read: a test run needs only those that it could read.
    fn address(&mut self, name: &str, target: &str, at: &str) {
        let target = target.trim();
        if is_address(target) {
            return self.collated.base.note_address(name, target);
        }
        let message = format!("`{at}` is not a web address and is ignored: `{}`", line(target));
        let warning = Diagnostic::warning(self.path, 1, 0, message)
            .with_help("a web address begins with `http://` or `https://`");
        self.collated.diagnostics.push(warning);
    }

    fn pair(&mut self, value: &Value, at: &str, depth: usize) {
        let Some(answer) = value.get("answer").and_then(Value::as_str) else {
            return self.error(at, "has no text `answer`");
        };
        let mut questions: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for question in list(value.get("questions")).iter().filter_map(Value::as_str).map(line) {
            if reference(&question).is_some() {
                self.error(at, &format!("has the question `{question}`, which would be a reference in a .qna file"));
            } else if !question.is_empty() && seen.insert(question.clone()) {
                questions.push(question);
            }
        }
        if questions.is_empty() {
            return self.error(at, "has no questions");
        }
        let id = match value.get("id") {
            None | Some(Value::Null) => None,
            Some(id) => match id.as_u64().and_then(|id| u32::try_from(id).ok()) {
                Some(id) => (id != 0).then_some(id),
                None => {
                    return self.error(at, &format!("has the id {id}, which is not a whole number up to {}", u32::MAX));
                }
            },
        };
        let source = value.get("source").and_then(Value::as_str).map(line).filter(|source| !source.is_empty());
        let filters = list(value.get("metadata")).iter().filter_map(|entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).map(line);
            Some(Filter { name: text("name").filter(|name| !name.is_empty())?, value: text("value")? })
        });
        let filters: Vec<Filter> = filters.collect();
        if let Some(filter) = filters.iter().find(|filter| filter.name.contains('=')) {
            return self.error(at, &format!("has metadata with the name `{}`: a name has no `=`", filter.name));
        }
        let context = value.get("context");
        if context.and_then(|context| context.get("isContextOnly")).and_then(Value::as_bool) == Some(true) {
            self.context_only.extend(id);
        }
        let mut prompts: Vec<&Value> = list(context.and_then(|context| context.get("prompts"))).iter().collect();
        prompts.sort_by_key(|prompt| prompt.get("displayOrder").and_then(Value::as_i64).unwrap_or(i64::MAX));
        let mut written = Vec::new();
        for prompt in prompts {
            let display = prompt.get("displayText").and_then(Value::as_str).map(line).unwrap_or_default();
            let nested = prompt.get("qna").filter(|nested| nested.is_object());
            let link = match (prompt.get("qnaId").and_then(Value::as_u64).filter(|id| *id != 0), nested) {
                (Some(id), _) => id.to_string(),
                (None, Some(nested)) if depth < MAX_DEPTH => {
                    let first = list(nested.get("questions")).first().and_then(Value::as_str).map(line);
                    self.nested.push(nested.clone());
                    format!("?{}", first.unwrap_or_default().replace(' ', "-"))
                }
                _ => {
                    self.error(at, &format!("has the prompt `{display}` without a `qnaId`"));
                    continue;
                }
            };
            if link.contains("](") {
                self.error(at, &format!("has the prompt `{display}`, whose question no link can name"));
                continue;
            }
            written.push(Prompt { display, link, context_only: false });
        }
        let pair = Pair {
            id,
            source: source.unwrap_or_else(default_source),
            questions,
            filters,
            answer: normal(answer),
            prompts: written,
        };
        self.collated.base.pairs.push(pair);
        self.collated.places.push(SourceLine { path: self.path.to_owned(), line: 1 });
        for nested in std::mem::take(&mut self.nested) {
            self.pair(&nested, at, depth + 1);
        }
    }

    /// Identical pairs become one; prompts are joined with the pairs that they lead to.
    fn finish(&mut self) {
        let mut known = BTreeSet::new();
        self.collated.base.pairs.retain(|pair| known.insert(pair.clone()));
        self.collated.places.truncate(self.collated.base.pairs.len());
        let mut ids = BTreeSet::new();
        let twice = self.collated.base.pairs.iter().filter_map(|pair| pair.id).find(|id| !ids.insert(*id));
        if let Some(id) = twice {
            self.error("", &format!("has two different pairs with the id {id}"));
        }
        let targets = self.collated.base.targets();
        let context_only: BTreeSet<usize> = (self.collated.base.pairs.iter().enumerate())
            .filter(|(_, pair)| pair.id.is_some_and(|id| self.context_only.contains(&id)))
            .map(|(index, _)| index)
            .collect();
        let mut missing = None;
        for prompt in self.collated.base.pairs.iter_mut().flat_map(|pair| &mut pair.prompts) {
            match targets.of(prompt) {
                Some(target) => prompt.context_only = context_only.contains(&target),
                None => missing = missing.or(Some(prompt.link.clone())),
            }
        }
        if let Some(link) = missing {
            self.error("", &format!("Cannot find follow up prompt definition for `{link}`"));
        }
    }

    fn error(&mut self, at: &str, message: &str) {
        let message = if at.is_empty() { message.to_owned() } else { format!("`{at}` {message}") };
        self.collated.diagnostics.push(Diagnostic::error(self.path, 1, 0, message));
    }
}

/// A key without regard to its case: real files have `qnAList`.
fn get<'a>(map: &'a Map<String, Value>, wanted: &str) -> Option<&'a Value> {
    map.iter().find(|(key, _)| key.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
}

fn list_of<'a>(map: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    list(map.get(key))
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
