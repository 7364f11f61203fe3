//! Writes a knowledge base as a `.qna` file, in parts, so that a report can put its comments between them.

use std::fmt::Write as _;

use super::base::{KnowledgeBase, Pair};

/// The whole file.
#[must_use]
pub fn write(base: &KnowledgeBase) -> String {
    let mut text = head(base);
    if !base.pairs.is_empty() {
        text.push_str("> # QnA pairs\n\n");
    }
    for pair in &base.pairs {
        text.push_str(&source(pair));
        text.push('\n');
        text.push_str(&id(pair));
        for (number, question) in pair.questions.iter().enumerate() {
            text.push_str(&self::question("#", number, question));
        }
        text.push_str(&rest(pair));
    }
    text.push_str(&tail(base));
    text
}

/// The lines before the pairs: model information and links.
#[must_use]
pub fn head(base: &KnowledgeBase) -> String {
    let mut text = String::new();
    if !base.name.is_empty() {
        put(&mut text, format_args!("> !# @kb.name = {}\n", base.name));
    }
    for (name, value) in &base.info {
        put(&mut text, format_args!("> !# {name} = {value}\n"));
    }
    for url in &base.urls {
        put(&mut text, format_args!("[{url}]({url})\n"));
    }
    for file in &base.files {
        put(&mut text, format_args!("[{}]({})\n", file.name, file.uri));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

#[must_use]
pub fn source(pair: &Pair) -> String {
    format!("> !# @qna.pair.source = {}\n", pair.source)
}

/// Empty if the pair has none.
#[must_use]
pub fn id(pair: &Pair) -> String {
    pair.id.map_or_else(String::new, |id| format!("<a id = \"{id}\"></a>\n\n"))
}

/// The heading (number 0) or a variant.
#[must_use]
pub fn question(hashes: &str, number: usize, question: &str) -> String {
    if number == 0 { format!("{hashes} ? {question}\n") } else { format!("- {question}\n") }
}

/// Filters, answer and prompts, with a blank line before and behind each.
#[must_use]
pub fn rest(pair: &Pair) -> String {
    let mut text = "\n".to_owned();
    if !pair.filters.is_empty() {
        text.push_str("**Filters:**\n");
        for filter in &pair.filters {
            put(&mut text, format_args!("- {} = {}\n", filter.name, filter.value));
        }
        text.push('\n');
    }
    let fence = fence(&pair.answer);
    put(&mut text, format_args!("{fence}markdown\n{}\n{fence}\n\n", pair.answer));
    if !pair.prompts.is_empty() {
        text.push_str("**Prompts:**\n");
        for prompt in &pair.prompts {
            let context_only = if prompt.context_only { " `context-only`" } else { "" };
            put(&mut text, format_args!("- [{}](#{}){context_only}\n", prompt.display, prompt.link));
        }
        text.push('\n');
    }
    text
}

/// Alterations; empty if there are none.
#[must_use]
pub fn tail(base: &KnowledgeBase) -> String {
    let mut text = String::new();
    if !base.alterations.is_empty() {
        text.push_str("> # QnA Alterations\n\n");
    }
    for alteration in &base.alterations {
        let Some((first, others)) = alteration.words.split_first() else { continue };
        put(&mut text, format_args!("${first} : qna-alterations = \n"));
        for word in others {
            put(&mut text, format_args!("- {word}\n"));
        }
        text.push('\n');
    }
    text
}

/// Longer than any row of backticks in the answer.
fn fence(answer: &str) -> String {
    let longest = answer.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(if longest < 3 { 3 } else { longest + 1 })
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a String takes what is written to it");
}
