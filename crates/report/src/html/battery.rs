//! The requirements of quality batteries: how often each held, and how success falls with the level of error.

use record::Summary;
use scenario::battery::{LEVELS, Requirement};
use serde::Serialize;

use crate::{
    battery::examined::{Examined, Tested, names},
    figures,
};

const CASES_SHOWN: usize = 40;
/// The drawing of a histogram in its own units: each level has a slot, and a bar within it.
const SLOT: usize = 12;
const BAR: usize = 10;
const HEIGHT: f64 = 40.0;
/// The height of a bar without passes: it must show that something was tried.
const FLOOR: f64 = 2.0;

#[derive(Serialize)]
pub(super) struct Batteries {
    cases: Vec<Case>,
    left_out: Option<String>,
    width: usize,
    height: f64,
}

#[derive(Serialize)]
struct Case {
    name: String,
    rows: Vec<Row>,
    garbled: bool,
}

#[derive(Serialize)]
struct Row {
    names: String,
    title: &'static str,
    /// `pass` if it held in every conversation, otherwise `fail`.
    class: &'static str,
    conversations: String,
    replies: String,
    rate: String,
    interval: String,
    histogram: Option<Histogram>,
}

#[derive(Serialize)]
struct Histogram {
    /// Said instead of the drawing.
    label: String,
    bars: Vec<Bar>,
}

#[derive(Serialize)]
struct Bar {
    x: usize,
    width: usize,
    /// The part that passed.
    y: String,
    height: String,
    none: bool,
    title: String,
}

impl Batteries {
    pub(super) fn of(summary: &Summary, examined: &Examined) -> Self {
        let sections = examined.sections(summary);
        let left_out = sections.len().saturating_sub(CASES_SHOWN) as u64;
        let cases = sections.into_iter().take(CASES_SHOWN).map(|section| {
            let rows: Vec<Row> =
                section.rows.into_iter().map(|(requirement, tested)| row(requirement, tested)).collect();
            Case { name: section.case, garbled: rows.iter().any(|row| row.histogram.is_some()), rows }
        });
        Self {
            cases: cases.collect(),
            left_out: (left_out > 0).then(|| figures::plural(left_out, "more case", "more cases")),
            width: SLOT * LEVELS,
            height: HEIGHT,
        }
    }
}

fn row(requirement: Requirement, tested: &Tested) -> Row {
    let rate = tested.rate();
    let [held, decided] = tested.conversations;
    Row {
        names: names(requirement),
        title: requirement.title(),
        class: if decided == 0 {
            "inconclusive"
        } else if held == decided {
            "pass"
        } else {
            "fail"
        },
        conversations: tested.conversations_text(),
        replies: tested.replies_text(),
        rate: figures::estimate(&rate),
        interval: figures::interval(&rate),
        histogram: histogram(tested),
    }
}

/// `None` if no question was garbled.
fn histogram(tested: &Tested) -> Option<Histogram> {
    let bars: Vec<Bar> = tested
        .tried()
        .map(|(level, passed, decided)| {
            let height = passed as f64 / decided as f64 * HEIGHT;
            let height = if passed == 0 { FLOOR } else { height };
            Bar {
                x: level * SLOT + (SLOT - BAR) / 2,
                width: BAR,
                y: format!("{:.1}", HEIGHT - height),
                height: format!("{height:.1}"),
                none: passed == 0,
                title: format!("level {level}: {passed} of {decided} passed"),
            }
        })
        .collect();
    let label = bars.iter().map(|bar| bar.title.as_str()).collect::<Vec<_>>().join(", ");
    (!bars.is_empty()).then(|| Histogram { label: format!("Success by level of error: {label}"), bars })
}
