//! Findings about files as compilers print them, and errors with their causes and hints. All on stderr.

use std::{collections::BTreeMap, io::IsTerminal as _};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use record::count::plural;
use scenario::Diagnostic;
use yaml::diagnostic::Severity;

use crate::stderr;

/// At most this many are shown in full; the rest is counted.
const SHOWN: usize = 100;

/// Prints them with their lines, errors last, so that they are at the bottom of the terminal.
pub(crate) fn print(diagnostics: &[Diagnostic]) {
    let mut sources = BTreeMap::new();
    let mut sorted: Vec<&Diagnostic> =
        diagnostics.iter().filter(|found| found.is_error() || !stderr::is_quiet()).collect();
    sorted.sort_by(|a, b| (a.severity, &a.path, a.line, a.column).cmp(&(b.severity, &b.path, b.line, b.column)));
    for diagnostic in sorted.iter().take(SHOWN) {
        let source = sources.entry(diagnostic.path.clone()).or_insert_with(|| source(diagnostic));
        stderr::painted(&format!("{}\n", render(diagnostic, source.as_deref(), std::io::stderr().is_terminal())));
    }
    if sorted.len() > SHOWN {
        stderr::error(&format!("… and {} more", sorted.len() - SHOWN));
    }
}

/// The text of a finding's file, if the finding has a line. Files that are too large for scenarios are not read.
fn source(diagnostic: &Diagnostic) -> Option<String> {
    const MOST_BYTES: u64 = 64 << 20;
    let is_shown = std::fs::metadata(&diagnostic.path).is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES);
    (diagnostic.line > 0 && is_shown).then(|| std::fs::read_to_string(&diagnostic.path).ok()).flatten()
}

/// Prints an explanation that requires no action.
pub(crate) fn note(text: &str) {
    stderr::say(&format!("note: {}", visible(text)));
}

/// Prints a warning; its line breaks are kept.
pub(crate) fn warn(text: &str) {
    for line in format!("warning: {}", redact::redact(text)).lines() {
        stderr::say(&visible(line));
    }
}

/// The same for a warning about the safety net itself, which `--quiet` does not hide.
pub(crate) fn warn_always(text: &str) {
    for line in format!("warning: {}", redact::redact(text)).lines() {
        stderr::error(&visible(line));
    }
}

/// `2 errors, 1 warning`.
pub(crate) fn count(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let warnings = diagnostics.len() - errors;
    let (errors, warnings) = (errors as u64, warnings as u64);
    format!("{}, {}", plural(errors, "error", "errors"), plural(warnings, "warning", "warnings"))
}

/// Prints an error, its causes, and hints on separate lines.
pub(crate) fn print_error(error: &anyhow::Error) {
    for line in redact::redact(&format!("error: {}", error_text(error))).lines() {
        stderr::error(&visible(line));
    }
}

/// The error and its causes, each once, and then their hints, each on a line.
pub(crate) fn error_text(error: &anyhow::Error) -> String {
    let (mut text, mut hints) = (String::new(), String::new());
    for cause in error.chain() {
        let message = cause.to_string();
        let at = message.find("\nhint: ").unwrap_or(message.len());
        let (what, hint) = message.split_at(at);
        // Many errors show their cause themselves.
        if !text.contains(what) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(what);
        }
        if !hints.contains(hint) {
            hints.push_str(hint);
        }
    }
    text + &hints
}

/// The line with its columns unchanged and without control characters.
pub(crate) fn visible(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\t' => ' ',
            character if record::visible::steers(character) => '\u{fffd}',
            character => character,
        })
        .collect()
}

pub(crate) fn render(diagnostic: &Diagnostic, source: Option<&str>, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let message = visible(&diagnostic.message);
    let help = diagnostic.help.as_deref().map(visible);
    let line = diagnostic.line as usize;
    let text = source.and_then(|source| source.lines().nth(line.checked_sub(1)?)).map(visible);
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let Some(text) = text else {
        let title = level.primary_title(message.as_str());
        let help = help.as_ref().map(|help| Level::HELP.message(help.as_str()));
        let group = match (diagnostic.path.is_empty(), help) {
            (false, Some(help)) => {
                Group::with_title(title).element(Origin::path(diagnostic.path.as_str())).element(help)
            }
            (false, None) => Group::with_title(title).element(Origin::path(diagnostic.path.as_str())),
            (true, Some(help)) => Group::with_title(title).element(help),
            (true, None) => Group::with_title(title),
        };
        return renderer.render(&[group]);
    };
    let (from, to) = span(&text, diagnostic.column as usize);
    let text = if diagnostic.message.contains(llm::key::NEVER_WRITTEN) { masked(&text, from, to) } else { text };
    let (from, to) = span(&text, diagnostic.column as usize);
    let snippet = Snippet::source(text.as_str())
        .line_start(line)
        .path(diagnostic.path.as_str())
        .annotation(AnnotationKind::Primary.span(from..to));
    let mut group = Group::with_title(level.primary_title(message.as_str())).element(snippet);
    if let Some(help) = &help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}

/// The line, with a mark in place of a possible key: logs have other readers.
fn masked(text: &str, from: usize, to: usize) -> String {
    format!("{}{}{}", &text[..from], redact::MARK, &text[to..])
}

