//! One scenario's Markdown, cut at its statements.

use super::{
    markdown::{self, Block, Kind, Source},
    statement::{self, Keyword, Statement},
};
use yaml::{Findings, Spot};

/// The least length of a line of dashes between scenarios; shorter ones are text.
const DASHES: usize = 5;

#[derive(Debug)]
pub(super) struct Page<'a> {
    pub(super) source: Source<'a>,
    /// The blocks before the first statement.
    pub(super) preamble: Vec<Block>,
    pub(super) items: Vec<Item<'a>>,
}

/// A statement and its blocks.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) statement: Statement<'a>,
    pub(super) at: Spot,
    /// The position of the text after the keyword.
    pub(super) rest_at: Spot,
    pub(super) body: Vec<Block>,
}

impl<'a> Page<'a> {
    /// `first_line`: the line of the file at which the text begins.
    pub(super) fn read(text: &'a str, first_line: u32) -> Self {
        let source = Source::new(text, first_line);
        let blocks = source.blocks();
        let headings: Vec<&str> = blocks.iter().filter_map(|block| heading_of(text, block)).collect();
        let identifier = statement::identifier(&headings);
        let is_chat = headings
            .iter()
            .any(|heading| statement::read(heading, identifier).is_some_and(|found| found.keyword.is_role()));
        let (mut preamble, mut items) = (Vec::new(), Vec::<Item<'a>>::new());
        for block in blocks {
            let statement = heading_of(text, &block)
                .and_then(|heading| statement::read(heading, identifier))
                // In a conversation, `## ANSWER` is part of a message.
                .filter(|found| !(is_chat && found.keyword.is_of_invocation()));
            match (statement, &block.kind) {
                (Some(statement), Kind::Heading { text: range, .. }) => items.push(Item {
                    statement,
                    at: source.spot(range.start),
                    rest_at: source.spot(range.end - statement.rest.len()),
                    body: Vec::new(),
                }),
                _ => items.last_mut().map_or(&mut preamble, |item| &mut item.body).push(block),
            }
        }
        Self { source, preamble, items }
    }

    pub(super) fn has(&self, keyword: impl Fn(Keyword) -> bool) -> bool {
        self.items.iter().any(|item| keyword(item.statement.keyword))
    }

    /// Warns about text that is probably a mistake.
    pub(super) fn survey(&self, findings: &mut Findings) {
        for block in self.preamble.iter().chain(self.items.iter().flat_map(|item| &item.body)) {
            let at = self.source.spot(block.range.start);
            match &block.kind {
                Kind::Fence { closed: false, .. } => {
                    findings.error(at, "the fence is not closed: it contains the rest of the file");
                    findings.help("close it with a line of the same length as its opening line");
                }
                Kind::Html => self.survey_html(block, findings),
                Kind::Heading { text, .. } => {
                    if let Some(word) = statement::meant(&self.source.text[text.clone()]) {
                        let heading = &self.source.text[text.clone()];
                        findings.warning(at, format!("the heading `{heading}` is read as text"));
                        findings.help(format!("did you mean `{word}`?"));
                    }
                }
                Kind::Fence { .. } => self.survey_fence(block, findings),
                Kind::Other => {}
            }
        }
    }

    /// A forgotten end of a fence makes the next fence's end close it, and hides everything between.
    fn survey_fence(&self, block: &Block, findings: &mut Findings) {
        let mut lines = self.source.text[block.range.clone()].lines();
        let Some(_) = lines.find(|line| is_dashes(line)) else { return };
        if lines.any(is_statement) {
            let at = self.source.spot(block.range.start);
            findings.warning(at, "the fence contains a line of dashes and a statement after it");
            findings.help("close the fence before the dashes, unless this is all one text");
        }
    }

    /// Markup such as `<!--` continues until it is closed, and hides the headings inside.
    fn survey_html(&self, block: &Block, findings: &mut Findings) {
        let mut offset = block.range.start;
        for line in self.source.text[block.range.clone()].split_inclusive('\n') {
            let heading = line.trim();
            if is_statement(heading) {
                findings.warning(self.source.spot(offset), format!("`{heading}` is text, because it is inside HTML"));
                findings.help("close the HTML before the heading, and add a blank line");
            }
            offset += line.len();
        }
    }
}

/// A line that separates scenarios, unless it is inside a fence.
pub(super) fn is_dashes(line: &str) -> bool {
    let dashes = line.trim_end();
    dashes.len() >= DASHES && dashes.bytes().all(|byte| byte == b'-')
}

/// A line that would name a speaker or start a scenario.
fn is_statement(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let found = statement::read(text, None).map(|found| found.keyword);
    text.len() < line.len() && found.is_some_and(|keyword| keyword.is_role() || keyword == Keyword::Scenario)
}

fn heading_of<'a>(text: &'a str, block: &Block) -> Option<&'a str> {
    match &block.kind {
        Kind::Heading { text: range, .. } => Some(&text[range.clone()]),
        _ => None,
    }
}

impl Item<'_> {
    /// The text below, as written.
    pub(super) fn text(&self, source: &Source<'_>) -> String {
        markdown::text_of(source.text, &self.body)
    }

    /// The start of the text below; the heading if there is none.
    pub(super) fn body_at(&self, source: &Source<'_>) -> Spot {
        self.body.first().map_or(self.at, |block| source.spot(block.range.start))
    }
}
