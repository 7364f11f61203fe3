use serde_json::json;

use super::*;

fn row(name: &str) -> Result<Value, Unknown> {
    match name {
        "mood" => Ok(json!("calm")),
        "turns" => Ok(json!(4)),
        "tags" => Ok(json!(["a"])),
        "sly" => Ok(json!("${vars.city} ${row.mood}")),
        _ => Err((format!("there is no column `{name}`"), None)),
    }
}

fn document(value: Value) -> Document {
    Document::of_text("x.yaml", value, &std::collections::BTreeMap::new())
}

/// Row first, then the variables, as a case is expanded.
fn expanded(mut value: Value) -> (Value, Vec<String>) {
    let mut faults = replace(&mut value, Kind::Row, &mut row);
    let document = document(value);
    let value = match replace_variables(&document) {
        Some((document, more)) => {
            faults.extend(more);
            document.value
        }
        None => document.value,
    };
    (value, faults.into_iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect())
}

#[test]
fn texts_take_values_and_whole_values_keep_their_type() {
    let vars = json!({ "city": "Oslo", "days": 3, "list": [1, 2] });
    let rows = [
        (json!("to ${vars.city}, ${vars.days} days"), json!("to Oslo, 3 days")),
        (json!("${vars.days}"), json!(3)),
        (json!("${vars.list}"), json!([1, 2])),
        (json!("${row.turns}"), json!(4)),
        (json!("${row.mood} in ${vars.city}"), json!("calm in Oslo")),
        (json!("${ row.mood }"), json!("${ row.mood }")),
        (json!("${row. mood }"), json!("calm")),
        // An inserted value is never read again.
        (json!("${row.sly}"), json!("${vars.city} ${row.mood}")),
        (json!("so ${row.sly}"), json!("so ${vars.city} ${row.mood}")),
        // A shell's own variables stay.
        (json!("echo ${HOME} $1 ${#x} ${vars.city"), json!("echo ${HOME} $1 ${#x} ${vars.city")),
        (json!("$${vars.city} and $${row.mood}"), json!("${vars.city} and ${row.mood}")),
        (json!("$$${vars.city}"), json!("$${vars.city}")),
    ];
    for (written, wanted) in rows {
        let (value, faults) = expanded(json!({ "gabfest": { "vars": vars }, "run": [{ "input": written }] }));
        assert_eq!((&value["run"][0]["input"], faults), (&wanted, vec![]), "{written}");
    }
}

#[test]
fn an_undefined_variable_is_a_fault_at_its_place() {
    let rows = [
        ("${vars.citi}", "run[0].input: `${vars.citi}`: there is no variable `citi`"),
        ("a ${row.x}", "run[0].input: `${row.x}`: there is no column `x`"),
        ("${env:HOME}", "run[0].input: `${env:HOME}`: an environment variable cannot be put in here"),
        ("a ${row.tags}", "run[0].input: `${row.tags}`: it is not text"),
    ];
    for (written, wanted) in rows {
        let (_, faults) = expanded(json!({ "gabfest": { "vars": { "city": "Oslo" } }, "run": [{ "input": written }] }));
        assert_eq!(faults[0], wanted);
    }
    let (_, faults) = expanded(json!({ "gabfest": { "vars": { "a": "1", "b": "${vars.a}" } } }));
    assert_eq!(faults, ["gabfest.vars.b: `${vars.a}`: a variable cannot use another one"]);
}

#[test]
fn a_short_document_does_not_become_a_huge_one() {
    let long = "x".repeat(1 << 20);
    let texts: Vec<Value> = (0..9).map(|_| json!("a ${vars.long}")).collect();
    let (_, faults) = expanded(json!({ "gabfest": { "vars": { "long": long } }, "run": texts }));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains("together they put in more than"), "{faults:?}");
}

#[test]
fn a_document_without_placeholders_is_not_copied() {
    assert!(replace_variables(&document(json!({ "run": [{ "input": "hello $HOME" }] }))).is_none());
}