/// The bytes to underline: from the column to the end of the word or scalar, or the whole line.
fn span(text: &str, column: usize) -> (usize, usize) {
    let start = if column == 0 {
        text.len() - text.trim_start().len()
    } else {
        text.char_indices().nth(column - 1).map_or(text.len(), |(at, _)| at)
    };
    let rest = &text[start..];
    let length = scalar(rest, in_flow(&text[..start])).len();
    (start, start + length.max(rest.chars().next().map_or(0, char::len_utf8)))
}

/// The key or the value at the beginning of a piece of YAML.
fn scalar(rest: &str, in_flow: bool) -> &str {
    let whole = rest.trim_end();
    let end = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => closing_quote(rest, quote),
        Some('{' | '[') => {
            let (at, _) = flow_depths(rest).find(|(_, depth)| *depth == 0).unwrap_or((whole.len(), 0));
            Some(at + usize::from(at < whole.len()))
        }
        _ => rest.char_indices().find_map(|(at, character)| {
            let next = rest[at + character.len_utf8()..].chars().next();
            let ends = match character {
                ':' => next.is_none_or(char::is_whitespace),
                '#' => rest[..at].ends_with(' '),
                ',' | '}' | ']' => in_flow,
                _ => false,
            };
            ends.then_some(at)
        }),
    };
    end.and_then(|end| rest.get(..end)).map_or(whole, str::trim_end)
}

fn closing_quote(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    rest.char_indices().skip(1).find_map(|(at, character)| {
        let closes = character == quote && !escaped;
        escaped = character == '\\' && quote == '"' && !escaped;
        closes.then_some(at + 1)
    })
}

/// Whether the end of `before` is inside `{…}` or `[…]`.
fn in_flow(before: &str) -> bool {
    flow_depths(before).last().is_some_and(|(_, depth)| depth > 0)
}

/// The bracket depth after each character of a line that starts outside of brackets; quoted brackets do not count.
fn flow_depths(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut before = ':';
    text.char_indices().map(move |(at, character)| {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            // An apostrophe within a word does not open a quote.
            (None, '"' | '\'') if "{[,:-".contains(before) => quote = Some(character),
            (None, '{' | '[') if depth > 0 || "{[,:-".contains(before) => depth += 1,
            (None, '}' | ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !character.is_whitespace() {
            before = character;
        }
        (at, depth)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_each_cause_once_and_its_hints_at_the_end() {
        let absent = || std::io::Error::other("the variable KEY is not set");
        let refused = std::io::Error::other("connection refused");
        let hinted = anyhow::anyhow!("no coordinator answers\nhint: start one");
        for (error, expected) in [
            (anyhow::Error::new(absent()).context("failed to set up"), "failed to set up: the variable KEY is not set"),
            (
                anyhow::Error::new(absent()).context("failed to resolve its key: the variable KEY is not set"),
                "failed to resolve its key: the variable KEY is not set",
            ),
            (
                anyhow::Error::new(refused).context("no coordinator answers\nhint: start one\nhint: name one"),
                "no coordinator answers: connection refused\nhint: start one\nhint: name one",
            ),
            (crate::exit::usage(hinted), "no coordinator answers\nhint: start one"),
        ] {
            assert_eq!(error_text(&error), expected);
        }
    }

    #[test]
    fn an_error_shows_its_line() {
        let diagnostic = Diagnostic::error("a.yaml", 2, 3, "unknown key `inptu`").with_help("did you mean `input`?");
        let text = render(&diagnostic, Some("run:\n  inptu: hi\n"), false);
        for part in ["error: unknown key `inptu`", "a.yaml:2:3", "inptu: hi", "^^^^^", "help: did you mean `input`?"] {
            assert!(text.contains(part), "{part:?} is missing in\n{text}");
        }
    }

    /// In the texts, `^` precedes the part to underline, and `$` follows it.
    #[test]
    fn exactly_the_faulty_text_is_underlined() {
        for marked in [
            "  ^inptu$: hi",
            "  input: ^hi there, you$",
            "  input: ^hi$  # a greeting",
            "  - {type: string_contains, ^vlaue$: hi}",
            "  - {type: string_contains, value: ^9$}",
            "  - {type: ^string_contain$, value: 9}",
            "  - [one, ^two$, three]",
            "  - {value: \"a, b\", ^typ$: x}",
            "  - {value: ^\"a, \\\"b}\"$, type: x}",
            "  - {value: ^'a, b}'$, type: x}",
            "  user: ^{name: x, style: [a, b]}$",
            "  - {user: ^{name: x}$, max_turns: 3}",
            "  input: ^it's {not} a, mapping$",
            "  url: ^http://h:80/x$",
            "  ^key$:",
        ] {
            let text = marked.replace(['^', '$'], "");
            let from = marked.find('^').unwrap();
            let (start, end) = span(&text, text[..from].chars().count() + 1);
            assert_eq!(format!("{}^{}${}", &text[..start], &text[start..end], &text[end..]), marked);
        }
    }

    #[test]
    fn a_span_never_splits_a_character() {
        for column in 0..12 {
            let (from, to) = span("ä: ü😀", column);
            assert!("ä: ü😀".get(from..to).is_some());
        }
    }
}
