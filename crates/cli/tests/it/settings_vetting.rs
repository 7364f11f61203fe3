//! gabfest.yaml is vetted before anything is played: `check`, `--dry-run` and `run` say the same of the same file, with the
//! line, what was expected and a hint.

use crate::process::Place;

const GOOD: &str = "name: good\ndescription: one question\nrun:\n  - input: hello\n    evaluations:\n      - type: string_contains\n        value: hello\njudgment:\n  strategy: all_pass\n";

/// The settings of an HTTP agent, whose keys begin in line 5.
fn http(keys: &str) -> String {
    format!("agents:\n  shop:\n    http:\n      url: http://h/\n{}", indented(keys, "      "))
}

fn indented(text: &str, pad: &str) -> String {
    text.lines().map(|line| format!("{pad}{line}\n")).collect()
}

/// Settings, the place of the error as line and column, and what it says.
fn rows() -> Vec<(String, &'static str, &'static [&'static str])> {
    let endpoint = |keys: &str| format!("endpoints:\n  gpt:\n{}", indented(keys, "    "));
    let section = |name: &str, keys: &str| format!("agents:\n  shop:\n    {name}:\n{}", indented(keys, "      "));
    vec![
        // Addresses.
        (endpoint("url: ftp://h/v1"), "3:5", &["endpoints.gpt.url is neither http:// nor https://"]),
        (endpoint("url: not a url"), "3:5", &["endpoints.gpt.url cannot be read: it looks like https://host/path"]),
        (endpoint("url: http://h/?api_key=sk-1"), "3:5", &["endpoints.gpt.url", "api_key=env:NAME"]),
        (endpoint("model: small"), "3:5", &["endpoints.gpt.url is missing"]),
        (
            endpoint("url: ${env:GABFEST_NO_SUCH_ADDRESS}/v1"),
            "3:10",
            &["`GABFEST_NO_SUCH_ADDRESS` is not set", "help: set it"],
        ),
        (section("http", "url: ftp://h"), "4:7", &["agents.shop.http.url is neither"]),
        (http("start: { url: h, session: $.id }"), "5:16", &["agents.shop.http.start.url cannot be read"]),
        (section("a2a", "url: h"), "4:7", &["agents.shop.a2a.url cannot be read"]),
        (section("a2a", "url: http://h\nrpc: ftp://h"), "5:7", &["agents.shop.a2a.rpc is neither"]),
        (section("ag_ui", "url: h"), "4:7", &["agents.shop.ag_ui.url cannot be read"]),
        (section("eliza", "url: h\nagent: ann"), "4:7", &["agents.shop.eliza.url cannot be read"]),
        (section("emely", "url: h"), "4:7", &["agents.shop.emely.url cannot be read"]),
        (section("websocket", "url: http://h"), "4:7", &["agents.shop.websocket.url is neither ws:// nor wss://"]),
        (section("qnamaker", "url: h\nknowledge_base: k"), "4:7", &["agents.shop.qnamaker.url cannot be read"]),
        ("hooks:\n  over: { url: h }\n".to_owned(), "2:11", &["hooks.over.url cannot be read"]),
        (
            "checks:\n  tone: { url: 'ftp://h' }\n".to_owned(),
            "2:11",
            &["checks.tone.url is ftp, and only http and https"],
        ),
        ("state_hosts:\n  shop: { url: h }\n".to_owned(), "2:11", &["state_hosts.shop.url cannot be read"]),
        (
            "databases:\n  shop: { url: 'mysql://h/d' }\n".to_owned(),
            "2:11",
            &["databases.shop.url begins with neither sqlite:"],
        ),
        ("tool_server: { url: h }\n".to_owned(), "1:16", &["tool_server.url cannot be used"]),
        // Headers, statuses and time limits.
        (
            endpoint("url: http://h\nheaders: { authorization: Bearer x }"),
            "4:5",
            &["headers cannot be sent", "env:NAME or file:PATH"],
        ),
        (endpoint("url: http://h\nheaders: { 'a b': x }"), "4:5", &["no name of a header"]),
        (endpoint("url: http://h\ntimeout_ms: 0"), "4:5", &["endpoints.gpt.timeout_ms is 0"]),
        (http("headers: { x-a: '{{ nope }}' }"), "5:7", &["the header x-a: there is no placeholder {{ nope }}"]),
        (http("headers: { content-type: '{{ turn }}' }"), "5:7", &["no media type such as application/xml"]),
        (http("statuses: { 42: reply }"), "5:7", &["there is no such status: 42"]),
        (
            section("a2a", "url: http://h\nheaders: { x-turn: '{{ turn }}' }"),
            "5:7",
            &["x-turn cannot hold placeholders"],
        ),
        (
            "hooks:\n  over: { url: 'http://h', timeout_ms: 0 }\n".to_owned(),
            "2:28",
            &["hooks.over.timeout_ms must be at least 1"],
        ),
        // Templates, with the place of the text that is wrong.
        (
            section("http", "url: 'http://h/{{ nope }}'"),
            "4:12",
            &["there is no placeholder {{ nope }}; there are case"],
        ),
        (http("body:\n  a: hi\n  b: '{{ mesage }}'"), "7:12", &["there is no placeholder {{ mesage }}"]),
        (http("body:\n  a: hi\n  b: [x, '{{ message | tojsn }}']"), "7:16", &["filter tojsn is unknown"]),
        (http("body:\n  b: '{% if message is nice %}x{% endif %}'"), "6:12", &["unknown test"]),
        (http("body:\n  b: '{{ message '"), "6:12", &["syntax error"]),
        (
            http("body: |\n  {\"a\": 1,\n   \"b\": {{ mesage }}}"),
            "6:9",
            &["line 2 of the text: there is no placeholder {{ mesage }}"],
        ),
        (http("session: '{{ nope }}'"), "5:16", &["there is no placeholder {{ nope }}"]),
        // Paths.
        (http("reply: { text: 'a[' }"), "5:22", &["\"a[\" is no JSONPath: it looks like $.reply.text"]),
        (http("reply: { delta: { path: a } }"), "5:31", &["\"a\" is no JSONPath"]),
        (
            section("websocket", "url: ws://h\nreply: { delta: $.d }"),
            "5:7",
            &["agents.shop.websocket.reply would never end"],
        ),
        // Commands and what goes together.
        (section("subprocess", "command: []"), "4:7", &["agents.shop.subprocess.command is empty"]),
        (section("subprocess", "command: [' ']"), "4:7", &["agents.shop.subprocess.command is empty"]),
        ("checks:\n  tone: { command: [] }\n".to_owned(), "2:11", &["checks.tone.command is empty"]),
        (section("replayed", "repeat: true"), "4:7", &["agents.shop.replayed.answers is missing"]),
        (
            http("preset: langgraph\nwith: { nope: x }"),
            "5:7",
            &["agents.shop.http.preset langgraph has no `with: { nope"],
        ),
        (
            section("qnamaker", "url: http://h\nknowledge_base: k\nscore_threshold: 0.5"),
            "6:7",
            &["scores go from 0 to 100"],
        ),
        // Names.
        (
            "agents:\n  shop: { endpoint: gtp }\n".to_owned(),
            "2:11",
            &["agents.shop.endpoint names \"gtp\"", "help: defined are mock"],
        ),
        (
            "agents:\n  shop: { plugins: body }\n".to_owned(),
            "2:9",
            &["agents.shop.endpoint is missing", "help: write `endpoint: NAME`"],
        ),
        ("roles:\n  agent: shop\n".to_owned(), "2:3", &["roles.agent names \"shop\"", "help: defined are mock"]),
        ("roles: { judge: gpt }\n".to_owned(), "1:10", &["roles.judge names \"gpt\""]),
        ("roles: { user_sim: gpt }\n".to_owned(), "1:10", &["roles.user_sim names \"gpt\""]),
        ("models:\n  TEXT_LARGE: gpt\n".to_owned(), "2:3", &["models.TEXT_LARGE names \"gpt\""]),
        (
            "scores:\n  similarity: { endpoint: gpt }\n".to_owned(),
            "2:17",
            &["scores.similarity.endpoint names \"gpt\""],
        ),
        ("scores: { hub: h }\n".to_owned(), "1:11", &["scores.hub is \"h\""]),
        // Figures.
        ("gates:\n  pass_rate: 1.5\n".to_owned(), "2:3", &["gates.pass_rate is 1.5, and must be from 0 to 1"]),
        (
            "gates:\n  case_pass_rate: 0.5\n".to_owned(),
            "2:3",
            &["gates.case_pass_rate has no gates.pass_rate", "help: write `pass_rate` too"],
        ),
        ("pass_k: 99\n".to_owned(), "1:1", &["pass_k is 99, and must be from 1 to 10"]),
        (
            "endpoints:\n  mock:\n    kind: mock\n    mock: { error_rate: 3 }\n".to_owned(),
            "4:13",
            &["endpoints.mock.mock.error_rate is 3, and must be from 0 to 1"],
        ),
    ]
}

#[test]
fn a_fault_has_its_place_in_every_command() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    for (text, at, expected) in rows() {
        place.write("gabfest.yaml", &text);
        let mut said = Vec::new();
        for command in [vec!["check", "a.scenario.yaml"], vec!["run", "a.scenario.yaml", "--dry-run"]] {
            let ended = place.run(&command);
            assert_eq!(ended.code, 2, "{text}: {}{}", ended.stdout, ended.stderr);
            for part in
                expected.iter().copied().chain([format!("--> gabfest.yaml:{at}\n").as_str(), "1 error, 0 warnings"])
            {
                assert!(ended.stderr.contains(part), "{part:?} is missing for\n{text}\n{}", ended.stderr);
            }
            said.push(ended.stderr);
        }
        assert_eq!(said[0], said[1], "{text}");
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    let text = "endpoints:\n  gpt: { url: h }\nagents:\n  shop: { http: { url: 'ftp://h' } }\n  old: { endpoint: gtp }\nroles: { judge: nobody }\ngates: { pass_rate: 2 }\n";
    place.write("gabfest.yaml", text);
    let ended = place.run(&["run", "a.scenario.yaml"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("5 errors, 0 warnings"), "{}", ended.stderr);
    for line in [2, 4, 5, 6, 7] {
        assert!(ended.stderr.contains(&format!("--> gabfest.yaml:{line}:")), "{line}: {}", ended.stderr);
    }
}

/// A machine that only checks files has no keys.
#[test]
fn a_key_that_is_not_there_is_no_fault_of_the_file() {
    let place = Place::new();
    place.write("a.scenario.yaml", GOOD);
    let text = "endpoints:\n  gpt: { url: 'http://h', key: 'env:GABFEST_NO_SUCH_KEY', headers: { x-api-key: 'env:GABFEST_NO_SUCH_KEY' } }\n\
                agents:\n  shop: { http: { url: 'http://h', key: 'env:GABFEST_NO_SUCH_KEY' } }\n\
                hooks: { over: { url: 'http://h', key: 'env:GABFEST_NO_SUCH_KEY' } }\n\
                databases: { shop: { url: 'env:GABFEST_NO_SUCH_KEY' } }\n";
    place.write("gabfest.yaml", text);
    let ended = place.run(&["check", "a.scenario.yaml"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}
