//! The pages of a comparison of two runs: terminal, Markdown, HTML and JSON.

use record::visible;
use statistics::compare::found::Comparison;

use crate::{
    Error, Screen,
    document::compare::{self, CompareRoom},
    html, markdown, terminal,
};

const TERMINAL: CompareRoom = CompareRoom { cases: 10, groups: 12, differences: 8 };
/// GitHub takes comments of up to 65,536 characters.
const MARKDOWN: CompareRoom = CompareRoom { cases: 40, groups: 30, differences: 20 };
const HTML: CompareRoom = CompareRoom { cases: 1_000, groups: 500, differences: 500 };

/// Lines with their line ends.
#[must_use]
pub fn terminal(comparison: &Comparison, screen: Screen) -> String {
    terminal::draw(&compare::of(comparison, TERMINAL), &[], screen.color, screen.width)
}

/// For a comment on a pull request.
#[must_use]
pub fn markdown(comparison: &Comparison) -> String {
    let mut page = markdown::draw(&compare::of(comparison, MARKDOWN));
    let (base, new) = (&comparison.base, &comparison.new);
    let run = |run: &statistics::compare::played::RunName| {
        let started = markdown::escape(&run.started_at);
        format!("{}, {started}, seed {}", markdown::code(&run.id), run.seed)
    };
    page.push_str(&format!("---\nBASE {}. NEW {}.\n", run(base), run(new)));
    page
}

/// One page for a browser.
///
/// # Errors
/// The templates cannot be filled.
pub fn html(comparison: &Comparison) -> Result<String, Error> {
    html::compare::render(&compare::of(comparison, HTML), comparison)
}

/// Indented, with a final line end.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    let mut text = serde_json::to_string_pretty(comparison).expect("a comparison has only string keys");
    text.push('\n');
    visible::json_owned(text)
}
