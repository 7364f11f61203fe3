//! Reads the lines of a `.qna` or `.lu` file.

use std::collections::BTreeMap;

use super::{
    base::{Alteration, Prompt, alteration, normal},
    sheet::{Link, Sheet, Written, link},
};
use scenario::question::Filter;
use yaml::{Findings, Spot};

/// The first three characters of the line that opens or closes an answer.
const FENCE: &str = "```";

/// Reads a whole file. Faults go to `findings`.
pub(super) fn parse(text: &str, findings: &mut Findings) -> Sheet {
    let mut parser = Parser {
        findings,
        sheet: Sheet::default(),
        place: Block::Top,
        source: None,
        id: None,
        definitions: BTreeMap::new(),
        uses: Vec::new(),
    };
    let mut lines = (1_u32..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let line = line.trim();
        if let Some((fence, info)) = fence_of(line) {
            let answer = answer(&mut lines, fence);
            parser.fence(number, info, answer);
        } else {
            parser.line(number, line);
        }
    }
    parser.finish()
}

struct Parser<'a> {
    findings: &'a mut Findings,
    sheet: Sheet,
    place: Block,
    /// For the next pair.
    source: Option<String>,
    id: Option<u32>,
    /// `[1]: path`.
    definitions: BTreeMap<String, String>,
    /// `[name][1]`, with its line.
    uses: Vec<(u32, String, String)>,
}

/// What a line with a leading hyphen belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Top,
    /// Of the last pair.
    Questions,
    Filters,
    Prompts,
    /// After an answer.
    Answered,
    Intent,
    /// Of the last alteration, which began in this line.
    Alterations(u32),
    /// An entity of a language model: its list is of no use here.
    Entity,
}

/// An answer's text, or why there is none.
enum Body {
    Text(String),
    Unclosed,
    /// The line in which another block begins.
    Nested(u32),
}

