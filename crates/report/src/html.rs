//! `report.html`: one file that needs no network, no server and no script.
//!
//! The template engine escapes every text from outside. Styles and scripts are only those of this crate, which the
//! page's content security policy names by their hashes. Nothing is sanitised: markup in a reply is shown as text.

mod battery;
mod by_load;
mod chart;
pub(crate) mod compare;
mod conversation;
mod groups;
mod over_time;
mod overview;
mod plot;
mod section;
mod table;
pub(crate) mod trends;

use std::fmt::Write as _;

use minijinja::{
    AutoEscape, Environment, HtmlEscape, UndefinedBehavior,
    value::{Serde, Value},
};
use record::Summary;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use self::section::SectionView;
use crate::{
    Error, Selection,
    document::{Document, Kind, Room},
    form::{Form, Make},
};

pub const FORM: Form = Form {
    name: "html",
    about: "The report as one page for a browser",
    file: Some("report.html"),
    make: Make::Page(|summary, selection, _| render(summary, selection)),
};

const STYLE: &str = include_str!("html/templates/style.css");
const SCRIPT: &str = include_str!("html/templates/script.js");
const TEMPLATES: [(&str, &str); 20] = [
    ("report.html", include_str!("html/templates/report.html")),
    ("compare.html", include_str!("html/templates/compare.html")),
    ("comparison.html", include_str!("html/templates/comparison.html")),
    ("trends.html", include_str!("html/templates/trends.html")),
    ("macros.html", include_str!("html/templates/macros.html")),
    ("overview.html", include_str!("html/templates/overview.html")),
    ("matrix.html", include_str!("html/templates/matrix.html")),
    ("battery.html", include_str!("html/templates/battery.html")),
    ("groups.html", include_str!("html/templates/groups.html")),
    ("section.html", include_str!("html/templates/section.html")),
    ("breakdowns.html", include_str!("html/templates/breakdowns.html")),
    ("informing.html", include_str!("html/templates/informing.html")),
    ("latency.html", include_str!("html/templates/latency.html")),
    ("load.html", include_str!("html/templates/load.html")),
    ("plot.html", include_str!("html/templates/plot.html")),
    ("over_time.html", include_str!("html/templates/over_time.html")),
    ("events.html", include_str!("html/templates/events.html")),
    ("spend.html", include_str!("html/templates/spend.html")),
    ("conversations.html", include_str!("html/templates/conversations.html")),
    ("conversation.html", include_str!("html/templates/conversation.html")),
];

const ROOM: Room = Room {
    narrow: false,
    scenarios: 500,
    changes: 50,
    breakdowns: usize::MAX,
    breakdown_rows: 100,
    checks: usize::MAX,
    batteries: 40,
    failures: 100,
    informing: 100,
    unreadable: 100,
    agent_failures: true,
};

pub fn render(summary: &Summary, selection: &Selection) -> Result<String, Error> {
    let environment = environment()?;
    let alike = selection.found().failures.groups(summary);
    let conversations = conversation::Conversations::of(summary, selection, &alike);
    let document = Document::of(summary, selection.found(), ROOM);
    let views = |kinds: &[Kind]| {
        let sections = document.sections.iter().filter(|section| kinds.contains(&section.kind));
        sections.map(SectionView::of).collect()
    };
    let page = Page {
        policy: policy(),
        style: Value::from_safe_string(STYLE.to_owned()),
        script: Value::from_safe_string(SCRIPT.to_owned()),
        overview: overview::Overview::of(summary, &document.headline, &alike, &conversations),
        groups: groups::Groups::of(&alike, &conversations, summary),
        comparison: document.section(Kind::Comparison).map(SectionView::of),
        matrix: table::MatrixTable::of(summary, &conversations),
        batteries: battery::Batteries::of(summary, &selection.found().examined),
        breakdowns: views(&[
            Kind::ByAgent,
            Kind::ByScenario,
            Kind::ByPersona,
            Kind::ByTag,
            Kind::ByAxis,
            Kind::ByTurn,
            Kind::Streaming,
            Kind::ByCheck,
            Kind::Metrics,
            Kind::Judges,
            Kind::Corrected,
            Kind::Sentinels,
            Kind::CustomChecks,
        ]),
        informing: document.section(Kind::Informing).map(SectionView::of),
        cases: table::CaseTable::of(summary, &conversations),
        latency: document.section(Kind::Latency).map(SectionView::of),
        chart: chart::LatencyChart::of(&summary.summary.latency),
        load: views(&[Kind::Load, Kind::LoadSearch, Kind::LoadSteps, Kind::Drift]),
        by_load: summary.load.as_ref().and_then(plot::Plot::by_load),
        over_time: over_time::OverTime::of(summary),
        events: document.section(Kind::Events).map(SectionView::of),
        spend: document.section(Kind::Spend).map(SectionView::of),
        trouble: views(&[
            Kind::Quarantine,
            Kind::Transcripts,
            Kind::SimulatedUser,
            Kind::Throttling,
            Kind::NamedLimits,
            Kind::AgentFailures,
            Kind::Faults,
        ]),
        conversations,
    };
    Ok(environment.get_template("report.html")?.render(Serde(&page))?)
}

/// Every template, with all texts escaped.
pub(crate) fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("words", words);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// A text with the code that it has in backticks.
fn words(text: &str) -> Value {
    let mut page = String::new();
    for (place, part) in text.split('`').enumerate() {
        let part = HtmlEscape(part);
        // A backtick without a partner is not code.
        let is_code = place % 2 == 1 && place < text.matches('`').count();
        let _ = match (place % 2, is_code) {
            (_, true) => write!(page, "<code>{part}</code>"),
            (1, false) => write!(page, "`{part}"),
            (_, false) => write!(page, "{part}"),
        };
    }
    Value::from_safe_string(page)
}

#[derive(Serialize)]
struct Page {
    policy: String,
    style: Value,
    script: Value,
    overview: overview::Overview,
    groups: groups::Groups,
    breakdowns: Vec<SectionView>,
    /// With an earlier run.
    comparison: Option<SectionView>,
    matrix: table::MatrixTable,
    batteries: battery::Batteries,
    informing: Option<SectionView>,
    cases: table::CaseTable,
    latency: Option<SectionView>,
    chart: Option<chart::LatencyChart>,
    /// What was scheduled, and quality by offered load.
    load: Vec<SectionView>,
    by_load: Option<plot::Plot>,
    over_time: Option<over_time::OverTime>,
    events: Option<SectionView>,
    spend: Option<SectionView>,
    /// What delayed the run, and what failed.
    trouble: Vec<SectionView>,
    conversations: conversation::Conversations,
}

/// Allows no requests, and no scripts or styles except the two blocks of this crate.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(STYLE)),
        base64(&Sha256::digest(SCRIPT)),
    )
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { digit as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_a_text_is_shown_as_code_and_nothing_else_is_markup() {
        for (text, page) in [
            ("see `gabfest plan <b>`, then `x`", "see <code>gabfest plan &lt;b&gt;</code>, then <code>x</code>"),
            ("a ` alone <i>", "a ` alone &lt;i&gt;"),
            ("`a` and ` alone", "<code>a</code> and ` alone"),
            ("", ""),
        ] {
            assert_eq!(words(text).as_str(), Some(page));
        }
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }
}
