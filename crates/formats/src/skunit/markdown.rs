//! The top-level blocks of a Markdown text: which lines are headings, and which only look like some.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use yaml::Spot;

/// Markdown has six levels of headings; skUnit accepts any number of hashes.
const LEVELS: usize = 6;

/// A text with its position in the file.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    /// The line of the file, from 1, at which the text begins.
    first_line: u32,
    /// The start of each line of the text.
    starts: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    /// Whole lines, in bytes.
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// An ATX heading (`## …`) and its text without hashes.
    Heading {
        level: usize,
        text: Range<usize>,
    },
    Fence {
        info: String,
        closed: bool,
    },
    Html,
    Other,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, first_line: u32) -> Self {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, first_line: first_line.max(1), starts: std::iter::once(0).chain(after).collect() }
    }

    pub(super) fn spot(&self, offset: usize) -> Spot {
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = self.text.get(self.starts[line]..offset).unwrap_or_default();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX - 1);
        Spot::at(self.first_line.saturating_add(number(line)), number(before.chars().count()) + 1)
    }

    pub(super) fn line(&self, offset: usize) -> u32 {
        self.spot(offset).line
    }

    /// The blocks in their order. Together they hold all that is not blank.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let shadow = shadow(self.text);
        let mut blocks: Vec<Block> = Vec::new();
        let mut depth = 0_usize;
        let mut done = 0;
        for (event, range) in Parser::new_ext(&shadow, Options::empty()).into_offset_iter() {
            let outermost = depth == 0;
            let kind = match &event {
                Event::Start(tag) => {
                    depth += 1;
                    self.kind(tag, &range)
                }
                Event::End(_) => {
                    depth = depth.saturating_sub(1);
                    continue;
                }
                _ => Kind::Other,
            };
            if outermost {
                let start = self.text[..range.start].rfind('\n').map_or(0, |at| at + 1).max(done);
                let end = range.end.max(start);
                self.fill(done, start, &mut blocks);
                blocks.push(Block { range: start..end, kind });
                done = end;
            }
        }
        self.fill(done, self.text.len(), &mut blocks);
        blocks
    }

    /// Text that the parser swallows, such as definitions of links, counts as text.
    fn fill(&self, start: usize, end: usize, blocks: &mut Vec<Block>) {
        if !self.text[start..end].trim().is_empty() {
            blocks.push(Block { range: start..end, kind: Kind::Other });
        }
    }

    fn kind(&self, tag: &Tag<'_>, range: &Range<usize>) -> Kind {
        let raw = &self.text[range.clone()];
        match tag {
            Tag::Heading { .. } => heading(raw, range.start).unwrap_or(Kind::Other),
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                Kind::Fence { info: info.trim().to_owned(), closed: is_closed(raw) }
            }
            Tag::HtmlBlock => Kind::Html,
            _ => Kind::Other,
        }
    }
}

/// The raw text of blocks without blank lines between them, as in the logs of skUnit.
pub(super) fn text_of(source: &str, blocks: &[Block]) -> String {
    let raw: Vec<&str> = blocks.iter().map(|block| source[block.range.clone()].trim_end_matches('\n')).collect();
    raw.join("\n").trim().to_owned()
}

/// The same text with the seventh and every further hash of a heading blotted out: each byte keeps its place.
fn shadow(text: &str) -> String {
    let mut shadow = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let rest = &line[indent..];
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        let ends = rest[hashes..].chars().next().is_none_or(char::is_whitespace);
        if indent < 4 && hashes > LEVELS && ends {
            shadow.push_str(&line[..indent + LEVELS]);
            shadow.extend(std::iter::repeat_n(' ', hashes - LEVELS));
            shadow.push_str(&rest[hashes..]);
        } else {
            shadow.push_str(line);
        }
    }
    shadow
}

/// `None` for an underlined heading.
fn heading(raw: &str, offset: usize) -> Option<Kind> {
    let indent = raw.len() - raw.trim_start().len();
    let rest = &raw[indent..];
    let level = rest.len() - rest.trim_start_matches('#').len();
    if level == 0 {
        return None;
    }
    let rest = rest[level..].trim_end();
    // Hashes may also close a heading, after a space.
    let bare = rest.trim_end_matches('#');
    let rest = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { rest };
    let start = offset + indent + level + (rest.len() - rest.trim_start().len());
    Some(Kind::Heading { level, text: start..start + rest.trim_start().len() })
}

fn is_closed(raw: &str) -> bool {
    let mut lines = raw.trim_end().lines();
    let opening = lines.next().unwrap_or_default().trim_start();
    let mark = opening.chars().next().unwrap_or('`');
    let count = opening.chars().take_while(|c| *c == mark).count();
    lines.next_back().is_some_and(|last| {
        let last = last.trim();
        last.chars().count() >= count && last.chars().all(|c| c == mark)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headings(text: &str) -> Vec<(usize, &str)> {
        let blocks = Source::new(text, 1).blocks();
        let heading = |block: &Block| match &block.kind {
            Kind::Heading { level, text: range } => Some((*level, &text[range.clone()])),
            _ => None,
        };
        blocks.iter().filter_map(heading).collect()
    }

    #[test]
    fn only_real_headings_are_found() {
        let rows: &[(&str, &[(usize, &str)])] = &[
            ("# a\ntext\n## b ##\n", &[(1, "a"), (2, "b")]),
            ("######### nine\n   ####### [USER]  \n", &[(9, "nine"), (7, "[USER]")]),
            ("text\n####### seven", &[(7, "seven")]),
            ("```\n# no\n######## no\n```\n    # no\n\t# no\n> # no\n- # no\n", &[]),
            ("under\n=====\n#no\n# C#\n#", &[(1, "C#"), (1, "")]),
        ];
        for (text, expected) in rows {
            assert_eq!(&headings(text), expected, "{text}");
        }
    }

    #[test]
    fn nothing_that_is_written_is_lost() {
        let text = "[one]: http://x\n\npara\n\n[two]: http://y\n# h\n[three]: z";
        let source = Source::new(text, 1);
        let blocks = source.blocks();
        let all: String = blocks.iter().map(|block| &text[block.range.clone()]).collect();
        assert_eq!(all.replace('\n', ""), text.replace('\n', ""));
        assert_eq!(text_of(text, &blocks[..2]), "[one]: http://x\npara");
    }

    #[test]
    fn an_open_fence_is_known() {
        let closed = |text: &str| match &Source::new(text, 1).blocks()[0].kind {
            Kind::Fence { closed, .. } => *closed,
            other => panic!("{other:?}"),
        };
        assert!(closed("```json\n{}\n```\n") && closed("~~~~\n```\n~~~~"));
        assert!(!closed("```json\n{}\n") && !closed("````\n```\n") && !closed("```"));
    }

    #[test]
    fn places_are_those_of_the_file() {
        let source = Source::new("a\nbc\n", 10);
        assert_eq!(source.spot(3), Spot::at(11, 2));
        assert_eq!(source.spot(5), Spot::at(12, 1));
    }
}
