//! The verdict view: what two runs of one plan must have in common, one line for each trial. Compare it with `diff`.

use record::Trial;

use crate::form::{Form, Make};

pub const FORM: Form = Form {
    name: "view",
    about: "Verdicts without times and attempts, to compare two runs of one plan",
    file: None,
    make: Make::Lines(|played| Some(line(played.trial))),
};

/// [`record::view::verdict_view`] as a line of JSON, with its line end.
#[must_use]
pub fn line(trial: &Trial) -> String {
    format!("{}\n", record::visible::json(&record::view::verdict_view(trial).to_string()))
}
