//! gabfest.yaml is checked before anything is played: `check`, `--dry-run` and `run` report the same faults, with the
//! line, what was expected and a hint.

use crate::process::Place;

const GOOD: &str = "name: good\ndescription: one question\nrun:\n  - input: hello\n    evaluations:\n      - type: string_contains\n        value: hello\njudgment:\n  strategy: all_pass\n";

/// The settings of an HTTP agent, whose keys start in line 5.
fn http(keys: &str) -> String {
    format!("agents:\n  shop:\n    http:\n      url: http://h/\n{}", indented(keys, "      "))
}

fn indented(text: &str, pad: &str) -> String {
    text.lines().map(|line| format!("{pad}{line}\n")).collect()
}

/// Settings, the line and column of the error, and its message.
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
        ("cover: 4\n".to_owned(), "1:1", &["cover is 4, and must be from 1 to 3"]),
        (
            "history: { half_life: 0 }\n".to_owned(),
            "1:12",
            &["history.half_life is 0, and must be from 0.1 to 10000 nights"],
        ),
        // Gates.
        (
            "gates:\n  regression: { margin: 3% }\n".to_owned(),
            "2:17",
            &["gates.regression.margin is \"3%\", and a margin is in percentage points from 0pp to 100pp, such as 3pp"],
        ),
        (
            "gates:\n  regression: { baseline: '' }\n".to_owned(),
            "2:17",
            &["gates.regression.baseline is empty", "write `last-green`, `last`, or a run's folder or id"],
        ),
        (
            "gates:\n  success_rate: { min: 101%, per: tag }\n".to_owned(),
            "2:19",
            &["gates.success_rate.min is 1.01, and must be from 0 to 1, or from 0% to 100%"],
        ),
        (
            "gates:\n  success_rate:\n    - 90%\n    - { min: 95%, confidence: 95% }\n".to_owned(),
            "4:19",
            &[
                "gates.success_rate[1].confidence is for `by: bound`",
                "help: write `by: bound`, or leave the confidence out",
            ],
        ),
        (
            "gates:\n  success_rate: { min: 100%, by: bound }\n".to_owned(),
            "2:19",
            &[
                "gates.success_rate.min is 100%, which no number of trials shows by its bound",
                "help: write `by: point`",
            ],
        ),
        ("gates:\n  success_rate: 95\n".to_owned(), "2:17", &["gates.success_rate is 95, and must be from 0 to 1"]),
        (
            "gates:\n  success_rate: { min: 95%, pre: tag }\n".to_owned(),
            "2:29",
            &["unknown key `pre`", "did you mean `per`?"],
        ),
        ("gates:\n  max_flaky_cases: 2\n".to_owned(), "2:3", &["gates.max_flaky_cases is 2, and must be from 0 to 1"]),
        // Headers, statuses and time limits.
        (
            endpoint("url: http://h\nheaders: { authorization: Bearer x }"),
            "4:5",
            &["headers cannot be sent", "env:NAME or file:PATH"],
        ),
        (endpoint("url: http://h\nheaders: { 'a b': x }"), "4:5", &["not the name of a header"]),
        (
            endpoint("url: http://h\nmodel: ''"),
            "4:5",
            &["endpoints.gpt.model is empty", "help: write the model as its server names it"],
        ),
        (
            endpoint("url: http://h\nmock: {}"),
            "4:5",
            &["endpoints.gpt.mock is for kind `mock`, and this endpoint is a server", "help: write `kind: mock`"],
        ),
        (
            endpoint("url: http://h\nmock: { error_rate: 0.5 }"),
            "4:5",
            &["endpoints.gpt.mock is for kind `mock`", "help: write `kind: mock`"],
        ),
        (
            endpoint("kind: anthropic\nmodel: m\nschema_mode: strict"),
            "5:5",
            &["endpoints.gpt.schema_mode is strict, which this kind", "help: write one of json_schema, tool, none"],
        ),
        (
            endpoint("kind: gemini\nmodel: m\nschema_mode: strict"),
            "5:5",
            &["help: write one of json_schema, json_object, tool, none"],
        ),
        // Keys that are null, at their own line.
        (
            endpoint("url: http://h\n~: x"),
            "4:5",
            &["expected a text as key, found null", "help: write the key before the colon"],
        ),
        (endpoint("url: http://h\nnull: x"), "4:5", &["expected a text as key, found null"]),
        (endpoint("url: http://h\ntimeout_ms: 0"), "4:5", &["endpoints.gpt.timeout_ms is 0"]),
        (http("headers: { x-a: '{{ nope }}' }"), "5:7", &["the header x-a: there is no placeholder {{ nope }}"]),
        (http("headers: { content-type: '{{ turn }}' }"), "5:7", &["not a media type such as application/xml"]),
        (http("statuses: { 42: reply }"), "5:7", &["there is no such status: 42", "help: statuses go from 100 to 599"]),
        (http("statuses: { 999: reply }"), "5:7", &["there is no such status: 999"]),
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
        (http("body:\n  b: '{% if turn > 5 %}{{ message | shout }}{% endif %}'"), "6:12", &["filter shout is unknown"]),
        (http("body:\n  b: '{% if turn > 5 and message is nice %}x{% endif %}'"), "6:12", &["test nice is unknown"]),
        (http("body:\n  b: '{{ message.text }}'"), "6:12", &["it takes an attribute that does not exist"]),
        (
            http("body:\n  b: '{% for it in history %}{{ it.text }}{% endfor %}'"),
            "6:12",
            &["items of messages and history have role and content"],
        ),
        (
            http("body: |\n  {\"a\": 1,\n   \"b\": {{ mesage }}}"),
            "6:9",
            &["line 2 of the text: there is no placeholder {{ mesage }}"],
        ),
        (http("session: '{{ nope }}'"), "5:16", &["there is no placeholder {{ nope }}"]),
        // Paths.
        (http("reply: { text: 'a[' }"), "5:22", &["\"a[\" is not a JSONPath: it looks like $.reply.text"]),
        (http("reply: { delta: { path: a } }"), "5:31", &["\"a\" is not a JSONPath"]),
        (
            section("websocket", "url: ws://h\nreply: { delta: $.d }"),
            "5:7",
            &["agents.shop.websocket.reply would never end"],
        ),
        // How a reply is fetched and joined, and what of it is remembered.
        (http("poll: { done: $.d, every_ms: 10 }"), "5:7", &["agents.shop.http.poll", "`poll.every_ms` is below 50"]),
        (
            http("poll: { done: $.d, url: 'http://h/x', location: $.l }"),
            "5:7",
            &["`poll.location` cannot be used with `url`"],
        ),
        (http("poll: { done: $.d, url: h }"), "5:26", &["agents.shop.http.poll.url cannot be read"]),
        (http("poll: { done: 'a[' }"), "5:21", &["is not a JSONPath"]),
        (
            http(
                "poll: { done: $.d, url: 'http://h/{{ remembered.tsk }}' }\nreply: { text: $.t, remember: { task: $.i } }",
            ),
            "5:26",
            &["poll.url has {{ remembered.tsk }}, and `reply.remember` has no tsk", "help: did you mean `task`?"],
        ),
        (http("reply: { text: $.t, join: '-' }"), "5:7", &["`reply.cumulative` are for the pieces of `reply.delta`"]),
        (http("reply: { text: $.t, cumulative: true }"), "5:7", &["are for the pieces of `reply.delta`"]),
        (http("reply: { delta: $.d, join: '-', cumulative: true }"), "5:7", &["`reply.join` goes between pieces"]),
        (
            http("reply: { text: $.t, remember: { task: $.i } }\nbody:\n  a: hi\n  id: '{{ remembered.tsk }}'"),
            "6:7",
            &["body has {{ remembered.tsk }}, and `reply.remember` has no tsk", "help: did you mean `task`?"],
        ),
        (
            http("body: { id: '{{ remembered.task }}' }"),
            "5:7",
            &["`reply.remember` has no task", "help: write `reply: { remember: { task: PATH } }`"],
        ),
        (http("headers: { x-a: '{{ remembered.a.b }}' }"), "5:7", &["headers has {{ remembered.a }}"]),
        (http("session: '{{ remembered.a }}'"), "5:7", &["session has {{ remembered.a }}"]),
        (
            http("start: { url: 'http://h', session: $.s, body: ['{{ remembered.a }}'] }"),
            "5:47",
            &["start.body has {{ remembered.a }}"],
        ),
        (
            section("websocket", "url: ws://h\nmessage: '{{ remembered.a }}'"),
            "5:7",
            &["agents.shop.websocket.message has {{ remembered.a }}"],
        ),
        (
            section("ag_ui", "url: http://h\nstate: { a: '{{ remembered.a }}' }"),
            "5:7",
            &["agents.shop.ag_ui.state has {{ remembered }}"],
        ),
        // Two ways to say who calls.
        (
            section(
                "websocket",
                "url: ws://h\nkey: env:A\noauth: { token_url: 'http://h', client_id: c, client_secret: env:B }",
            ),
            "6:7",
            &["agents.shop.websocket.oauth cannot be used with `key`"],
        ),
        (
            section("a2a", "url: http://h\noauth: { token_url: h, client_id: c, client_secret: env:B }"),
            "5:7",
            &["agents.shop.a2a.oauth token_url cannot be read"],
        ),
        // Commands and keys that belong together.
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
        (
            "agents:\n  shop:\n    limits: { learn: false }\n    http: { url: 'http://h' }\n".to_owned(),
            "3:15",
            &["agents.shop.limits.learn is for endpoints"],
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
        // Paces.
        (
            "load:\n  night: { rate: 5/s, duration: 2h, tag: [a] }\n".to_owned(),
            "2:37",
            &["unknown key `tag`", "help: did you mean `tags`?"],
        ),
        ("load:\n  night: { rate: fast, duration: 2h }\n".to_owned(), "2:18", &["expected a rate such as 5/s", "fast"]),
        ("load:\n  night: { rate: 5/s, duration: 2 }\n".to_owned(), "2:33", &["a time with its unit such as 500ms"]),
        (
            "load:\n  night: { rate: 5/s }\n".to_owned(),
            "2:10",
            &["load.night.duration is missing", "help: write for how long"],
        ),
        (
            "load:\n  night: { rate: 5/s, vus: 3, duration: 2h }\n".to_owned(),
            "2:23",
            &["load.night.vus does not go with `rate`", "help: `slots` beside `load`"],
        ),
        (
            "load:\n  night:\n    groups:\n      a: { slots: 3, duration: 1m, max_duration: 1m }\n".to_owned(),
            "4:36",
            &["load.night.groups.a.max_duration goes with `iterations`"],
        ),
        (
            "load:\n  night: { executor: constant-vu, vus: 3, duration: 1m }\n".to_owned(),
            "2:22",
            &["unknown word `constant-vu`", "help: did you mean `constant-vus`?"],
        ),
        (
            "load:\n  night: { start_rate: 1/s, stages: [] }\n".to_owned(),
            "2:29",
            &["load.night.stages is empty", "help: write at least one item"],
        ),
        ("load:\n  night: { duration: 1m, groups: {} }\n".to_owned(), "2:26", &["load.night.groups is empty"]),
        (
            "load:\n  night:\n    duration: 1m\n    groups:\n      a: { tags: [shop] }\n".to_owned(),
            "5:7",
            &["load.night.groups.a says neither a rate nor a number of slots", "help: write `rate: 5/s`"],
        ),
        (
            "load:\n  night: { rate: 5/s, duration: 1m, preAllocatedVUs: 9 }\n".to_owned(),
            "2:37",
            &["unknown key `preAllocatedVUs`", "help: leave it out: `slots` beside `load`, or --slots"],
        ),
        (
            "load:\n  night:\n    trace: { file: gone.csv }\n".to_owned(),
            "3:14",
            &["load.night.trace.file names gone.csv, which cannot be read"],
        ),
        // Figures.
        ("gates:\n  pass_rate: 1.5\n".to_owned(), "2:3", &["gates.pass_rate is 1.5, and must be from 0 to 1"]),
        (
            "gates:\n  case_pass_rate: 0.5\n".to_owned(),
            "2:3",
            &["gates.case_pass_rate has no gates.pass_rate", "help: write `pass_rate` too"],
        ),
        (
            "gates:\n  judges: { min_kappa: 2 }\n".to_owned(),
            "2:13",
            &["gates.judges.min_kappa is 2, and must be from -1 to 1"],
        ),
        ("goodput:\n  ttft_ms: 0\n".to_owned(), "2:3", &["goodput.ttft_ms is 0, and must be from 0.001"]),
        (
            "slots: 4\ntranscripts: some\n".to_owned(),
            "2:14",
            &["unknown word `some`, expected one of `all`, `sample`, `failures`"],
        ),
        ("goodput: { ttf_ms: 2000 }\n".to_owned(), "1:12", &["ttf_ms"]),
        ("gates:\n  judges: {}\n".to_owned(), "2:11", &["min_kappa"]),
        ("gates:\n  judges: { min_kappa: 0.5, min_kapa: 1 }\n".to_owned(), "2:29", &["min_kapa"]),
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

/// If gabfest.yaml does not define what a scenario names, nothing is played.
#[test]
fn names_of_scenarios_are_compared_with_the_settings() {
    let place = Place::new();
    let scenario = |evaluation: &str, stop: &str| {
        format!(
            "name: named\ndescription: names things\nrun:\n  - conversation:\n      max_turns: 2\n      user_simulator: {{ persona: a, objective: b }}\n      termination_conditions:\n        - {{ type: custom_condition, {stop} }}\n    evaluations:\n      - {{ type: string_contains, value: hello }}\n      - {{ {evaluation} }}\njudgment: {{ strategy: all_pass }}\n"
        )
    };
    let judged = "llm_judge: { prompt: over }";
    let sound = "type: string_contains, value: hi";
    let rows = [
        (
            "type: custom, check: ton",
            judged,
            "11:32",
            "`check: ton` names a check that `checks`",
            "did you mean `tone`?",
        ),
        (
            "type: http_state, host: kiosk, path: /a",
            judged,
            "11:35",
            "`host: kiosk` names a state host that `state_hosts`",
            "known: shop",
        ),
        (
            "type: sql_state, database: crm, query: select 1, rows: []",
            judged,
            "11:38",
            "`database: crm` names a database that `databases`",
            "write `databases: { crm: … }` in gabfest.yaml",
        ),
        (
            "type: refusal, panel: [small, lrge, large]",
            judged,
            "11:41",
            "`panel: lrge` names a model type that `models`",
            "did you mean `large`?",
        ),
        (sound, "gabfest: { hook: ovr }", "8:54", "`hook: ovr` names a hook that `hooks`", "did you mean `over`?"),
    ];
    place.write(
        "gabfest.yaml",
        "checks: { tone: { url: 'http://h' } }\nstate_hosts: { shop: { url: 'http://h' } }\nhooks: { over: { url: 'http://h' } }\nendpoints: { e: { url: 'http://h', model: m } }\nroles: { judge: e }\nmodels: { small: e, large: e }\n",
    );
    for (evaluation, stop, at, message, help) in rows {
        place.write("a.scenario.yaml", &scenario(evaluation, stop));
        let commands: [&[&str]; 3] =
            [&["check", "a.scenario.yaml"], &["run", "a.scenario.yaml", "--dry-run"], &["run", "a.scenario.yaml"]];
        for command in commands {
            let ended = place.run(command);
            assert_eq!(ended.code, 2, "{command:?} {evaluation}: {}{}", ended.stdout, ended.stderr);
            for part in [message, help, &format!("--> a.scenario.yaml:{at}\n"), "1 error, 0 warnings"] {
                assert!(ended.stderr.contains(part), "{part:?} is missing in {}", ended.stderr);
            }
        }
    }
    place.write("a.scenario.yaml", &scenario("type: custom, check: tone", "gabfest: { hook: over }"));
    let ended = place.run(&["check", "a.scenario.yaml"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn a_blocking_criterion_needs_two_families_and_not_two_names() {
    let place = Place::new();
    place.write(
        "a.scenario.yaml",
        "name: safe\ndescription: one question\nrun:\n  - input: hello\n    evaluations:\n      - type: rubric\n        panel: [A, B, C]\n        criteria: [{name: safe, blocking: true}]\njudgment: {strategy: all_pass}\n",
    );
    let settings = |b: &str| {
        let endpoints = [
            "  one: { url: 'http://h/v1', model: gpt-5 }",
            "  again: { url: 'http://h/v1/', model: gpt-5, params: { temperature: 0 } }",
            "  small: { url: 'http://h/v1', model: gpt-5-mini }",
            "  elsewhere: { url: 'http://i/v1', model: openai/gpt-5 }",
            "  tuned: { url: 'http://i/v1', model: our-judge, family: GPT }",
            "  other: { url: 'http://h/v1', model: claude-haiku-4-5 }",
            "  renamed: { url: 'http://h/v1', model: gpt-oss, family: oss }",
            "  local: { url: 'http://j/v1' }",
        ];
        format!("endpoints:\n{}\nroles: {{ judge: one }}\nmodels: {{ A: one, B: {b}, C: {b} }}\n", endpoints.join("\n"))
    };
    let alone = ["one", "again", "small", "elsewhere", "tuned"].map(|b| (b, false));
    for (b, is_sound) in alone.into_iter().chain(["other", "renamed", "local"].map(|b| (b, true))) {
        place.write("gabfest.yaml", &settings(b));
        for command in [vec!["check", "a.scenario.yaml"], vec!["run", "a.scenario.yaml", "--dry-run"]] {
            let ended = place.run(&command);
            assert_eq!(ended.code, if is_sound { 0 } else { 2 }, "{b}: {}{}", ended.stdout, ended.stderr);
            for part in [
                "the blocking criterion `safe` needs judges of two or more families of models, and all of `panel` are of the family `gpt`",
                "--> a.scenario.yaml:7:17\n",
                "help: name endpoints with models of different families in `models` of gabfest.yaml; `family: NAME`",
            ] {
                assert!(is_sound || ended.stderr.contains(part), "{part:?} is missing: {}", ended.stderr);
            }
        }
    }
}

#[test]
fn all_faults_are_reported_at_once() {
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
