//! Splits a file into its scenarios: the head, the lines of dashes, and the settings below a scenario's heading.

use super::{
    markdown::{Kind, Source},
    page::{self, Page},
    settings::Settings,
    statement::Keyword,
};
use yaml::{Diagnostic, Document};

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Section<'a> {
    text: &'a str,
    first_line: u32,
}

/// Opens a file: one document a scenario. `stem` is the name of the file without its ending.
pub(super) fn open(text: &str, path: &str, stem: &str) -> (Vec<Document>, Vec<Diagnostic>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let mut diagnostics = Vec::new();
    let mut settings = Settings::default();
    let (head, rest) = head(Section { text: &text, first_line: 1 });
    if let Some(head) = head {
        diagnostics.extend(settings.add(head.text, head.first_line, path).err());
    }
    let sections: Vec<Section<'_>> =
        split(rest).into_iter().filter(|section| !section.text.trim().is_empty()).collect();
    let several = sections.len() > 1;
    let mut documents = Vec::new();
    for (section, number) in sections.into_iter().zip(1..) {
        let page = Page::read(section.text, section.first_line);
        if page.items.is_empty() && several {
            let first = section.text.len() - section.text.trim_start().len();
            let line = page.source.line(first);
            diagnostics.push(
                Diagnostic::warning(
                    path,
                    line,
                    0,
                    "the text before the line of dashes is not a scenario and is ignored",
                )
                .with_help("a scenario has a `## [USER]` or an `## ANSWER` heading"),
            );
            continue;
        }
        let mut settings = settings.clone();
        let name = if several { format!("{stem} {number}") } else { stem.to_owned() };
        match lift_settings(&page, &mut settings, path) {
            Ok(text) => documents.push(settings.document(path, name, text, section.first_line)),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    if documents.is_empty() && diagnostics.is_empty() {
        diagnostics.push(Diagnostic::error(path, 0, 0, "the file contains no scenario: it is blank"));
    }
    diagnostics.sort_by_key(|found| (found.line, found.column));
    (documents, diagnostics)
}

/// Whether a Markdown file with another name is a file of conversations: it has a heading that names a speaker.
pub(super) fn is_skunit(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    // Looking at the letters first is much cheaper than parsing every page of a folder.
    let speaks = ["[USER]", "[AGENT]", "[ASSISTANT]"].iter().any(|word| text.contains(word));
    speaks
        && split(Section { text: &text, first_line: 1 }).iter().any(|section| {
            let page = Page::read(section.text, 1);
            page.has(|keyword| keyword == Keyword::User) && page.has(|keyword| keyword == Keyword::Agent)
        })
}

/// The text between two lines of three dashes at the very start.
fn head(file: Section<'_>) -> (Option<Section<'_>>, Section<'_>) {
    let whole = (None, file);
    let Some(rest) =
        file.text.strip_prefix("---").and_then(|rest| rest.trim_start_matches([' ', '\t']).strip_prefix('\n'))
    else {
        return whole;
    };
    let start = file.text.len() - rest.len();
    let mut at = start;
    for (line, number) in rest.split_inclusive('\n').zip(2..) {
        if line.trim_end() == "---" {
            let head = Section { text: &file.text[start..at], first_line: 2 };
            let rest = Section { text: &file.text[at + line.len()..], first_line: number + 1 };
            return (Some(head), rest);
        }
        at += line.len();
    }
    whole
}

/// Splits at the lines of dashes outside of fences.
fn split(file: Section<'_>) -> Vec<Section<'_>> {
    let source = Source::new(file.text, file.first_line);
    let fences: Vec<_> = source
        .blocks()
        .into_iter()
        .filter(|block| matches!(block.kind, Kind::Fence { closed: true, .. }))
        .map(|block| block.range)
        .collect();
    let mut sections = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in file.text.split_inclusive('\n') {
        let fence = fences.partition_point(|fence| fence.end <= at);
        if page::is_dashes(line) && !fences.get(fence).is_some_and(|fence| fence.contains(&at)) {
            sections.push(Section { text: &file.text[start..at], first_line: source.line(start) });
            start = at + line.len();
        }
        at += line.len();
    }
    sections.push(Section { text: &file.text[start..], first_line: source.line(start) });
    sections
}

/// Removes the settings from the fence below the scenario's heading; all other lines keep their numbers.
fn lift_settings(page: &Page<'_>, settings: &mut Settings, path: &str) -> Result<String, Diagnostic> {
    let text = page.source.text;
    let scenario = page.items.iter().find(|item| item.statement.keyword == Keyword::Scenario);
    let fence = scenario
        .and_then(|item| item.body.first())
        .filter(|block| matches!(&block.kind, Kind::Fence { info, closed: true } if info == "gabfest"));
    let Some(fence) = fence else { return Ok(text.to_owned()) };
    let raw = &text[fence.range.clone()];
    let inside = raw.trim_end();
    let start = inside.find('\n').map_or(inside.len(), |at| at + 1);
    let end = inside.rfind('\n').map_or(start, |at| at + 1).max(start);
    settings.add(&inside[start..end], page.source.line(fence.range.start) + 1, path)?;
    let blank = "\n".repeat(raw.bytes().filter(|byte| *byte == b'\n').count());
    Ok(format!("{}{blank}{}", &text[..fence.range.start], &text[fence.range.end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(u32, &str)> {
        split(Section { text, first_line: 1 }).iter().map(|section| (section.first_line, section.text)).collect()
    }

    #[test]
    fn five_dashes_cut_and_four_do_not() {
        assert_eq!(lines("a\n-----\nb\n----\nc\n-------  \nd"), [(1, "a\n"), (3, "b\n----\nc\n"), (7, "d")]);
        assert_eq!(lines("```\n-----\n```\n-----\n"), [(1, "```\n-----\n```\n"), (5, "")]);
        // An unclosed fence hides nothing.
        assert_eq!(lines("```\n-----\nb"), [(1, "```\n"), (3, "b")]);
    }

    #[test]
    fn a_head_is_closed_or_is_none() {
        let (found, rest) = head(Section { text: "---\ntags: [a]\n---\n# SCENARIO", first_line: 1 });
        assert_eq!(found, Some(Section { text: "tags: [a]\n", first_line: 2 }));
        assert_eq!(rest, Section { text: "# SCENARIO", first_line: 4 });
        assert_eq!(head(Section { text: "---\ntext", first_line: 1 }).0, None);
    }

    #[test]
    fn pages_of_other_kinds_are_left_alone() {
        assert!(is_skunit("\u{feff}## [USER]\r\nHi\r\n## [ASSISTANT]\r\nHo"));
        assert!(!is_skunit("# How to\n```md\n## [USER]\nHi\n## [AGENT]\nHo\n```\n"));
        assert!(!is_skunit("see [USER] and [AGENT]\n# [USER]"));
    }
}
