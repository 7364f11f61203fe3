//! A plan that is too large to send is refused, with the place that makes it so large.

use formats::eliza;
use scenario::{
    Plan, Reading, ScenarioFile,
    plan::{Choices, MOST_TEXT_BYTES, build},
};
use serde_json::json;

fn file(name: &str, input: &str) -> ScenarioFile {
    let check = json!([{ "type": "string_contains", "value": "x" }]);
    let steps = json!([{ "input": "hello" }, { "input": input, "evaluations": check }]);
    let text = json!({ "name": name, "description": "d", "run": steps, "judgment": { "strategy": "all_pass" } });
    let path = format!("{name}.scenario.yaml");
    // Readers have their own limits, and a plan can be built without them.
    let (mut documents, _) = eliza::FORMAT.open(&text.to_string().replace(input, "INPUT"), &path);
    let mut document = documents.remove(0);
    document.value["run"][1]["input"] = input.into();
    formats::scenario_file(eliza::FORMAT, document).0.expect("a scenario")
}

#[test]
fn a_text_that_cannot_be_recorded_is_refused_with_its_place() {
    let long = "x".repeat(40 << 20);
    let reading = Reading { scenarios: vec![file("short", "hi"), file("long", &long)], ..Reading::default() };
    let faults = build(&reading, &Choices::default()).unwrap_err();
    let [fault] = faults.as_slice() else { panic!("{} faults", faults.len()) };
    assert_eq!((fault.path.as_str(), fault.line), ("long.scenario.yaml", 1));
    let found = "the text at `run[1].input` has 41943040 bytes; at most 1048576 are played";
    assert_eq!((fault.message.as_str(), fault.help.is_some()), (found, true));
    let reading = Reading { scenarios: vec![file("long", &"x".repeat(MOST_TEXT_BYTES))], ..Reading::default() };
    let mut plan = build(&reading, &Choices::default()).unwrap();
    assert_eq!(Plan::from_json(&plan.to_json()).unwrap(), plan);
    // As a client other than gabfest could send it.
    plan.groups[0].document["run"][1]["input"] = format!("{long}x").into();
    let refused = Plan::from_json(&plan.to_json()).unwrap_err().to_string();
    assert!(refused.contains("the text at `run[1].input` has 41943041 bytes"), "{refused}");
}

#[test]
fn an_axis_counts_too() {
    let mut reading = Reading { scenarios: vec![file("a", "hi")], ..Reading::default() };
    let set = vec![("run[0].input".to_owned(), json!("x".repeat(2 << 20)))];
    let faults = build(&reading, &Choices { set, ..Choices::default() }).unwrap_err();
    assert!(faults[0].message.starts_with("the text at `run[0].input` has 2097152 bytes"), "{}", faults[0].message);
    reading.scenarios = (0..70).map(|n| file(&format!("s{n}"), &"x".repeat(1 << 20))).collect();
    let faults = build(&reading, &Choices::default()).unwrap_err();
    let fault = &faults[0];
    assert!(fault.message.starts_with("the plan has 73"), "{}", fault.message);
    assert!(fault.path.ends_with(".scenario.yaml") && fault.help.as_deref().unwrap().contains("--filter"));
}
