use super::*;

fn values() -> Values {
    let mut request = Request {
        messages: vec![
            llm::Message::user("hello"),
            llm::Message::assistant("yes?"),
            llm::Message::system("be brief"),
            llm::Message::user("a \"b\" & {{ c }}\u{e9}"),
        ],
        seed: Some(u64::MAX),
        ..Request::default()
    };
    request.context.conversation = "t/1 2".to_owned();
    (request.context.trial, request.context.case) = ("t".to_owned(), "c".to_owned());
    request.context.turn = 2;
    let remembered = json!({ "task": "t 7", "state": { "step": 2 }, "later": "" });
    let vars = json!({ "customer": "C 7", "plan": { "name": "pro" }, "days": 3 });
    request.context.vars = vars.as_object().cloned().map(std::sync::Arc::new);
    Values::of(&request, "s1", remembered.as_object().unwrap())
}

#[test]
fn placeholders_become_their_values() {
    let rows = [
        (json!("{{ message }}"), json!("a \"b\" & {{ c }}\u{e9}")),
        (json!("says: {{message}}!"), json!("says: a \"b\" & {{ c }}\u{e9}!")),
        (json!("{{ turn }}"), json!(2)),
        (json!(["{{ remembered.task }}", "{{ remembered.state }}"]), json!(["t 7", { "step": 2 }])),
        (json!("<{{ remembered.later }}>"), json!("<>")),
        (json!("{{ remembered.later or none }}"), json!(null)),
        (json!({ "of": "{{ vars.customer }}", "days": "{{ vars.days }}" }), json!({ "of": "C 7", "days": 3 })),
        (json!(["{{ vars.plan }}", "{{ vars.plan.name }}!"]), json!([{ "name": "pro" }, "pro!"])),
        (json!("{{ vars.missing | default('none') }}"), json!("none")),
        (
            json!(["{{ vars.plan.name | default(none) }}", "{{ vars.plan.level | default(none) }}"]),
            json!(["pro", null]),
        ),
        (json!("turn {{ turn }}"), json!("turn 2")),
        (json!("{{ conversation }} {{ trial }} {{ case }}"), json!("t/1 2 t c")),
        (json!("{{ seed }}"), json!(u64::MAX)),
        (json!({ "a": ["{{ session }}", 1, null, true] }), json!({ "a": ["s1", 1, null, true] })),
        (
            json!("{{ history }}"),
            json!([{ "role": "user", "content": "hello" }, { "role": "assistant", "content": "yes?" }]),
        ),
        (json!("{{ messages | length }}"), json!(2)),
        (json!("{{ message | upper }}"), json!("A \"B\" & {{ C }}\u{c9}")),
        (json!("no placeholder"), json!("no placeholder")),
        (json!(r#"{"q": {{ message | tojson }}}"#), json!("{\"q\": \"a \\\"b\\\" & {{ c }}\u{e9}\"}")),
        (
            json!("{{ messages | tojson }}|"),
            json!(
                "[{\"content\":\"be brief\",\"role\":\"system\"},{\"content\":\"a \\\"b\\\" & {{ c }}\u{e9}\",\"role\":\"user\"}]|"
            ),
        ),
        (json!("m={{ message | urlencode }}"), json!("m=a%20%22b%22%20%26%20%7B%7B%20c%20%7D%7D%C3%A9")),
        (json!({ "id": "{{ session or none }}", "none": "{{ none }}" }), json!({ "id": "s1", "none": null })),
        (
            json!("{% for m in history %}{{ m.role }}: {{ m.content }};{% endfor %}"),
            json!("user: hello;assistant: yes?;"),
        ),
    ];
    for (written, expected) in rows {
        let template: Template = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(template.render(&values()), Ok(expected), "{written}");
    }
}

#[test]
fn values_cannot_change_an_address() {
    let text = Text::parse("http://h/{{ conversation }}/x?m={{ message }}").unwrap();
    let address = text.render_address(&values()).unwrap();
    assert_eq!(address, "http://h/t%2F1%202/x?m=a%20%22b%22%20%26%20%7B%7B%20c%20%7D%7D%C3%A9");
}

#[test]
fn a_variable_that_the_scenario_lacks_is_named() {
    for written in ["{{ vars.city }}", "in {{ vars.city }}, {{ vars.days }}", "{{ vars.city.name }}"] {
        let template: Template = serde_json::from_value(json!({ "a": [written] })).unwrap();
        let text = Text::parse(written).unwrap();
        let errors = [
            template.render(&values()).map(|_| ()),
            text.render(&values()).map(|_| ()),
            text.render_address(&values()).map(|_| ()),
        ];
        for error in errors {
            let said = error.unwrap_err().to_string();
            assert!(said.contains("it has {{ vars.city }}, and the scenario has no variable city"), "{said}");
        }
    }
    let part: Template = serde_json::from_value(json!("{{ vars.plan.level }}")).unwrap();
    assert!(part.render(&values()).is_err(), "a part that an object does not have");
    let without = Values::of(&Request::default(), "", &Map::new());
    assert!(Text::parse("{{ vars.days }}").unwrap().render(&without).is_err(), "a scenario without variables");
    let address = Text::parse("http://h/{{ vars.customer }}?x={{ vars.days }}").unwrap();
    assert_eq!(address.render_address(&values()).unwrap(), "http://h/C%207?x=3");
    let written = json!({ "a": "{{ vars.a.b.c }}", "b": ["{{ vars.a }} {{ vars.a.d }}", "{{ vars.e }}"] });
    let empty = json!({ "a": { "b": { "c": "" }, "d": "" }, "e": "" });
    assert_eq!(Value::Object(empty_variables(&written)), empty);
    let names: BTreeSet<String> = ["customer", "days"].map(str::to_owned).into();
    assert_eq!(variables(&json!({ "url": address.written(), "turn": "{{ turn }}" })), names);
}

#[test]
fn unknown_placeholders_are_refused() {
    for (written, says) in [
        (json!("{{ mesage }}"), "no placeholder {{ mesage }}"),
        (json!({ "a": ["{{ user.name }}"] }), "no placeholder {{ user }}"),
        (json!("{{ message"), "syntax error"),
        (json!("{% if %}"), "syntax error"),
        (json!("{{ message | tojsn }}"), "unknown filter: filter tojsn is unknown"),
        (json!("{% if not session %}{{ message | tojsn }}{% endif %}"), "filter tojsn is unknown"),
        (json!("{% if message is nice %}x{% endif %}"), "unknown test"),
        (json!("{{ now() }}"), "no placeholder {{ now }}"),
        (json!("a\n{{ mesage }}"), "line 2 of the text: there is no placeholder"),
        (json!("a\n\n{{ message"), "line 3 of the text: syntax error"),
    ] {
        let error = serde_json::from_value::<Template>(written).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn what_an_answer_said_may_be_a_list_or_an_object() {
    for written in [
        "{{ remembered.task.id }}",
        "{{ remembered.task['id'] }}",
        "{{ remembered.ids[1] }}",
        "{% for task in remembered.tasks %}{{ task.id }}{% endfor %}",
    ] {
        let read = serde_json::from_value::<Template>(json!(written));
        assert!(read.is_ok(), "{written}: {}", read.unwrap_err());
    }
}