impl Parser<'_> {
    fn line(&mut self, number: u32, line: &str) {
        if line.is_empty() {
            return;
        }
        if let Some(comment) = line.strip_prefix('>') {
            self.comment(comment.trim());
        } else if line.eq_ignore_ascii_case("**Filters:**") {
            self.part(number, "filters", Block::Filters);
        } else if line.eq_ignore_ascii_case("**Prompts:**") {
            self.part(number, "prompts", Block::Prompts);
        } else if let Some(item) = line.strip_prefix(['-', '*', '+']) {
            self.item(number, item.trim());
        } else if line.starts_with('#') {
            self.heading(number, line.trim_start_matches('#').trim());
        } else if line.starts_with("<a ") {
            self.anchor(number, line);
        } else if line.starts_with('[') {
            self.leave();
            self.link(number, line);
        } else if line.starts_with(['$', '@']) {
            self.leave();
            self.definition(number, line);
        } else if matches!(self.place, Block::Intent | Block::Entity) {
            // A language model's own lines have another grammar.
        } else {
            self.stray(number, line);
        }
    }

    fn comment(&mut self, comment: &str) {
        let Some(info) = comment.strip_prefix("!#").map(str::trim).and_then(|info| info.strip_prefix('@')) else {
            return;
        };
        let Some((name, value)) = info.split_once('=') else { return };
        let (name, value) = (name.trim(), value.trim());
        if name.eq_ignore_ascii_case("qna.pair.source") {
            self.source = Some(value.to_owned());
        } else {
            self.sheet.info.push((format!("@{name}"), value.to_owned()));
        }
    }

    fn heading(&mut self, number: u32, heading: &str) {
        self.leave();
        let Some(question) = heading.strip_prefix('?') else {
            self.place = Block::Intent;
            self.sheet.intents.push((heading.to_owned(), Vec::new()));
            return;
        };
        self.sheet.pairs.push(Written {
            line: number,
            id: self.id.take(),
            source: self.source.take(),
            questions: Vec::new(),
            filters: Vec::new(),
            answer: None,
            prompts: Vec::new(),
        });
        self.place = Block::Questions;
        self.question(number, question.trim());
    }

    fn question(&mut self, number: u32, question: &str) {
        if question.is_empty() {
            self.error(number, "the question is empty", "write it after `# ?` or `-`");
        } else if let Some(pair) = self.sheet.pairs.last_mut() {
            pair.questions.push((question.to_owned(), number));
        }
    }

    fn item(&mut self, number: u32, item: &str) {
        match self.place {
            Block::Questions => self.question(number, item),
            Block::Filters => self.filter(number, item),
            Block::Prompts => self.prompt(number, item),
            Block::Intent => {
                if let Some((_, utterances)) = self.sheet.intents.last_mut() {
                    utterances.push(item.to_owned());
                }
            }
            Block::Alterations(_) => {
                if let Some(alteration) = self.sheet.alterations.last_mut() {
                    alteration.words.push(item.to_owned());
                }
            }
            Block::Entity => {}
            Block::Top | Block::Answered => {
                let help = "a list belongs below a question, `**Filters:**`, `**Prompts:**` or an alteration";
                self.error(number, "this list item belongs to nothing", help);
            }
        }
    }

    fn filter(&mut self, number: u32, item: &str) {
        match item.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if !name.is_empty() => {
                if let Some(pair) = self.sheet.pairs.last_mut() {
                    pair.filters.push(Filter { name: name.to_owned(), value: value.to_owned() });
                }
            }
            _ => self.error(number, format!("the filter `{item}` has no name or no value"), "write `- name = value`"),
        }
    }

    fn prompt(&mut self, number: u32, item: &str) {
        let help = "write `- [what is shown](#3)` or `- [what is shown](#?a-question)`, and `context-only` in backticks after it";
        // The last bracket ends the text and the last parenthesis the link: both may occur in the displayed text.
        let found = item.strip_prefix('[').and_then(|rest| rest.rsplit_once("](")).and_then(|(display, rest)| {
            let (link, behind) = rest.rsplit_once(')')?;
            Some((display.trim(), link.trim().strip_prefix('#')?.trim(), behind.trim()))
        });
        match found {
            Some((display, link, behind)) if !link.trim_start_matches([' ', '?']).is_empty() => {
                let context_only = behind.eq_ignore_ascii_case("`context-only`");
                if !behind.is_empty() && !context_only {
                    self.error(number, format!("`{behind}` after a prompt has no meaning"), help);
                }
                let prompt = Prompt { display: display.to_owned(), link: link.to_owned(), context_only };
                if let Some(pair) = self.sheet.pairs.last_mut() {
                    pair.prompts.push((prompt, number));
                }
            }
            _ => self.error(number, format!("`{item}` is not a prompt"), help),
        }
    }

    fn anchor(&mut self, number: u32, line: &str) {
        self.leave();
        let help = "an id is written `<a id = \"3\"></a>`";
        let inner = line.strip_prefix("<a").and_then(|rest| rest.trim().strip_suffix("</a>"));
        let value = inner.and_then(|inner| inner.trim().strip_suffix('>')).and_then(|inner| {
            let (name, value) = inner.split_once('=')?;
            (name.trim() == "id").then(|| value.trim().trim_matches(['"', '\'']))
        });
        match value.map(str::parse::<u32>) {
            Some(Ok(0)) => self.error(number, "0 is not a valid id: it means that there is none", help),
            Some(Ok(id)) => self.id = Some(id),
            Some(Err(_)) => {
                let found = value.unwrap_or_default();
                self.error(number, format!("the id `{found}` is not a whole number"), help);
            }
            None => self.error(number, "this is not an id", help),
        }
        self.place = Block::Top;
    }

    fn link(&mut self, number: u32, line: &str) {
        self.place = Block::Top;
        if let Some((name, target)) = link(line) {
            self.sheet.links.push(Link { line: number, name: name.to_owned(), target: target.to_owned() });
            return;
        }
        let bracketed = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        match bracketed {
            Some((label, rest)) if rest.starts_with(':') => {
                self.definitions.insert(label.trim().to_owned(), rest[1..].trim().to_owned());
            }
            Some((name, rest)) if rest.starts_with('[') && rest.ends_with(']') => {
                self.uses.push((number, name.trim().to_owned(), rest[1..rest.len() - 1].trim().to_owned()));
            }
            _ => {
                let help = "write `[name](file.qna)`, or `[name][1]` and elsewhere `[1]: file.qna`";
                self.error(number, format!("`{line}` is not a link"), help);
            }
        }
    }

    /// `$word : qna-alterations =`, or an entity of a language model.
    fn definition(&mut self, number: u32, line: &str) {
        let alteration = line.strip_prefix('$').and_then(|rest| rest.rsplit_once(':')).and_then(|(word, kind)| {
            let kind = kind.trim().strip_suffix('=')?.trim();
            kind.eq_ignore_ascii_case("qna-alterations").then(|| word.trim())
        });
        self.place = match alteration {
            Some(word) => {
                self.sheet.alterations.push(Alteration { words: vec![word.to_owned()] });
                Block::Alterations(number)
            }
            None => Block::Entity,
        };
    }

    /// Begins the filters or prompts of the last pair.
    fn part(&mut self, number: u32, what: &str, place: Block) {
        if matches!(self.place, Block::Questions | Block::Answered | Block::Filters | Block::Prompts) {
            self.place = place;
        } else {
            self.error(number, format!("these {what} belong to no question"), "a pair begins with `# ? question`");
        }
    }

    fn fence(&mut self, number: u32, info: &str, body: Body) {
        let help = "an answer is between a ```markdown line and a ``` line";
        let belongs = matches!(self.place, Block::Questions | Block::Filters | Block::Prompts | Block::Answered);
        let pair = self.sheet.pairs.last_mut().filter(|pair| belongs && pair.answer.is_none());
        if !info.is_empty() && !info.eq_ignore_ascii_case("markdown") {
            let message = format!("`{info}` follows the ``` of an answer");
            if pair.is_some() {
                self.place = Block::Answered;
            }
            return self.error(number, message, help);
        }
        match body {
            Body::Unclosed => {
                self.error(number, "this answer is not closed", "close it with a line that contains only ```")
            }
            Body::Nested(line) => {
                let help = "an answer that contains ``` needs a fence of four backticks";
                self.error(line, "a block begins inside an answer", help);
            }
            Body::Text(text) => match pair {
                Some(pair) => {
                    pair.answer = Some(text);
                    self.place = Block::Answered;
                    return;
                }
                None => self.error(number, "this answer belongs to no question", "a pair begins with `# ? question`"),
            },
        }
        // This is reported once, so it must not be reported again as a question without an answer.
        if let Some(pair) = self.sheet.pairs.last_mut() {
            pair.answer.get_or_insert_default();
        }
        self.place = Block::Answered;
    }

    fn stray(&mut self, number: u32, line: &str) {
        match self.place {
            Block::Questions => {
                let help = "a variant of a question is written `- question`";
                self.error(number, "Invalid QnA question line, did you miss '-' at line begin", help);
            }
            Block::Filters => {
                let help = "a filter is written `- name = value`";
                self.error(number, "Invalid QnA filter line, did you miss '-' at line begin", help);
            }
            Block::Prompts => {
                let help = "a prompt is written `- [what is shown](#3)`";
                self.error(number, "Invalid QnA prompt line, did you miss '-' at line begin", help);
            }
            Block::Alterations(began) => {
                self.alone(began);
                self.place = Block::Entity;
            }
            Block::Top | Block::Answered | Block::Intent | Block::Entity => {
                let start: String = line.chars().take(40).collect();
                let help = "a question begins with `# ?`, a comment with `>`, an import with `[`";
                self.error(number, format!("`{start}` is not part of the .qna format"), help);
            }
        }
    }

    /// A pair that goes over into something else must have its answer.
    fn leave(&mut self) {
        if let Block::Alterations(began) = self.place {
            self.alone(began);
        }
        let open = matches!(self.place, Block::Questions | Block::Filters | Block::Prompts | Block::Answered);
        let without = self.sheet.pairs.last().filter(|pair| open && pair.answer.is_none()).map(|pair| pair.line);
        if let Some(line) = without {
            self.error(line, "the question has no answer", "write it between a ```markdown line and a ``` line");
            if let Some(pair) = self.sheet.pairs.last_mut() {
                pair.answer = Some(String::new());
            }
        }
    }

    fn alone(&mut self, began: u32) {
        let written = self.sheet.alterations.last().map(|written| written.words.clone());
        if written.is_some_and(|words| alteration(words).is_none()) {
            self.error(began, "an alteration without words", "write them below it, one per line: `- bot framework`");
            self.sheet.alterations.pop();
        }
    }

    fn finish(mut self) -> Sheet {
        self.leave();
        for (line, name, label) in std::mem::take(&mut self.uses) {
            match self.definitions.get(&label) {
                Some(target) => self.sheet.links.push(Link { line, name, target: target.clone() }),
                None => self.error(line, format!("`[{label}]` is not defined"), "write `[1]: file.qna` below"),
            }
        }
        self.sheet.links.sort_by_key(|link| link.line);
        self.sheet
    }

    fn error(&mut self, line: u32, message: impl Into<String>, help: &str) {
        let spot = Spot::at(line, 1);
        self.findings.error(spot, message);
        self.findings.help(help);
    }
}

/// The fence that a line opens: its length and the text after it.
fn fence_of(line: &str) -> Option<(usize, &str)> {
    let info = line.trim_start_matches('`');
    let length = line.len() - info.len();
    (length >= FENCE.len()).then(|| (length, info.trim()))
}

/// The lines up to the closing fence, which is at least as long as the opening one.
fn answer<'a>(lines: &mut impl Iterator<Item = (u32, &'a str)>, fence: usize) -> Body {
    let mut text = String::new();
    for (number, line) in lines {
        match fence_of(line.trim()) {
            Some((length, "")) if length >= fence => return Body::Text(normal(&text)),
            Some((length, _)) if length >= fence => {
                // All that follows would be misread.
                return Body::Nested(number);
            }
            _ => {}
        }
        text.push_str(line);
        text.push('\n');
    }
    Body::Unclosed
}
