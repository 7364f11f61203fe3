//! The pages of a comparison of two runs: terminal, Markdown, HTML and JSON.

use record::{
    summary::{Gate, RunVerdict},
    visible,
};
use statistics::compare::found::{CompareVerdict, Comparison};

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

/// The gate `regression` of the new run: it holds if the run is better or not worse.
#[must_use]
pub fn gate(comparison: &Comparison) -> Gate {
    let verdict = match comparison.verdict {
        CompareVerdict::Better | CompareVerdict::NotWorse => RunVerdict::Pass,
        CompareVerdict::Worse => RunVerdict::Fail,
        CompareVerdict::CannotTell => RunVerdict::Inconclusive,
    };
    let headline = compare::of(comparison, TERMINAL).headline;
    let because = headline.facts.first().map(|fact| fact.text()).unwrap_or_default();
    let reason = format!("{}, compared with {}: {because}", headline.mark.word, comparison.base.called);
    Gate { name: "regression".to_owned(), verdict, reason }
}

/// Indented, with a final line end.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    let mut text = serde_json::to_string_pretty(comparison).expect("a comparison has only string keys");
    text.push('\n');
    visible::json_owned(text)
}
