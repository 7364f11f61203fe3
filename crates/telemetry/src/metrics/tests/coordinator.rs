//! What a coordinator shows: its fleet, its queue, and the figures of ended runs.

use record::{Blame, Verdict, summary::RunState};

use super::{lines, meters, summary, trial};
use crate::{
    metrics::{Fleet, Load, Queue, Waiting},
    names::Conventions,
};

#[test]
fn a_coordinator_shows_its_fleet_its_queue_and_its_counts() {
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    coordinator.suite("nightly", ["refund"]);
    coordinator.fleet(Fleet { workers: 2, quarantined: 1, busy_slots: 5, free_slots: 3 });
    coordinator.waiting(Waiting { commands: 3, batch_bytes: 70_000, orders: 9 });
    let load = Some(Load { offered: 40, completed: 32, dropped: 2, running: 6 });
    let queue =
        Queue { started_at: 7, running: true, paused: true, planned: 100, leased: 8, done: 12, load, money: None };
    coordinator.queue("nightly", queue);
    coordinator.queue(
        "nightly",
        Queue { started_at: 6, running: false, paused: false, planned: 1, leased: 0, done: 1, load: None, money: None },
    );
    coordinator.granted(20);
    coordinator.lost(4);
    coordinator.committed(std::time::Duration::from_millis(3));
    coordinator.counted("nightly", "refund", &trial(Verdict::Pass, None));
    coordinator.counted("nightly", "refund", &trial(Verdict::Error, Some(Blame::Infra)));
    let names = [
        "gabfest_workers",
        "gabfest_coordinator",
        "gabfest_slots",
        "gabfest_queue",
        "gabfest_trials",
        "gabfest_leases",
        "gabfest_load",
        "gabfest_run_paused",
        "gabfest_store_commit_duration_seconds_bucket{le=\"0.0025\"}",
        "gabfest_store_commit_duration_seconds_bucket{le=\"0.005\"}",
        "gabfest_verdicts",
        "gabfest_errors_total{blame=\"infra\"",
        "gabfest_errors_total{blame=\"judge\"",
        "gabfest_runs",
    ];
    assert_eq!(
        lines(&page, &names),
        "gabfest_coordinator_batches_bytes 70000\n\
         gabfest_coordinator_commands 3\n\
         gabfest_coordinator_orders 9\n\
         gabfest_errors_total{blame=\"infra\",suite=\"nightly\"} 1\n\
         gabfest_errors_total{blame=\"judge\",suite=\"nightly\"} 0\n\
         gabfest_leases_granted_total 20\n\
         gabfest_leases_lost_total 4\n\
         gabfest_load_completed{suite=\"nightly\"} 32\n\
         gabfest_load_dropped{suite=\"nightly\"} 2\n\
         gabfest_load_offered{suite=\"nightly\"} 40\n\
         gabfest_load_running{suite=\"nightly\"} 6\n\
         gabfest_queue_depth{suite=\"nightly\"} 80\n\
         gabfest_run_paused{suite=\"nightly\"} 1\n\
         gabfest_runs_total{status=\"aborted\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"failure\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"success\",suite=\"nightly\"} 0\n\
         gabfest_slots{state=\"busy\"} 5\n\
         gabfest_slots{state=\"free\"} 3\n\
         gabfest_store_commit_duration_seconds_bucket{le=\"0.0025\"} 0\n\
         gabfest_store_commit_duration_seconds_bucket{le=\"0.005\"} 1\n\
         gabfest_trials_done{suite=\"nightly\"} 12\n\
         gabfest_trials_leased{suite=\"nightly\"} 8\n\
         gabfest_trials_planned{suite=\"nightly\"} 100\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"CANCELLED\"} 0\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"ERROR\"} 1\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"FAIL\"} 0\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"INCONCLUSIVE\"} 0\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"PASS\"} 1\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"SKIPPED\"} 0\n\
         gabfest_workers 2\n\
         gabfest_workers_quarantined 1\n"
    );
}

