//! Mocks: which one answers, what it answers, and which expressions are supported.

use scenario::mock::{
    Call, Mock,
    expression::{Expression, Scope},
    find, tools,
};
use serde_json::{Map, Value, json};

/// 2026-01-02T03:04:05.678Z
const NOW: i64 = 1_767_323_045_678;

fn mocks(yaml: &str) -> Vec<Mock> {
    let text = format!(
        "name: a\ndescription: b\nsetup:\n  mocks:\n{yaml}\nrun: [{{input: hi}}]\njudgment: {{strategy: all_pass}}\n"
    );
    let (scenario, findings) = crate::accepted::read(&text);
    assert_eq!(findings, Vec::<String>::new());
    scenario.unwrap().mocks
}

fn ask(mocks: &[Mock], tool: &str, arguments: Value) -> Option<Value> {
    let context = json!({ "persona": "busy-parent" }).as_object().unwrap().clone();
    let call = Call { tool, arguments: &arguments, context: &context, state: &Value::Null, now_millis: NOW };
    find(mocks, &call).map(|found| found.answer(1).result.unwrap_or_else(|error| json!(error.code)))
}

#[test]
fn the_most_particular_mock_answers() {
    let mocks = mocks(
        r#"
    - {service: github-service, method: searchIssues, response: any}
    - {service: github-service, method: searchIssues, when: {partialArgs: [a]}, response: partial}
    - {service: github-service, method: searchIssues, when: {matcher: "args[0].includes('test')"}, response: matcher}
    - {service: github-service, method: searchIssues, when: {context: {persona: busy-parent, argsCount: 3}}, response: context}
    - {service: github-service, method: searchIssues, when: {input: {state: open}}, response: input}
    - {service: github-service, method: searchIssues, when: {args: [elizaos/eliza]}, response: args}
    - {service: github-service, method: searchIssues, when: {args: [elizaos/eliza]}, response: a second}
    - {service: github-service, method: searchIssues, when: {input: {n: 1}, matcher: "input.n < 2"}, response: both}
    - {service: github-service, method: searchIssues, when: {args: [{id: 7}]}, response: object}
    - {method: lookup, response: any service}"#,
    );
    let rows = [
        (json!({}), "any"),
        (json!({ "repo": "elizaos/eliza" }), "args"),
        (json!(["elizaos/eliza"]), "args"),
        (json!({ "args": ["elizaos/eliza"] }), "args"),
        (json!({ "repo": "elizaos/eliza", "more": 1 }), "any"),
        (json!({ "repo": "a test", "state": "open" }), "input"),
        (json!({ "repo": "a test" }), "matcher"),
        (json!(["a", "b"]), "partial"),
        (json!(["a", "b", "c"]), "context"),
        (json!({ "n": 1.0 }), "both"),
        (json!({ "id": 7 }), "object"),
        (Value::Null, "any"),
    ];
    for (arguments, expected) in rows {
        let found = ask(&mocks, "searchIssues", arguments.clone());
        assert_eq!(found, Some(json!(expected)), "{arguments}");
    }
    for tool in ["github-service.searchIssues", "github_service_search_issues", "github-service_searchIssues"] {
        assert_eq!(ask(&mocks, tool, json!({})), Some(json!("any")), "{tool}");
    }
    for tool in ["lookup", "orders.lookup", "orders__lookup"] {
        assert_eq!(ask(&mocks, tool, json!({})), Some(json!("any service")), "{tool}");
    }
    for tool in ["other.searchIssues", "search", "github-service", ""] {
        assert_eq!(ask(&mocks, tool, json!({})), None, "{tool}");
    }
    let offered: Vec<_> = tools(&mocks).into_iter().map(|tool| (tool.name, json!(tool.parameters))).collect();
    assert_eq!(offered[1], ("lookup".to_owned(), json!({ "type": "object", "properties": {} })));
    assert_eq!(offered[0].0, "github-service_searchIssues");
    let properties = offered[0].1["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["args", "state", "n", "id"]);
}

#[test]
fn failures_come_before_errors_and_errors_before_answers() {
    let mocks = mocks(
        r"
    - {method: pay, error: {code: LIMIT, message: Too many, status: 429}, response: never, metadata: {delay: 40, probability: 0.3}}",
    );
    let arguments = json!({});
    let call = Call { tool: "pay", arguments: &arguments, context: &Map::new(), state: &Value::Null, now_millis: NOW };
    let found = find(&mocks, &call).unwrap();
    let mut failures = 0;
    for seed in 0..1_000 {
        let answer = found.answer(seed);
        assert_eq!(answer, found.answer(seed), "the seed decides");
        assert_eq!(answer.delay.as_millis(), 40);
        match answer.text().as_str() {
            r#"{"error":"RANDOM_FAILURE: Random mock failure","code":"RANDOM_FAILURE"}"# => failures += 1,
            text => assert_eq!(text, r#"{"error":"LIMIT: Too many","code":"LIMIT","status":429}"#),
        }
    }
    assert!((250..350).contains(&failures), "{failures}");
}

#[test]
fn expressions_have_the_values_of_javascript() {
    let args = [json!({ "name": "Ann", "n": 2 }), json!("test me"), json!([1, 2, 3])];
    let input = json!({ "labels": ["bug", "ui"], "state": "open", "n": 5, "a": { "b": [10, 20] } });
    let context = json!({ "persona": "p" });
    let scope = Scope {
        args: &args,
        input: input.as_object().unwrap(),
        context: context.as_object().unwrap(),
        state: &Value::Null,
        now_millis: NOW,
    };
    let rows = [
        ("1 + 2 * 3 - 4 / 2", json!(5)),
        ("7 % 4 + -1", json!(2)),
        ("0.5 + 0.25", json!(0.75)),
        ("1 / 0", Value::Null),
        ("'a' + 1 + 2", json!("a12")),
        ("1 + 2 + 'a'", json!("3a")),
        ("(1 + 2) * 3", json!(9)),
        ("1 < 2 && 'b' > 'a' && 2 <= 2 && 3 >= 4", json!(false)),
        ("1 === 1.0", json!(true)),
        ("'1' == 1", json!(true)),
        ("'1' === 1", json!(false)),
        ("null != 0 && undefined == null", json!(true)),
        ("!input.missing", json!(true)),
        ("input.missing.deeper?.still ?? 'none'", json!("none")),
        ("input.missing || 'else'", json!("else")),
        ("input.labels.includes('bug') && input.state === 'open'", json!(true)),
        ("input['state'] !== \"open\" ? 1 : input.a.b[1]", json!(20)),
        ("args[1].startsWith('test') && args[1].endsWith('me')", json!(true)),
        ("args[1].toUpperCase().slice(0, 4).toLowerCase()", json!("test")),
        ("args[1].slice(-2)", json!("me")),
        ("args[2].length + args.length", json!(6)),
        ("args[1][0] + args[1].length", json!("t7")),
        ("' x '.trim().replace('x', 'yy')", json!("yy")),
        ("'a,b'.split(',').join(';')", json!("a;b")),
        ("'abc'.indexOf('c') - [1,2].indexOf(9)", json!(3)),
        ("`Hello ${args[0].name}, ${1 + 1}!`", json!("Hello Ann, 2!")),
        ("${input.state} === 'open'", json!(true)),
        ("() => ({ timestamp: Date.now() })", json!({ "timestamp": NOW })),
        ("args => args[0].n", json!(2)),
        ("(args, input) => { return input.n; }", json!(5)),
        ("function (args) { return args.length }", json!(3)),
        (
            "return {...args[0], id: 9, 'made at': new Date().toISOString(), input: input.n, tags: [...args[2], 4]};",
            json!({ "name": "Ann", "n": 2, "id": 9, "made at": "2026-01-02T03:04:05.678Z", "input": 5, "tags": [1, 2, 3, 4] }),
        ),
        ("JSON.stringify(args[2]) + String(1) + Number('2') + Boolean('')", json!("[1,2,3]12false")),
        ("context.persona", json!("p")),
        ("'it\\'s \\n \"'", json!("it's \n \"")),
        ("{}", json!({})),
    ];
    for (text, expected) in rows {
        let value = Expression::matcher(text).and_then(|expression| expression.value(&scope));
        assert_eq!(value, Ok(expected), "{text}");
    }
    let rows = [
        ("Order ${args[0].name} is ${input.state}", json!("Order Ann is open")),
        ("{\"id\": ${input.n}, \"who\": \"${args[0].name}\"}", json!({ "id": 5, "who": "Ann" })),
        ("[${args[2]}]", json!([[1, 2, 3]])),
        ("`{${args[1]}`", json!("{test me")),
        ("() => `${input.n}`", json!("5")),
    ];
    for (text, expected) in rows {
        let value = Expression::response(text).and_then(|expression| expression.value(&scope));
        assert_eq!(value, Ok(expected), "{text}");
    }
    let without_value = Expression::matcher("input.n.includes('x')").unwrap();
    assert!(!without_value.holds(&scope));
    assert_eq!(without_value.value(&scope).unwrap_err().to_string(), "a number has no includes()");
}

#[test]
fn invalid_expressions_are_refused() {
    let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
    let negations = format!("{}1", "!".repeat(100));
    let chain = vec!["1"; 100].join("+");
    let wide = vec!["1"; 600].join(",");
    let long = format!("'{}'", "x".repeat(20_000));
    let rows = [
        ("process.exit(1)", "there is no `process`"),
        ("require('fs')", "there is no `require`"),
        ("args[0].constructor('x')", "there is no method `constructor`"),
        ("args.map(x => x)", "there is no method `map`: functions cannot be arguments; name items by their place"),
        ("input.labels.some((l) => l === 'bug')", "write a mock for each case with `when.input`"),
        ("args[0].substring(1)", "there is no method `substring`; there are includes, "),
        ("(x) => x", "there is no `x`"),
        ("() => { while (true) {} }", "may only be `return`"),
        ("input.a = 1", "expected the end, found `=`"),
        ("1 +", "expected a value, found the end"),
        ("'a", "a text has no end"),
        ("`${1", "expected `}`, found the end"),
        ("args[0", "expected `]`, found the end"),
        ("1x", "`1x` is not a number"),
        ("", "expected a value, found the end"),
        ("{a: 1\n b}", "expected `,` or `}`, found `b` (line 2 of it)"),
        ("'a'.slice()", "does not take 0 arguments"),
        (&deep, "nested deeper"),
        (&negations, "nested deeper"),
        (&chain, "chains more than 64"),
        (&format!("[{wide}]"), "more than 500 parts"),
        (&long, "longer than 16 KiB"),
    ];
    for (text, says) in rows {
        let error = Expression::matcher(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn a_faulty_expression_has_its_place_in_the_file() {
    let text = "name: a\ndescription: b\nsetup:\n  mocks:\n    - method: m\n      when:\n        matcher: args.map(1)\n      responseFn: (\nrun: [{input: hi}]\njudgment: {strategy: all_pass}\n";
    let (_, findings) = crate::accepted::read(text);
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings[0].contains(":7:18: ") && findings[0].contains("no method `map`"), "{findings:?}");
    assert!(findings[1].contains(":8:19: ") && findings[1].contains("expected a value"), "{findings:?}");
}

proptest::proptest! {
    #[test]
    fn no_text_upsets_the_parser(text in "[a-z0-9 .(){}\\[\\]'`$!=<>&|?:,+*/-]{0,80}") {
        let scope = Scope { args: &[], input: &Map::new(), context: &Map::new(), state: &Value::Null, now_millis: NOW };
        for expression in [Expression::matcher(&text), Expression::response(&text)].into_iter().flatten() {
            let _ = expression.value(&scope);
        }
    }
}

#[test]
fn a_tool_is_described_as_it_is_written() {
    let mocks = mocks(
        "    - {method: look, when: {input: {id: 1}}, response: a}\n    - {method: look, description: Finds an order., parameters: {properties: {id: {type: integer}}, required: [id]}, response: b}\n    - {method: cancel, when: {input: {id: a}}, response: c}",
    );
    let offered = tools(&mocks);
    let look = json!({ "properties": { "id": { "type": "integer" } }, "required": ["id"], "type": "object" });
    assert_eq!(offered[0].description, "Finds an order.");
    assert_eq!(Value::Object(offered[0].parameters.clone()), look);
    assert_eq!(offered[1].description, "cancel");
    assert_eq!(
        Value::Object(offered[1].parameters.clone()),
        json!({ "type": "object", "properties": { "id": { "type": "string" } } })
    );
}

#[test]
fn faults_of_a_state_have_their_place_in_the_file() {
    let read = |mock: &str, ours: &str| {
        let text = format!(
            "name: a\ndescription: b\nsetup:\n  mocks:\n    - method: m\n{mock}\nrun: [{{input: hi}}]\njudgment: {{strategy: all_pass}}\n{ours}"
        );
        crate::accepted::read(&text).1
    };
    let state = "gabfest: {state: {n: 1}}\n";
    for (mock, ours, says) in [
        ("      set: {n: 2}", "", ":6:7: "),
        ("      set: {n: '{{n + 1}}'}", state, "there is no `n`"),
        ("      set: {'a.{{(}}': 1}", state, "expected a value"),
        ("      response: {a: ['{{state.}}']}", state, "`{{…}}` is not a supported expression"),
        ("      parameters: {type: string}", "", "`parameters` is not the schema of an object"),
        ("      set: [n]", state, "`set`"),
    ] {
        let findings = read(mock, ours);
        assert!(findings.len() == 1 && findings[0].contains(says), "{mock}: {findings:?}");
    }
    assert_eq!(read("      response: 'a {{b'", ""), Vec::<String>::new(), "without a state it is a text");
    assert_eq!(read("      set: {'$.n': '{{state.n + 1}}'}", state), Vec::<String>::new());
}

#[test]
fn a_check_of_a_state_that_no_mock_keeps_or_changes_is_an_error() {
    const STATE: &str = "gabfest: {state: {a: 1}}\n";
    const MOCKS: &str = "setup: {mocks: [{method: m, response: {}, set: {a: 2}}]}\n";
    let step = "{input: hi, evaluations: [{type: mock_state, path: a}]}";
    let talk = "{conversation: {max_turns: 2, user_simulator: {persona: p, objective: o}, final_evaluations: [{type: mock_state, path: a}]}}";
    let cases = [
        ("", "", Some("a state that the scenario does not have")),
        ("", "setup: {mocks: [{method: m, response: {}}]}\n", Some("a state that the scenario does not have")),
        (STATE, "", Some("a state that nothing changes")),
        (STATE, MOCKS, None),
    ];
    for (state, mocks, expected) in cases {
        for step in [step, talk] {
            let text =
                format!("name: a\ndescription: b\n{state}{mocks}run: [{step}]\njudgment: {{strategy: all_pass}}\n");
            let (_, findings) = crate::accepted::read(&text);
            let shown = findings.join("\n");
            assert_eq!(findings.len(), usize::from(expected.is_some()), "{text}{shown}");
            assert!(shown.contains(expected.unwrap_or_default()), "{text}{shown}");
        }
    }
}
