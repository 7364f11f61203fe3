use scenario::load::Pace as Resolved;
use serde_json::{Value, json};

use super::*;

fn read(written: Value) -> Pace {
    serde_json::from_value(written).expect("settings of a pace")
}

fn resolved(written: Value) -> Found<Choice> {
    choice("p", &read(written), Path::new("."))
}

/// The pace in short: seconds, from and to of each stage.
fn shown(pace: &Resolved) -> String {
    let of = |profile: &Profile| {
        let stages = profile.stages.iter();
        let stages = stages.map(|stage| format!("{}s {}>{}", stage.micros as f64 / 1e6, stage.from, stage.to));
        stages.collect::<Vec<_>>().join(", ")
    };
    match pace {
        Resolved::Slots { slots, trials, ends_micros } => {
            let ends = ends_micros.map(|micros| micros as f64 / 1e6);
            format!("slots {}; {trials:?}; {ends:?}", of(slots))
        }
        Resolved::Arrivals { spacing, rate } => format!("{spacing:?} {}", of(rate)),
        Resolved::Trace { gaps_micros } => format!("{gaps_micros:?}"),
    }
}

#[test]
fn golden_paces() {
    let rows = [
        (json!({ "rate": "5/s", "duration": "2h" }), "Even 7200s 5>5"),
        (
            json!({ "rate": 30, "timeUnit": "1m", "duration": "1m", "executor": "constant-arrival-rate" }),
            "Even 60s 0.5>0.5",
        ),
        (
            json!({ "rate": "5/s", "duration": "10s", "arrivals": "poisson", "startTime": "3s" }),
            "Poisson 3s 0>0, 10s 5>5",
        ),
        (json!({ "rate": "5/s", "duration": "10s", "burstiness": 0.25 }), "Gamma { burstiness: 0.25 } 10s 5>5"),
        (
            json!({ "executor": "ramping-arrival-rate", "startRate": 1, "stages": [
                { "target": 10, "duration": "20s" }, { "target": 40, "duration": "0s" }, { "target": 40, "duration": "5s" }] }),
            "Even 20s 1>10, 5s 40>40",
        ),
        (json!({ "stages": [{ "target": "60/m", "duration": "10s" }] }), "Even 10s 0>1"),
        (
            json!({ "rate": "2/s", "duration": "1m", "spike": { "to": "50/s", "after": "20s", "duration": "10s" } }),
            "Even 20s 2>2, 10s 50>50, 30s 2>2",
        ),
        (
            json!({ "rate": "1/s", "steps": { "by": "2/s", "to": "5/s", "every": "30s" } }),
            "Even 30s 1>1, 30s 3>3, 30s 5>5",
        ),
        (json!({ "slots": 10, "duration": "30s" }), "slots 30s 10>10; None; Some(30.0)"),
        (json!({ "users": 10, "run_time": "30s", "spawn_rate": 2 }), "slots 5s 0>10, 25s 10>10; None; Some(30.0)"),
        (
            json!({ "executor": "ramping-vus", "startVUs": 2, "stages": [{ "target": 8, "duration": "1m" }, { "target": 0, "duration": "10s" }] }),
            "slots 60s 2>8, 10s 8>0; None; Some(70.0)",
        ),
        (json!({ "vus": 10, "iterations": 200, "maxDuration": "1m" }), "slots 1s 10>10; Some(200); Some(60.0)"),
        (json!({ "executor": "per-vu-iterations", "vus": 10, "iterations": 20 }), "slots 1s 10>10; Some(200); None"),
        (json!({ "slots": 3, "iterations_per_slot": 4, "start_time": "5s" }), "slots 5s 0>0, 1s 3>3; Some(12); None"),
        (
            json!({ "slots": 4, "steps": { "by": 4, "to": 10, "every": "1m" } }),
            "slots 60s 4>4, 60s 8>8; None; Some(120.0)",
        ),
    ];
    for (written, expected) in rows {
        let choice = resolved(written.clone()).unwrap_or_else(|fault| panic!("{written}: {fault:?}"));
        assert_eq!(shown(&choice.groups[0].pace), expected, "{written}");
    }
}

#[test]
fn a_search_begins_with_its_first_rate() {
    let written =
        json!({ "rate": "300/m", "arrivals": "poisson", "search": { "to": "100/s", "every": "20s", "factor": 1.5 } });
    let choice = resolved(written).expect("it fits");
    let search = choice.search.expect("a search");
    assert_eq!((search.from, search.to, search.factor, search.precision), (5.0, 100.0, 1.5, 0.05));
    assert_eq!((search.every_micros, search.settle_micros, search.max_steps), (20_000_000, 5_000_000, 16));
    // Twice the time of 16 steps of 20 s, each after 5 s, with 10 s in between.
    assert_eq!(shown(&choice.groups[0].pace), "Poisson 1120s 5>5");
    let hour = resolved(json!({ "rate": "5/s", "duration": "1h", "search": { "to": "100/s" } })).expect("it fits");
    assert_eq!(shown(&hour.groups[0].pace), "Even 3600s 5>5");
}

