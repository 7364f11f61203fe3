//! Texts from outside as a fuzzer makes them: on no page is one markup, a formula, a command or a control character.

use std::sync::LazyLock;

use minijinja::Environment;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use record::visible;

use crate::{battery, clean, github, html, markdown, qna};

/// The page of these tests shows a text wherever reports do: between tags, in an attribute, and with code.
const PAGE: &str = "<p title=\"{{ text }}\">{{ text }}</p>{{ text|words }}";
/// What keeps GitHub from making a link; it has no width.
const ZERO_WIDTH: char = '\u{200b}';

static HTML: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = html::environment().expect("the templates are sound");
    environment.add_template("fuzzing.html", PAGE).expect("the template is sound");
    environment
});

/// Checks every way in which a page shows a text from outside.
///
/// # Panics
/// A page would not show the text, or do more than show it.
pub fn escapes(text: &str) {
    terminal(text);
    markup(text);
    in_markdown(text);
    table(text);
    command(text);
    file_name(text);
}

fn terminal(text: &str) {
    let shown = visible::text(text);
    assert!(!shown.chars().any(|one| visible::steers(one) && !"\n\t".contains(one)), "{shown:?} steers a terminal");
    let line = clean(text);
    assert!(!line.chars().any(visible::steers), "{line:?} steers a terminal");
    assert_eq!(clean(&line), line);
    let written = serde_json::Value::from(text).to_string();
    let json = visible::json(&written);
    assert!(!json.chars().any(visible::steers), "{json:?} steers a terminal");
    assert_eq!(serde_json::from_str::<String>(&json).ok().as_deref(), Some(text), "{json:?} says something else");
}

fn markup(text: &str) {
    let page = HTML.get_template("fuzzing.html").and_then(|page| page.render(minijinja::context! { text }));
    let page = page.expect("every text has a page");
    let (attribute, rest) = page.split_once("\">").expect("the end of the attribute");
    let attribute = attribute.strip_prefix("<p title=\"").expect("its start");
    let (between, words) = rest.split_once("</p>").expect("the end of the element");
    let words = words.replace("<code>", "`").replace("</code>", "`");
    for shown in [attribute, between, &words] {
        assert!(!shown.contains(['<', '>', '"', '\'']), "{shown:?} is markup");
        assert_eq!(unescaped(shown), text);
    }
}

/// As browsers read it.
fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#x27;", "'");
    text.replace("&#x2f;", "/").replace("&amp;", "&")
}

/// In a list, a paragraph and a table, and as code.
fn in_markdown(text: &str) {
    let plain = clean(text);
    let escaped = markdown::escape(text);
    for (page, label, frame) in [
        (format!("- {escaped}\n"), "", &[Tag::List(None), Tag::Item][..]),
        (format!("**label** {escaped}\n"), "label", &[Tag::Paragraph, Tag::Strong]),
        (format!("| head |\n|---|\n| {escaped} |\n"), "head", &[Tag::Table(Vec::new()), Tag::TableHead, Tag::TableRow]),
    ] {
        let said = read(&page, frame);
        let said = said.strip_prefix(label).expect("the page begins with it");
        assert_eq!(said.trim(), plain.replace(ZERO_WIDTH, "").trim(), "{page:?}");
    }
    let page = format!("- {}\n", markdown::code(text));
    let events: Vec<Event<'_>> = Parser::new_ext(&page, options()).collect();
    let [Event::Start(Tag::List(None)), Event::Start(Tag::Item), Event::Code(code), Event::End(_), Event::End(_)] =
        &events[..]
    else {
        panic!("{page:?} is {events:?}")
    };
    assert!(code.ends_with('…') || code.trim() == plain, "{page:?} shows {code:?}");
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
}

/// The text of a page that has no markup but the frame.
fn read(page: &str, frame: &[Tag<'_>]) -> String {
    let mut said = String::new();
    for event in Parser::new_ext(page, options()) {
        match event {
            Event::Text(text) => said.push_str(&text),
            Event::Start(Tag::TableCell) | Event::End(TagEnd::TableCell) => {}
            Event::Start(Tag::Table(_)) => assert!(matches!(frame[0], Tag::Table(_)), "{page:?} has a table"),
            Event::Start(tag) => assert!(frame.contains(&tag), "{page:?} has {tag:?}"),
            Event::End(_) => {}
            other => panic!("{page:?} has {other:?}"),
        }
    }
    said.replace(ZERO_WIDTH, "")
}

/// In a workbook, a CSV file and the table of questions.
fn table(text: &str) {
    let harmless = battery::harmless(text);
    assert!(!is_formula(&harmless), "{harmless:?} is a formula");
    let written = battery::csv_text(&[[harmless.as_str(), "b"]]);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(written.as_bytes());
    let records: Vec<_> = reader.records().map(|record| record.expect("it was written as CSV")).collect();
    assert_eq!(records.iter().flatten().collect::<Vec<_>>(), [harmless.as_str(), "b"]);
    let cell = qna::table::cell(text);
    assert!(!is_formula(&cell), "{cell:?} is a formula");
    assert!(!cell.chars().any(char::is_control), "{cell:?} is more than one cell");
}

/// What OWASP lists.
fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\0'])
}

/// In the log of a job on GitHub.
fn command(text: &str) {
    let line = github::command("error", Some(text), text, text);
    assert_eq!(line.matches('\n').count(), 1);
    let line = line.strip_prefix("::error file=").and_then(|line| line.strip_suffix('\n')).expect("one command");
    let (file, rest) = line.split_once(",title=").expect("two properties");
    let (title, message) = rest.split_once("::").expect("a message");
    let read = |text: &str| text.replace("%3A", ":").replace("%2C", ",").replace("%25", "%");
    assert_eq!([read(file), read(title), read(message)], [(); 3].map(|()| clean(text)));
}

fn file_name(text: &str) {
    let name = battery::file_name(text);
    assert!(name.len() <= 60 && name.chars().all(|one| one == '-' || one.is_ascii_alphanumeric()), "{name:?}");
    assert!(!name.starts_with('-'), "{name:?} looks like a flag");
}

#[cfg(test)]
mod tests {
    /// The inputs from which the fuzzer starts.
    #[test]
    fn seeds_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/escapes");
        let seeds =
            std::fs::read_dir(folder).unwrap().map(|seed| std::fs::read_to_string(seed.unwrap().path()).unwrap());
        assert_eq!(seeds.inspect(|seed| super::escapes(seed)).count(), 6);
    }
}
