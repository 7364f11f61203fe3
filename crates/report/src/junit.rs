//! `junit.xml`: one suite for each scenario, one test case for each case of the matrix, with its repeats folded. A
//! separate suite has the gates and the end of the run.
//!
//! There is a failure or an error exactly if `gabfest run` does not exit with 0. Failed trials that the gates tolerate
//! are a property and output of a passed test case.

use std::{collections::BTreeMap, time::Duration};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use record::{
    Summary,
    summary::{CaseSummary, Gate, RunState, RunVerdict},
};

use crate::{
    Ending, Error, Selection, cases, figures,
    form::{Form, Make},
    reasons::CaseReasons,
    spending,
};

pub const FORM: Form = Form {
    name: "junit",
    about: "Test results for CI",
    file: Some("junit.xml"),
    make: Make::Page(|summary, selection, _| render(summary, selection)),
};

/// The gates that say which cases fail.
const CASE_GATES: [&str; 3] = ["every_case_passes", "case_pass_rate", "decided_early"];

pub fn render(summary: &Summary, selection: &Selection) -> Result<String, Error> {
    let mut report = Report::new(clean(&summary.run.name));
    let mut suites: Vec<TestSuite> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let tolerant =
        !summary.gates.iter().any(|gate| CASE_GATES.contains(&gate.name.as_str()) && gate.verdict != RunVerdict::Pass);
    for case in &summary.cases {
        let name = clean(cases::scenario(case));
        let index = *places.entry(name.clone()).or_insert(suites.len());
        if index == suites.len() {
            suites.push(TestSuite::new(name));
        }
        suites[index].add_test_case(test_case(case, selection.reasons_of(case.number), tolerant));
    }
    for suite in &mut suites {
        let time = suite.test_cases.iter().filter_map(|case| case.time).sum();
        suite.set_time(time);
    }
    suites.push(run_suite(summary));
    report.add_test_suites(suites);
    Ok(report.to_string()?)
}

/// A test case for each gate, and one for a run that was stopped.
fn run_suite(summary: &Summary) -> TestSuite {
    let mut suite = TestSuite::new("gabfest");
    for gate in &summary.gates {
        suite.add_test_case(gate_case(gate));
    }
    let stopped = match (summary.run.state, &summary.run.stopped) {
        (RunState::Interrupted, _) if summary.run.exhausted => {
            Some("the run was stopped because a provider's quota is used up".to_owned())
        }
        (RunState::Interrupted, Some(_)) if Ending::of(summary) == Ending::BudgetUsedUp => {
            Some(spending::budget(&summary.summary).join("; "))
        }
        (RunState::Interrupted, Some(reason)) => Some(format!("the run stopped: {reason}")),
        (RunState::Interrupted, None) => Some("the run was interrupted: not every trial was played".to_owned()),
        (RunState::Cancelled, _) => Some("the run was cancelled: not every trial was played".to_owned()),
        (RunState::Running | RunState::Finished, _) => None,
    };
    if let Some(message) = stopped {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(clean(&message));
        suite.add_test_case(of_run("run", status));
    }
    suite
}

fn gate_case(gate: &Gate) -> TestCase {
    let kind = match gate.verdict {
        RunVerdict::Pass => {
            let mut test = of_run(&gate.name, TestCaseStatus::success());
            test.set_system_out(clean(&gate.reason));
            return test;
        }
        RunVerdict::Fail => NonSuccessKind::Failure,
        RunVerdict::Inconclusive => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(clean(&gate.reason));
    status.set_type(gate.verdict.name());
    of_run(&gate.name, status)
}

fn of_run(name: &str, status: TestCaseStatus) -> TestCase {
    let mut test = TestCase::new(clean(name), status);
    test.set_classname("gabfest");
    test
}

/// `tolerant`: the gate over the cases holds, so no case is a failure.
fn test_case(case: &CaseSummary, reasons: Option<&CaseReasons>, tolerant: bool) -> TestCase {
    let mut test = TestCase::new(clean(&cases::full_name(case)), status(case, reasons, tolerant));
    let tolerated = case.counts().held_against_agent();
    if tolerated > 0 && (tolerant || case.verdict == RunVerdict::Pass) {
        test.add_property(("tolerated_failures", tolerated.to_string().as_str()));
        test.set_system_out(clean(&description(reasons)));
    }
    test.set_classname(clean(&case.source));
    test.set_time(Duration::from_millis(reasons.map_or(0, |reasons| reasons.duration_ms)));
    test.add_property(("case_id", case.id.as_str()));
    test.add_property(("trials", case.trials.to_string().as_str()));
    test.add_property(("pass", case.pass.to_string().as_str()));
    if case.replayed_failures > 0 {
        test.add_property(("replayed_failures", case.replayed_failures.to_string().as_str()));
    }
    if case.doubtful > 0 {
        test.add_property(("doubtful_failures", case.doubtful.to_string().as_str()));
    }
    if let Some(entry) = &case.quarantine {
        test.add_property((
            "quarantine",
            clean(&format!("until {}, {}: {}", entry.expires, entry.owner, entry.reason)).as_str(),
        ));
    }
    test.add_property(("flaky", if case.flaky { "true" } else { "false" }));
    test
}

fn status(case: &CaseSummary, reasons: Option<&CaseReasons>, tolerant: bool) -> TestCaseStatus {
    if let Some(entry) = case.quarantine.as_ref().filter(|_| case.verdict != RunVerdict::Pass) {
        let mut status = TestCaseStatus::skipped();
        status.set_type("quarantined");
        let passed = format!("{} of {} passed", case.pass, figures::plural(case.trials, "trial", "trials"));
        status.set_message(clean(&format!(
            "quarantined until {} by {}: {}; {passed}",
            entry.expires, entry.owner, entry.reason
        )));
        return status;
    }
    let ended_unjudged = case.inconclusive + case.error;
    let kind = match case.verdict {
        RunVerdict::Pass => return TestCaseStatus::success(),
        RunVerdict::Fail if tolerant => return TestCaseStatus::success(),
        _ if tolerant || case.pass + case.fail + ended_unjudged == 0 => {
            let mut status = TestCaseStatus::skipped();
            match reasons.and_then(|reasons| reasons.first.first()) {
                Some(first) => {
                    status.set_type(first.kind);
                    status.set_message(clean(&first.message));
                }
                None => {
                    status.set_message("no repeat was judged");
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
            reason.repeat + 1,
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

/// quick-junit removes C0 control characters; XML 1.0 forbids these two as well.
fn clean(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "")
}