#[test]
fn groups_take_what_is_beside_them() {
    let choice = resolved(json!({
        "duration": "10m", "arrivals": "poisson", "tags": ["shop"], "warm_up": "1m", "drop_after": "250ms",
        "groups": {
            "buyers": { "rate": "3/s", "where": { "locale": ["de", 7] }, "weights": { "refund": 0.5 } },
            "visitors": { "slots": 20, "tags": ["faq"] },
            "late": { "iterations": 5, "slots": 1 },
        },
    }))
    .expect("it fits");
    let groups: Vec<_> = choice.groups.iter().map(|group| (group.name.as_str(), shown(&group.pace))).collect();
    assert_eq!(
        groups,
        [
            ("buyers", "Poisson 600s 3>3".to_owned()),
            ("late", "slots 1s 1>1; Some(5); None".to_owned()),
            ("visitors", "slots 600s 20>20; None; Some(600.0)".to_owned()),
        ]
    );
    let [buyers, _, visitors] = choice.groups.as_slice() else { panic!("three groups") };
    assert_eq!(
        (buyers.tags.as_slice(), visitors.tags.as_slice()),
        (["shop".to_owned()].as_slice(), ["faq".to_owned()].as_slice())
    );
    assert_eq!(buyers.conditions, [("locale".to_owned(), "de".to_owned()), ("locale".to_owned(), "7".to_owned())]);
    assert_eq!(buyers.weights, [("refund".to_owned(), 0.5)]);
    assert_eq!((choice.warm_up_micros, choice.drop_after_micros), (60_000_000, 250_000));
}

