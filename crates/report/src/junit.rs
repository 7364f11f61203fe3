//! `junit.xml`: a suite a scenario, a test case a case of the matrix with its repeats folded, so that CI shows
//! one line a case.

use std::{collections::BTreeMap, time::Duration};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use record::{
    Summary,
    summary::{CaseSummary, RunVerdict},
};

use crate::{Selection, cases, figures, reasons::CaseReasons};

#[derive(Debug, thiserror::Error)]
#[error("write XML")]
pub struct Error(#[from] quick_junit::SerializeError);

pub fn render(summary: &Summary, selection: &Selection) -> Result<String, Error> {
    let mut report = Report::new(clean(&summary.run.name));
    let mut suites: Vec<TestSuite> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for case in &summary.cases {
        let name = clean(cases::scenario(case));
        let index = *places.entry(name.clone()).or_insert(suites.len());
        if index == suites.len() {
            suites.push(TestSuite::new(name));
        }
        suites[index].add_test_case(test_case(case, selection.reasons_of(case.number)));
    }
    for suite in &mut suites {
        let time = suite.test_cases.iter().filter_map(|case| case.time).sum();
        suite.set_time(time);
    }
    report.add_test_suites(suites);
    Ok(report.to_string()?)
}

fn test_case(case: &CaseSummary, reasons: Option<&CaseReasons>) -> TestCase {
    let mut test = TestCase::new(clean(&cases::full_name(case)), status(case, reasons));
    test.set_classname(clean(&case.source));
    test.set_time(Duration::from_millis(reasons.map_or(0, |reasons| reasons.duration_ms)));
    test.add_property(("case_id", case.id.as_str()));
    test.add_property(("trials", case.trials.to_string().as_str()));
    test.add_property(("pass", case.pass.to_string().as_str()));
    test.add_property(("flaky", if case.flaky { "true" } else { "false" }));
    test
}

fn status(case: &CaseSummary, reasons: Option<&CaseReasons>) -> TestCaseStatus {
    let ended_unjudged = case.inconclusive + case.error;
    let kind = match case.verdict {
        RunVerdict::Pass => return TestCaseStatus::success(),
        _ if case.pass + case.fail + ended_unjudged == 0 => {
            let mut status = TestCaseStatus::skipped();
            match reasons.and_then(|reasons| reasons.first.first()) {
                Some(first) => {
                    status.set_type(first.kind);
                    status.set_message(clean(&first.message));
                }
                None => {
                    status.set_message("no repeat was played to its end");
                }
            }
            return status;
        }
        RunVerdict::Fail if case.fail > 0 => NonSuccessKind::Failure,
        RunVerdict::Fail | RunVerdict::Inconclusive => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(format!(
        "{} of {} passed{}",
        case.pass,
        figures::plural(case.trials, "trial", "trials"),
        if case.flaky { " (flaky)" } else { "" }
    ));
    if let Some(first) = reasons.and_then(|reasons| reasons.first.first()) {
        status.set_type(first.kind);
    }
    status.set_description(clean(&description(reasons)));
    status
}

fn description(reasons: Option<&CaseReasons>) -> String {
    let Some(reasons) = reasons else { return String::new() };
    let mut text = String::new();
    for reason in &reasons.first {
        text.push_str(&format!(
            "repeat {} (trial {}, {}): {} {}, blame {}: {}\n",
            reason.repeat,
            reason.trial_id,
            reason.place,
            reason.verdict.name(),
            reason.kind,
            reason.blame,
            reason.message
        ));
    }
    if reasons.more > 0 {
        text.push_str(&format!("and {} more\n", reasons.more));
    }
    text
}

/// quick-junit strips C0 control characters; XML 1.0 forbids these two as well.
fn clean(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "")
}
