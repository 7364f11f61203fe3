//! JSON Schemas agree with the readers.

use serde_json::Value;

/// Follows `$ref`s within a schema.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(name) => root.pointer(name.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

#[test]
fn evaluations_are_a_choice_by_type() {
    let schema = formats::eliza::FORMAT.schema();
    let choices = schema.pointer("/$defs/Evaluation/oneOf").unwrap().as_array().unwrap();
    let kinds: Vec<&str> =
        choices.iter().map(|choice| choice["properties"]["type"]["const"].as_str().unwrap()).collect();
    // The reader has exactly these keys.
    let text = "name: a\ndescription: b\njudgment: {strategy: all_pass}\nrun: [{input: hi, evaluations: [{type: zzzzzzzzzzzz}]}]";
    let document = yaml::open(text, "x").unwrap();
    let (_, findings) = formats::eliza::FORMAT.read(&document);
    assert_eq!(findings[0].help.as_deref().unwrap(), format!("known: {}", kinds.join(", ")));
    for choice in choices {
        assert!(choice["required"].as_array().unwrap().contains(&"type".into()), "{choice}");
    }
}

/// The published shapes: a change here is a change for everyone's editor.
#[test]
fn the_schemas_are_these() {
    for (name, schema) in [
        ("scenario", formats::eliza::FORMAT.schema()),
        ("matrix", formats::matrix::schema()),
        ("persona", formats::persona::schema()),
    ] {
        insta::assert_snapshot!(name, format!("{schema:#}"));
    }
}

#[test]
fn limits_and_defaults_are_in_the_schema() {
    let schema = formats::eliza::FORMAT.schema();
    let at = |path: &str| schema.pointer(path).unwrap_or_else(|| panic!("{path} is not in {schema:#}"));
    let simulator = at("/$defs/UserSimulator/properties");
    assert_eq!(simulator["temperature"]["maximum"], 2.0);
    assert_eq!(
        (&simulator["max_tokens"]["minimum"], &simulator["max_tokens"]["maximum"]),
        (&50.0.into(), &500.0.into())
    );
    assert_eq!((&simulator["temperature"]["default"], &simulator["max_tokens"]["default"]), (&0.7.into(), &200.into()));
    let conversation = at("/$defs/Conversation/properties");
    assert_eq!(conversation["max_turns"]["minimum"], 2.0);
    assert_eq!(conversation["timeout_per_turn_ms"]["default"], 30_000);
    assert_eq!(conversation["total_timeout_ms"]["default"], 300_000);
    assert_eq!(at("/$defs/TerminationJudge/properties")["threshold"]["default"], 0.8);
    for name in ["name", "description", "run", "judgment"] {
        assert!(schema["required"].as_array().unwrap().contains(&name.into()), "{name}");
    }
    assert_eq!(schema["required"].as_array().unwrap().len(), 4);
}

/// Everything that an editor marks is something that the reader refuses or warns about.
#[test]
fn the_schema_marks_the_same_faults_as_the_reader() {
    let schema = jsonschema::validator_for(&formats::eliza::FORMAT.schema()).unwrap();
    let head = "name: a\ndescription: b\njudgment: {strategy: all_pass}\n";
    let rows = [
        ("run: [{input: hi, evaluations: [{type: string_contains, value: x, description: d}]}]", true),
        ("run: [{input: hi}]\ngabfest: {tags: [a], weight: 2}", true),
        ("run: [{input: hi}]\nplugin: []", false),
        ("run: [{inptu: hi}]", false),
        ("run: [{input: hi, evaluations: [{type: string_contains, value: x, vlaue: y}]}]", false),
        ("run: [{input: hi, evaluations: [{type: string_containz, value: x}]}]", false),
        ("run: [{input: hi}]\ngabfest: {tag: [a]}", false),
        ("run: [{input: hi}]\ngabfest: {weight: -1}", false),
        (
            "run: [{input: hi, conversation: {max_turns: 5, user_simulator: {persona: p, objective: o, temperature: 0.5}}}]",
            true,
        ),
        ("run: [{input: hi, conversation: {max_turns: 99, user_simulator: {persona: p, objective: o}}}]", false),
        (
            "run: [{input: hi, conversation: {max_turns: 5, user_simulator: {persona: p, objective: o, temperature: 9}}}]",
            false,
        ),
        (
            "run: [{input: hi, conversation: {max_turns: 5, user_simulator: {persona: p, objective: o, mood: x}}}]",
            false,
        ),
    ];
    for (rest, fine) in rows {
        let document = yaml::open(&format!("{head}{rest}\n"), "x").unwrap();
        let (_, findings) = formats::eliza::FORMAT.read(&document);
        assert_eq!(findings.is_empty(), fine, "{rest}: {findings:?}");
        let faults: Vec<String> = schema.iter_errors(&document.value).map(|fault| fault.to_string()).collect();
        assert_eq!(faults.is_empty(), fine, "{rest}: {faults:?}");
    }
}

#[test]
fn every_reference_and_every_description_is_there() {
    for (name, schema) in [
        ("scenario", formats::eliza::FORMAT.schema()),
        ("matrix", formats::matrix::schema()),
        ("persona", formats::persona::schema()),
    ] {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        visit(&schema, &mut |part| {
            assert!(!resolve(&schema, part).is_null());
            for (key, property) in part["properties"].as_object().into_iter().flatten() {
                let described = property["description"].is_string() || property["const"].is_string();
                assert!(described, "{name}: `{key}` has no description in {part}");
            }
        });
    }
}

fn visit(value: &Value, with: &mut impl FnMut(&Value)) {
    match value {
        Value::Object(map) => {
            with(value);
            map.values().for_each(|item| visit(item, with));
        }
        Value::Array(items) => items.iter().for_each(|item| visit(item, with)),
        _ => {}
    }
}