#[test]
fn what_does_not_fit_together_is_refused_at_its_key() {
    let stage = json!([{ "target": 5, "duration": "1s" }]);
    let rows = [
        (json!({}), "", "says neither a rate nor a number of slots"),
        (json!({ "duration": "1m" }), "", "says neither"),
        (json!({ "stages": stage }), "", "says neither"),
        (json!({ "rate": "5/s" }), "duration", "is missing"),
        (json!({ "rate": "5/s", "duration": "0s" }), "duration", "is 0"),
        (json!({ "rate": "0/s", "duration": "1s" }), "rate", "it starts nothing"),
        (json!({ "rate": "2000000/s", "duration": "1s" }), "rate", "at most 1000000"),
        (json!({ "rate": "5/s", "slots": 3, "duration": "1s" }), "slots", "conversations start at a rate or in slots"),
        (json!({ "rate": "5/s", "duration": "1s", "executor": "constant-vus" }), "executor", "plays slots"),
        (json!({ "slots": 5, "duration": "1s", "executor": "constant-arrival-rate" }), "executor", "at a rate"),
        (json!({ "start_rate": "5/s", "duration": "1s" }), "start_rate", "is where `stages` begin"),
        (json!({ "rate": "5/s", "duration": "1s", "stages": stage }), "duration", "does not go with `stages`"),
        (json!({ "rate": "5/s", "executor": "ramping-arrival-rate", "duration": "1s" }), "executor", "needs `stages`"),
        (json!({ "executor": "constant-arrival-rate", "stages": stage }), "executor", "has no stages"),
        (json!({ "executor": "ramping-vus", "slots": 1, "duration": "1s" }), "executor", "needs `stages`"),
        (json!({ "executor": "constant-vus", "slots": 1, "stages": stage }), "executor", "has no stages"),
        (json!({ "executor": "shared-iterations", "slots": 1, "duration": "1s" }), "executor", "needs `iterations`"),
        (json!({ "executor": "constant-vus", "slots": 1, "iterations": 3 }), "executor", "ends by time"),
        (json!({ "slots": 1, "iterations": 3, "iterations_per_slot": 3 }), "iterations_per_slot", "choose one"),
        (json!({ "iterations": 3 }), "iterations", "needs `slots`"),
        (json!({ "slots": 1, "iterations": 0 }), "iterations", "is 0"),
        (json!({ "slots": 1, "iterations": 3, "duration": "1s" }), "duration", "`max_duration`"),
        (json!({ "slots": 1, "duration": "1s", "max_duration": "1s" }), "max_duration", "goes with `iterations`"),
        (json!({ "slots": 0, "duration": "1s" }), "slots", "must be from 1 to 100000"),
        (json!({ "slots": 1, "stages": [{ "target": "5/s", "duration": "1s" }] }), "stages", "whole number of slots"),
        (json!({ "slots": 1, "duration": "1s", "spawn_rate": 0 }), "spawn_rate", "is 0"),
        (json!({ "slots": 1, "spawn_rate": 1, "stages": stage }), "spawn_rate", "`stages`"),
        (json!({ "rate": "5/s", "duration": "1s", "arrivals": "gamma" }), "arrivals", "needs `burstiness`"),
        (
            json!({ "rate": "5/s", "duration": "1s", "arrivals": "even", "burstiness": 1 }),
            "burstiness",
            "`arrivals: gamma`",
        ),
        (json!({ "rate": "5/s", "duration": "1s", "burstiness": 0 }), "burstiness", "from 0.001 to 1000"),
        (
            json!({ "rate": "5/s", "duration": "10s", "spike": { "to": "9/s", "after": "8s", "duration": "3s" } }),
            "spike",
            "ends after 11s",
        ),
        (json!({ "rate": "5/s", "steps": { "by": "1/s", "to": "4/s", "every": "1s" } }), "steps", "must go up"),
        (
            json!({ "rate": "5/s", "steps": { "by": "1/s", "to": "9/s", "every": "1s" }, "stages": stage }),
            "steps",
            "has one shape",
        ),
        (json!({ "rate": "5/s", "duration": "1s", "trace": { "file": "t.csv" } }), "rate", "does not go with `trace`"),
        (json!({ "trace": { "file": "gone.csv" } }), "trace.file", "cannot be read"),
        (json!({ "rate": "5/s", "duration": "1m", "warm_up": "1m" }), "warm_up", "nothing is left"),
        (json!({ "rate": "5/s", "duration": "1m", "weights": { "a": -1 } }), "weights", "must be from 0"),
        (
            json!({ "duration": "1m", "groups": { "a": { "rate": "1/s", "warm_up": "1s" } } }),
            "groups.a.warm_up",
            "holds for all groups",
        ),
        (json!({ "groups": { "a": { "rate": "1/s" } } }), "groups.a.duration", "is missing"),
        (json!({ "groups": { "a": { "groups": { "b": {} } } } }), "groups.a.groups", "holds for all groups"),
        (json!({ "rate": "5/s", "search": {} }), "search", "needs `to`"),
        (json!({ "search": { "to": "9/s" } }), "search", "needs `rate`"),
        (json!({ "rate": "5/s", "search": { "to": "4/s" } }), "search.to", "below the first rate of 5/s"),
        (json!({ "rate": "5/s", "search": { "to": "9/s", "precision": 5 } }), "search.precision", "0.05 is 5 %"),
        (json!({ "rate": "5/s", "search": { "to": "9/s", "factor": 1 } }), "search.factor", "from 1.01"),
        (json!({ "rate": "5/s", "search": { "to": "9/s", "max_steps": 99 } }), "search.max_steps", "from 1 to 40"),
        (json!({ "slots": 5, "search": { "to": "9/s" } }), "slots", "chooses the rates itself"),
        (
            json!({ "rate": "5/s", "search": { "to": "9/s" }, "stages": stage }),
            "stages",
            "beside `search` stand `rate`",
        ),
        (
            json!({ "rate": "5/s", "duration": "10s", "search": { "to": "9/s" } }),
            "duration",
            "not longer than the first step, which takes 35 s",
        ),
        (
            json!({ "duration": "1m", "groups": { "a": { "rate": "1/s", "search": { "to": "9/s" } } } }),
            "groups.a.search",
            "no other group beside it",
        ),
    ];
    for (written, key, expected) in rows {
        let fault = resolved(written.clone()).expect_err(&written.to_string());
        assert_eq!(fault.key.join("."), key, "{written}: {}", fault.reason);
        assert!(fault.reason.contains(expected), "{written}: {}", fault.reason);
    }
}

#[test]
fn the_schema_has_the_names_of_other_tools() {
    let schema = yaml::schema::of::<Pace>();
    let properties = schema["properties"].as_object().expect("an object");
    for (other, ours) in OTHER_NAMES {
        assert_eq!(properties[other]["description"], format!("The same as `{ours}`."));
    }
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&json!({ "vus": 3, "duration": "2h", "groups": { "a": { "rate": "5/s" } } })));
    assert!(!validator.is_valid(&json!({ "rat": "5/s" })) && !validator.is_valid(&json!({ "duration": "2 hours" })));
}
