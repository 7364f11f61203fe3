//! Bounds on labels and on their combinations.

use record::{Call, Role, Verdict, turn::Origin};

use super::{call, lines, meters, summary, trial, turn};
use crate::names::Conventions;

/// However many models an endpoint invents and however a key gets into their names.
#[test]
fn series_are_few_and_hold_no_key() {
    let (meters, page) = meters(Conventions::Usual);
    assert!(redact::register("canary-of-the-metrics-1"));
    let worker = meters.worker();
    let place = worker.place("canary-of-the-metrics-1", "sk-abcdefghijklmnopqrstuv", Some("canary-of-the-metrics-1"));
    for number in 0..1_000 {
        let name = format!("canary-of-the-metrics-1-{number}");
        let asked = Call { endpoint: name.clone(), ..call(Role::Agent, &name, 1_000) };
        place.turn(&turn(Origin::Scripted, Some("hi"), vec![asked]));
    }
    let text = page.text().unwrap();
    assert!(!text.contains("canary") && !text.contains("abcdefgh"), "a key is on the page");
    let calls = lines(&page, &["gabfest_calls_total"]);
    assert_eq!(calls.lines().count(), 201, "two hundred and the others");
    assert!(calls.contains("gabfest_calls_total{model=\"other\",outcome=\"ok\",role=\"agent\"} 800\n"), "{calls}");
    assert_eq!(lines(&page, &["gabfest_limit_wait_seconds_count"]).lines().count(), 201);
}

fn sum(lines: &str) -> f64 {
    lines.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

/// The library's own limit would silently drop all labels beyond it.
#[test]
fn beyond_two_thousand_combinations_nothing_is_lost_and_suites_keep_their_name() {
    let (meters, page) = meters(Conventions::Usual);
    let (worker, coordinator) = (meters.worker(), meters.coordinator());
    let (scenarios, personas, suites) = (190_u32, 12_u32, ["nightly", "hourly"]);
    for suite in suites {
        let names: Vec<String> = (0..scenarios).map(|number| format!("scenario {number}")).collect();
        coordinator.suite(suite, names.iter().map(String::as_str));
        for (scenario, persona) in (0..personas).flat_map(|persona| names.iter().map(move |name| (name, persona))) {
            let place = worker.place(suite, scenario, Some(&format!("persona {persona}")));
            place.turn(&turn(Origin::Simulated, Some("hi"), vec![call(Role::Agent, "m", 90_000)]));
            for verdict in Verdict::ALL {
                place.ended(&trial(verdict, None));
                coordinator.counted(suite, scenario, &trial(verdict, None));
            }
        }
        let cases: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 1)).collect();
        let mut ended = summary(&cases);
        ended.run.name = suite.to_owned();
        coordinator.ended(&ended, 0, 1);
    }
    let text = page.text().unwrap();
    assert!(!text.contains("otel_metric_overflow"), "labels are dropped");
    let places = f64::from(2 * scenarios * personas);
    for (counter, most, all) in [
        ("gabfest_turns_total{", 2_000, places),
        ("gabfest_turn_duration_seconds_count{", 2_000, places),
        ("gabfest_turn_time_to_first_token_seconds_count{", 2_000, places),
        ("gabfest_conversations_total{", 12_000, 12.0 * places),
        ("gabfest_trials_played_total{", 12_000, 6.0 * places),
        ("gabfest_conversation_duration_seconds_count{", 2_000, 6.0 * places),
        ("gabfest_verdicts_total{", 12_000, 6.0 * places),
    ] {
        let shown = lines(&page, &[counter]);
        assert!((380..=most).contains(&shown.lines().count()), "{counter} {}", shown.lines().count());
        assert_eq!(sum(&shown), all, "{counter}");
        for suite in suites {
            let of_suite: String =
                shown.split_inclusive('\n').filter(|line| line.contains(&format!("suite=\"{suite}\""))).collect();
            assert_eq!(sum(&of_suite), all / 2.0, "{counter} {suite}");
        }
    }
    let turns = lines(&page, &["gabfest_turns_total{"]);
    assert!(turns.contains("gabfest_turns_total{persona=\"persona 0\",scenario=\"scenario 0\",suite=\"nightly\"} 1\n"));
    // There was no room for the personas of the second suite, only for its scenarios.
    assert!(turns.contains("gabfest_turns_total{persona=\"other\",scenario=\"scenario 0\",suite=\"hourly\"} 12\n"));
    // The coordinator has no personas, so it has room for every scenario.
    assert_eq!(lines(&page, &["gabfest_verdicts_total{"]).lines().count(), 2 * 190 * 6);
    assert_eq!(lines(&page, &["gabfest_success_rate{"]).lines().count(), 2 * 190 + 2);
}
