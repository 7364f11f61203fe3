//! Requests to an agent carry the variables of its scenario.

use serde_json::{Value, json};

use crate::{
    process::Place,
    server::{Asked, serve},
};

const SCENARIO: &str = "
name: Refund
description: a customer asks
gabfest:
  vars: { customer: '${row.customer}', account: { plan: '${row.plan}' }, days: 3 }
  data: { file: refunds.csv, id: case }
run:
  - input: Hello?
    evaluations: [{ type: string_contains, value: 'C ${row.customer} on ${row.plan} for 3 days' }]
judgment: { strategy: all_pass }
";

fn place() -> Place {
    let place = Place::new();
    let address = serve(|asked: &Asked| {
        let said = |name: &str| asked.body[name].as_str().map_or_else(|| asked.body[name].to_string(), str::to_owned);
        (200, json!({ "answer": format!("C {} on {} for {} days", said("of"), said("plan"), said("days")) }))
    });
    let settings = json!({ "agents": { "shop": { "http": {
        "url": format!("{address}/{{{{ vars.customer }}}}"),
        "body": { "text": "{{ message }}", "of": "{{ vars.customer }}", "plan": "{{ vars.account.plan }}", "days": "{{ vars.days }}" },
        "reply": { "text": "$.answer" },
    } } } });
    place.write("gabfest.yaml", &settings.to_string());
    place.write("refund.scenario.yaml", SCENARIO);
    place.write("refunds.csv", "case,customer,plan\none,Ann B,pro\ntwo,Li,free\n");
    place
}

#[test]
fn each_row_has_its_own_request() {
    let place = place();
    // Enough trials for the preflight, which has the variables of the first case.
    let ended = place.run(&["run", "refund.scenario.yaml", "--agent", "shop", "--repeats", "10", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let trials = &place.json("out/report.json")["summary"]["trials"];
    assert_eq!(trials["pass"], 20, "{trials}");
}

#[test]
fn a_variable_that_no_scenario_has_is_found_before_the_run() {
    let place = place();
    place.write("plain.scenario.yaml", &SCENARIO.replace("days: 3 }", "day: 3 }"));
    for command in [
        vec!["run", "plain.scenario.yaml", "--agent", "shop", "--dry-run"],
        vec!["run", "plain.scenario.yaml", "--agent", "shop"],
    ] {
        let ended = place.run(&command);
        assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
        for part in [
            "the agent `shop` uses `{{ vars.days }}`, and 2 cases lack the variable `days`",
            "--> plain.scenario.yaml:1",
            "help: write `gabfest: { vars: { days: … } }` in the scenario",
        ] {
            assert!(ended.stderr.contains(part), "{part:?} is missing: {}", ended.stderr);
        }
    }
    let other = place.run(&["run", "plain.scenario.yaml", "--dry-run"]);
    assert_eq!(other.code, 0, "the mock needs no variable: {}", other.stderr);
    // An axis has a value of its own for it.
    place.write("refund.scenario.yaml", &SCENARIO.replace("days: 3 }", "days: 0 }"));
    let matrix =
        "name: days\nbase_scenario: refund.scenario.yaml\nmatrix: [{ parameter: gabfest.vars.days, values: [3] }]\n";
    place.write("days.matrix.yaml", matrix);
    let ended = place.run(&["run", "days.matrix.yaml", "--agent", "shop", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn a_ping_has_empty_variables() {
    let place = Place::new();
    let address = serve(|asked: &Asked| (200, json!({ "answer": format!("for {}.", asked.body["of"]) })));
    let settings = |body: Value| {
        json!({ "agents": { "shop": { "http": { "url": address, "body": body, "reply": { "text": "$.answer" } } } } })
            .to_string()
    };
    place.write("gabfest.yaml", &settings(json!({ "of": "{{ vars.customer }}", "plan": "{{ vars.account.plan }}" })));
    let ended = place.run(&["ping", "shop"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains(r#"for \"\"."#), "{}", ended.stdout);
}