#[test]
fn an_ended_run_shows_the_figures_of_its_report_until_the_next_one_ends() {
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    coordinator.ended(&summary(&[("refund", 3, 1), ("refund", 4, 0), ("order", 0, 2)]), 1_000, 61_000);
    let names = ["gabfest_success_rate", "gabfest_cases", "gabfest_run_", "gabfest_runs"];
    assert_eq!(
        lines(&page, &names),
        "gabfest_cases_failing{scenario=\"order\",suite=\"nightly\"} 1\n\
         gabfest_cases_failing{scenario=\"refund\",suite=\"nightly\"} 1\n\
         gabfest_cases_flaky{scenario=\"order\",suite=\"nightly\"} 0\n\
         gabfest_cases_flaky{scenario=\"refund\",suite=\"nightly\"} 1\n\
         gabfest_run_cost_usd{suite=\"nightly\"} 1.5\n\
         gabfest_run_duration_seconds{suite=\"nightly\"} 60\n\
         gabfest_run_finished_timestamp_seconds{suite=\"nightly\"} 61\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"CANCELLED\"} 0\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"ERROR\"} 0\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"FAIL\"} 3\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"INCONCLUSIVE\"} 0\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"PASS\"} 7\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"SKIPPED\"} 0\n\
         gabfest_runs_total{status=\"aborted\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"failure\",suite=\"nightly\"} 1\n\
         gabfest_runs_total{status=\"success\",suite=\"nightly\"} 0\n\
         gabfest_success_rate{suite=\"nightly\"} 0.7\n\
         gabfest_success_rate{scenario=\"order\",suite=\"nightly\"} 0\n\
         gabfest_success_rate{scenario=\"refund\",suite=\"nightly\"} 0.875\n\
         gabfest_success_rate_high{suite=\"nightly\"} 0.75\n\
         gabfest_success_rate_low{suite=\"nightly\"} 0.25\n"
    );
    // A scenario that is no longer played disappears, and an older run changes nothing.
    coordinator.ended(&summary(&[("order", 2, 0)]), 100_000, 200_000);
    coordinator.restored(&summary(&[("refund", 0, 9)]), 2_000, 62_000);
    let shown = lines(&page, &["gabfest_success_rate{", "gabfest_cases_failing", "gabfest_runs_total"]);
    assert_eq!(
        shown,
        "gabfest_cases_failing{scenario=\"order\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"aborted\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"failure\",suite=\"nightly\"} 1\n\
         gabfest_runs_total{status=\"success\",suite=\"nightly\"} 1\n\
         gabfest_success_rate{suite=\"nightly\"} 1\n\
         gabfest_success_rate{scenario=\"order\",suite=\"nightly\"} 1\n"
    );
}

/// A run that was stopped after three trials says nothing about the agent.
#[test]
fn a_run_that_was_stopped_is_counted_and_changes_no_figure() {
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    coordinator.ended(&summary(&[("refund", 9, 1)]), 1_000, 61_000);
    let names = ["gabfest_success_rate", "gabfest_cases", "gabfest_run_"];
    let whole = lines(&page, &names);
    assert!(whole.contains("gabfest_success_rate{suite=\"nightly\"} 0.9\n"), "{whole}");
    for (state, ended_at) in [(RunState::Cancelled, 100_000), (RunState::Interrupted, 200_000)] {
        let mut stopped = summary(&[("refund", 0, 3)]);
        stopped.run.state = state;
        coordinator.ended(&stopped, 90_000, ended_at);
        coordinator.restored(&stopped, 90_000, ended_at);
        assert_eq!(lines(&page, &names), whole, "{state:?}");
    }
    assert_eq!(
        lines(&page, &["gabfest_runs_total"]),
        "gabfest_runs_total{status=\"aborted\",suite=\"nightly\"} 2\n\
         gabfest_runs_total{status=\"failure\",suite=\"nightly\"} 1\n\
         gabfest_runs_total{status=\"success\",suite=\"nightly\"} 0\n"
    );
}

/// Months of nightly runs whose scenarios change.
#[test]
fn a_coordinator_forgets_scenarios_that_are_no_longer_played() {
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    for night in 0..60 {
        let names: Vec<String> = (0..40).map(|number| format!("scenario {}", night * 20 + number)).collect();
        coordinator.suite("nightly", names.iter().map(String::as_str));
        for name in &names {
            coordinator.counted("nightly", name, &trial(Verdict::Pass, None));
        }
        let cases: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 0)).collect();
        coordinator.ended(&summary(&cases), night * 1_000, night * 1_000 + 500);
    }
    let shown = lines(&page, &["gabfest_verdicts_total{"]);
    assert_eq!(shown.lines().count(), 200 * 6);
    assert!(!shown.contains("other") && !shown.contains("scenario 0\""), "{shown}");
    for number in 1_180..1_220 {
        let one =
            format!("gabfest_verdicts_total{{scenario=\"scenario {number}\",suite=\"nightly\",verdict=\"PASS\"}}");
        assert!(shown.contains(&one), "{one}");
    }
    assert_eq!(lines(&page, &["gabfest_success_rate{"]).lines().count(), 41, "the latest night and its whole");
    assert!(lines(&page, &["gabfest_runs_total{status=\"success\""]).ends_with(" 60\n"));
}

/// The rates of the page are those of the report: an error of the agent is not a success.
#[test]
fn the_success_rate_is_that_of_the_report() {
    use statistics::success::{judged_pass_rate, success_rate};
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    let mut ended = summary(&[("refund", 3, 1), ("order", 2, 0)]);
    ended.cases[0].agent_errors = 4;
    ended.cases[0].error = 5;
    ended.summary.trials.agent_errors = 4;
    ended.summary.trials.error = 5;
    let counts = ended.summary.trials.counts();
    (ended.summary.success_rate, ended.summary.judged_pass_rate) = (success_rate(&counts), judged_pass_rate(&counts));
    coordinator.ended(&ended, 0, 1);
    let text = page.text().unwrap();
    for (series, value) in [
        ("gabfest_success_rate{suite=\"nightly\"}", 0.5),
        ("gabfest_judged_pass_rate{suite=\"nightly\"}", 5.0 / 6.0),
        ("gabfest_success_rate{scenario=\"refund\",suite=\"nightly\"}", 3.0 / 8.0),
        ("gabfest_success_rate{scenario=\"order\",suite=\"nightly\"}", 1.0),
    ] {
        let line = text.lines().find_map(|line| line.strip_prefix(series)).unwrap();
        assert_eq!(line.trim().parse::<f64>().unwrap(), value, "{series}");
    }
}
