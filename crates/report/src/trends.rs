//! The pages of a history: runs over nights, the flake ledger, and one case night by night.

use record::visible;
use statistics::trends::{Course, Trends};

use crate::{
    Error, Screen,
    document::trends::{self, TrendsRoom},
    html, terminal,
};

const TERMINAL: TrendsRoom = TrendsRoom { nights: 15, cases: 20, spark: 40 };
const HTML: TrendsRoom = TrendsRoom { nights: 400, cases: 1_000, spark: 60 };

/// The runs and the ledger, as lines with their line ends.
#[must_use]
pub fn terminal(trends: &Trends, screen: Screen) -> String {
    terminal::draw(&trends::of(trends, TERMINAL), &[], screen.color, screen.width)
}

/// The ledger alone, as lines with their line ends.
#[must_use]
pub fn ledger(trends: &Trends, screen: Screen) -> String {
    let room = TrendsRoom { cases: usize::MAX, ..TERMINAL };
    terminal::draw(&trends::of_ledger(trends, room), &[], screen.color, screen.width)
}

/// The failures alone, as lines with their line ends.
#[must_use]
pub fn failures(trends: &Trends, screen: Screen) -> String {
    let room = TrendsRoom { cases: usize::MAX, ..TERMINAL };
    terminal::draw(&trends::of_failures(trends, room), &[], screen.color, screen.width)
}

/// The nights of one case, as lines with their line ends.
#[must_use]
pub fn case(case: &Course, screen: Screen) -> String {
    let room = TrendsRoom { nights: usize::MAX, ..TERMINAL };
    terminal::draw(&trends::of_case(case, room), &[], screen.color, screen.width)
}

/// One page for a browser.
///
/// # Errors
/// The templates cannot be filled.
pub fn html(trends: &Trends) -> Result<String, Error> {
    html::trends::render(&trends::of(trends, HTML), trends)
}

/// Indented, with a final line end.
#[must_use]
pub fn json(trends: &Trends) -> String {
    let mut text = serde_json::to_string_pretty(trends).expect("trends have only string keys");
    text.push('\n');
    visible::json_owned(text)
}
