//! Annotations for the log of a GitHub Actions job: one for each broken gate, and one for each group of similar
//! failures.

use record::{Summary, Verdict, summary::RunVerdict};

use crate::{
    Selection, cases, clean, clip,
    failures::Group,
    figures,
    form::{Form, Make},
};

pub const FORM: Form = Form {
    name: "github",
    about: "Annotations for the log of a GitHub Actions job",
    file: None,
    make: Make::Page(|summary, selection, _| Ok(render(summary, selection))),
};

/// GitHub shows at most 10 annotations of each level for one step.
const FAILURES_SHOWN: usize = 10;
const REASON_CHARS: usize = 400;

/// One workflow command a line. Failures that the gates tolerate are notices.
#[must_use]
pub fn render(summary: &Summary, selection: &Selection) -> String {
    let trials = summary.summary.trials;
    let of = figures::plural(trials.counts().conclusive(), "trial", "trials");
    let passed = format!("{}: {} of {of} passed", summary.verdict.name(), figures::count(trials.pass));
    let mut text = command("notice", None, &summary.run.name, &passed);
    for gate in summary.gates.iter().filter(|gate| gate.verdict != RunVerdict::Pass) {
        let level = if gate.verdict == RunVerdict::Fail { "error" } else { "warning" };
        text.push_str(&command(level, None, &format!("gate {}", gate.name), &gate.reason));
    }
    let groups = selection.found().failures.groups(summary);
    for group in groups.iter().take(FAILURES_SHOWN) {
        let case = group.first_case().and_then(|number| cases::find(summary, number));
        let title = format!("{} {}, {}", group.verdict().name(), group.name, group.place());
        let trials = figures::plural(group.trials, "trial", "trials");
        let reason = clip::ellipsis(&group.reason(), REASON_CHARS);
        let message = format!("{trials}, first {}: {reason}", group.first.trial_id);
        text.push_str(&command(level(summary, group), case.map(|case| case.source.as_str()), &title, &message));
    }
    text
}

fn level(summary: &Summary, group: &Group) -> &'static str {
    let case = group.first_case().and_then(|number| cases::find(summary, number));
    if case.is_some_and(|case| case.quarantine.is_some()) {
        return "notice";
    }
    match (summary.verdict, group.verdict()) {
        (RunVerdict::Pass, _) => "notice",
        (_, Verdict::Fail | Verdict::Error) => "error",
        _ => "warning",
    }
}

pub(crate) fn command(level: &str, file: Option<&str>, title: &str, message: &str) -> String {
    let file = file.map_or_else(String::new, |file| format!("file={},", property(file)));
    format!("::{level} {file}title={}::{}\n", property(title), data(message))
}

/// Escapes a text so that GitHub shows it unchanged on one line.
fn data(text: &str) -> String {
    clean(text).replace('%', "%25")
}

/// A colon or a comma would end a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_begins_a_command_of_its_own() {
        let text = command("error", Some("a,b.yaml"), "50%: x", "one\n::error::two");
        assert_eq!(text, "::error file=a%2Cb.yaml,title=50%25%3A x::one ::error::two\n");
    }
}
