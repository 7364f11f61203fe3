//! skUnit files as people write them: the resulting scenarios, and the findings about faults, line by line.

use proptest::prelude::*;
use scenario::{Action, Message, Rule, Scenario, format::Script, message::Part};
use serde_json::json;
use yaml::Document;

/// All scenarios of a text, and the findings as `line:column: message`.
pub(super) fn read(text: &str) -> (Vec<Script>, Vec<String>) {
    let (documents, mut findings) = formats::skunit::FORMAT.open(text, "x.md");
    let mut scripts = Vec::new();
    for document in documents {
        let (script, found) = formats::skunit::FORMAT.read(&document);
        scripts.extend(script);
        findings.extend(found);
    }
    let shown = findings.iter().map(|found| format!("{}:{}: {}", found.line, found.column, found.message));
    (scripts, shown.collect())
}

fn document(text: &str) -> Document {
    let (mut documents, found) = formats::skunit::FORMAT.open(text, "x.md");
    assert!(found.is_empty() && documents.len() == 1, "{found:?}");
    documents.remove(0)
}

/// Speakers and texts of all messages, including expected ones.
pub(super) fn said(scenario: &Scenario) -> Vec<Message> {
    let messages = scenario.steps.iter().flat_map(|step| match &step.action {
        Action::Say { messages, expected, .. } => messages.iter().chain(expected).cloned().collect(),
        _ => Vec::new(),
    });
    messages.collect()
}

#[test]
fn the_shipped_example_becomes_these_scenarios() {
    let (scripts, findings) = read(include_str!("../../../../scenarios/skunit/full.skunit.md"));
    assert!(findings.is_empty(), "{findings:#?}");
    insta::assert_debug_snapshot!(scripts);
}

#[test]
fn every_fault_is_reported_at_its_line() {
    const TURN: &str = "## [USER]\nHi\n\n## [AGENT]\nHo\n\n";
    let rows: &[(&str, &[&str])] = &[
        ("### CHECK Empty\n\n## [USER]\nHi\n## [AGENT]\nHo", &["1:5: `CHECK` is before the first turn"]),
        (
            "## [USER]\nHi\n### ASSERT Contains\nx\n## [AGENT]\nHo\n### CHECK Equals\nHo",
            &["3:5: `ASSERT` is below `[USER]` (line 1), and only what the agent says is checked"],
        ),
        ("TURN### CHECK GreaterThan\n3", &["7:11: unknown assertion `GreaterThan`"]),
        ("TURN### CHECK ContainsAny\n , ,", &["7:5: `ContainsAny` needs at least one text, and they are all empty"]),
        ("TURN### CHECK SemanticCondition", &["7:5: `SemanticCondition` needs a text to compare with"]),
        ("TURN### CHECK SemanticCondition\nIt does not lie", &["7:5: the condition is worded with `not`"]),
        (
            "TURN### CHECK JsonCheck\n{\"name\": [\"SemanticCondition\", \"never a nickname\"]}",
            &["8:10: the condition is worded with `never`"],
        ),
        ("TURN### CHECK JsonCheck\nnone", &["8:1: expected JSON, found no `{`"]),
        ("TURN### CHECK JsonCheck\n```json\n{\n  \"a\": [\"Nope\", \"x\"]\n}\n```", &["10:8: unknown check `Nope`"]),
        (
            "TURN### CHECK JsonCheck\n{\"name\": [\"EQUAL\", \"Mehran\", \"Haha\"]}",
            &["8:10: `Equal` takes one text, found 2"],
        ),
        ("TURN### CHECK JsonCheck\n{\"name\": [\"EQUAL\", }", &["8:"]),
        ("TURN### CHECK JsonCheck\n[1]", &["8:1: expected a JSON object"]),
        ("TURN### CHECK JsonCheck\n{}", &["8:1: the object has no property, so it would check nothing"]),
        (
            "TURN### CHECK FunctionCall\n{\"function_nme\": \"x\"}",
            &["8:1: missing key `function_name`", "8:2: unknown key `function_nme`"],
        ),
        (
            "TURN### CHECK FunctionCall\n{\"function_name\": \"x\",\n \"match_strategy\": \"First\"}",
            &["9:20: unknown strategy \"First\""],
        ),
        (
            "TURN## CALL Intent\n### CHECK Equals\nx",
            &["7:9: `Intent` is not a function: expected a plugin, a dot and a function"],
        ),
        ("TURN## CALL My.Intent\n{\"a\": \"$all\"}\n### CHECK Equals\nx", &["8:7: unknown variable `$all`"]),
        ("TURN## CALL My.Intent", &["7:0: the result of `My.Intent` is not checked"]),
        (
            "TURN### CHECK Equals\nHo\n```json\n## [USER]",
            &["9:1: the fence is not closed: it contains the rest of the file"],
        ),
        ("TURN### CHECK Equals\nHo\n## [User]\nx", &["9:1: the heading `[User]` is read as text"]),
        ("TURN### CHECK Equals\nHo\n\n<!--\n## [USER]\nx", &["11:1: `## [USER]` is text, because it is inside HTML"]),
        (
            "TURN### CHECK Equals\nHo\n## [USER]\nlast",
            &["9:4: this `[USER]` is never sent, because no `[AGENT]` turn follows"],
        ),
        ("TURN# SCENARIO late\n", &["7:3: `SCENARIO` is in the middle of a scenario"]),
        ("intro\n\nTURN### CHECK Equals\nHo", &["1:1: the text before the first statement is ignored"]),
        ("## [USER] Bob\nHi\n## [AGENT]\nHo\n### CHECK", &["1:11: `Bob` is on the line of `[USER]`, and is ignored"]),
        ("TURN### CHECK\n{City}", &["8:1: `{City}` has no value and stays unchanged"]),
        ("just text", &["1:0: the page contains no scenario: it has no speaker and no question"]),
        ("   \n\n", &["0:0: the file contains no scenario: it is blank"]),
        ("text\n-----\nTURN### CHECK", &["1:0: the text before the line of dashes is not a scenario and is ignored"]),
        ("## ANSWER Equals\nx", &["1:4: the question is missing: expected `PROMPT` or `PARAMETER input`"]),
        (
            "## PROMPT\nA {{$inptu}}\n## PARAMETER input\nx\n## ANSWER Equals\nx",
            &[
                "1:4: the prompt contains `{{$inptu}}`, but there is no parameter `inptu`",
                "3:4: the agent never sees the parameter `input`",
            ],
        ),
        (
            "---\ntags: x\nexpct: fail\n---\nTURN### CHECK",
            &["2:0: found text \"x\", expected a list", "3:0: unknown key `expct`"],
        ),
        ("---\na: [\n---\nTURN### CHECK", &["2:"]),
        ("---\nrequired_success_runs: 2\n---\nTURN### CHECK", &["2:0: 2 of 1 rounds cannot pass"]),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in rows {
        // Most pages begin with one exchange, which takes six lines.
        let text = text.replace("TURN", TURN);
        let (_, findings) = read(&text);
        let found: Vec<&str> =
            findings.iter().map(String::as_str).filter(|found| !found.contains("has no check")).collect();
        let matches = found.len() == expected.len()
            && found.iter().zip(expected.iter()).all(|(found, expected)| found.starts_with(expected));
        if !matches {
            wrong.push(format!("{text}\nfound {found:#?}\nexpected {expected:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn line_ends_and_marks_of_windows_change_nothing() {
    let text = include_str!("../../../../scenarios/skunit/full.skunit.md");
    let scenarios = |text: &str| read(text).0;
    assert_eq!(scenarios(&format!("\u{feff}{}", text.replace('\n', "\r\n"))), scenarios(text));
}

#[test]
fn a_blank_line_between_blocks_is_dropped_as_in_the_logs() {
    let (scripts, _) = read("## [USER]\nGive me a JSON.\n\nExample: \n{\n\t\"a\": 1\n}\n\n```\n\nx\n```\n## [AGENT]\n");
    let said = said(&scripts[0].scenario);
    assert_eq!(said[0].text(), "Give me a JSON.\nExample: \n{\n\t\"a\": 1\n}\n```\n\nx\n```");
    assert_eq!(said[1].text(), "");
}

#[test]
fn identifiers_are_letters_and_no_patterns() {
    for identifier in ["sk", "~", "*", "+", "(", "[", "?", "\\d", ".*"] {
        let text = format!(
            "# {identifier} SCENARIO S\n## {identifier} [USER]\n## [USER]\n## {identifier} [AGENT]\nHo\n### {identifier} CHECK Equals\nHo"
        );
        let (scripts, findings) = read(&text);
        assert_eq!((scripts.len(), findings.len()), (1, 0), "{identifier}: {findings:?}");
        assert_eq!(said(&scripts[0].scenario)[0].text(), "## [USER]");
    }
}

#[test]
fn parameters_come_from_the_head_the_fence_and_the_matrix() {
    let text = "---\nparameters: {City: Rome, Year: 1}\n---\n# SCENARIO In {City}\n```gabfest\nparameters: {Year: 2}\n```\n## [USER]\n{City} {Year} {Open}\n## [AGENT]\n### CHECK FunctionCall\n{\"function_name\": \"f\", \"arguments\": {\"c\": \"{City}\", \"y\": {Year}}}";
    let mut document = document(text);
    assert_eq!(document.value["parameters"], json!({ "City": "Rome", "Year": 2, "Open": null }));
    let schema = formats::skunit::FORMAT.schema();
    let path = |text: &str| yaml::path::Path::parse(text).unwrap();
    path("parameters.Open").fits(&document.value, &schema).unwrap();
    path("history").fits(&document.value, &schema).unwrap();
    assert!(path("parameters.Cty").fits(&document.value, &schema).is_err());
    path("parameters.City").set(&mut document.value, json!("Bern \"west\"\n## [USER]")).unwrap();
    path("parameters.Open").set(&mut document.value, json!(true)).unwrap();
    path("history").set(&mut document.value, json!("actual")).unwrap();
    let (script, findings) = formats::skunit::FORMAT.read(&document);
    assert!(findings.is_empty(), "{findings:#?}");
    let scenario = script.unwrap().scenario;
    assert_eq!(scenario.history, scenario::History::Actual);
    assert_eq!(said(&scenario)[0].text(), "Bern \"west\"\n## [USER] 2 true");
    let Rule::ToolCalls(rule) = &scenario.steps[0].checks[0].rule else { panic!() };
    assert_eq!(rule.calls[0].arguments.as_ref().unwrap().len(), 2);
    assert_eq!(scenario.steps[0].line, 10);
}

#[test]
fn a_call_gets_the_conversation_so_far() {
    let text = "## [SYSTEM]\nBe kind.\n## [USER]\nHi\n## [AGENT]\nHo\n## [USER]\nAgain?\n## CALL My.Intent\n{\"h\": \"$history\", \"input\": \"$chat\", \"o\": \"a,b\"}\n### CHECK ContainsAny\na\n## [AGENT]\nYes\n### CHECK Equals\nYes\n## CALL My.Mood\n### CHECK Equals\ngood";
    let (scripts, findings) = read(text);
    assert!(findings.is_empty(), "{findings:#?}");
    let steps = &scripts[0].scenario.steps;
    let kinds: Vec<Vec<&str>> =
        steps.iter().map(|step| step.checks.iter().map(|check| check.rule.kind()).collect()).collect();
    assert_eq!(kinds, [vec![], vec!["call", "equals", "call"]]);
    let Rule::Call(rule) = &steps[1].checks[0].rule else { panic!() };
    let history = "[system]: Be kind.\n[user]: Hi\n[assistant]: Ho".to_owned();
    let chat = format!("{history}\n[user]: Again?");
    let expected = [("history", history.clone()), ("h", history), ("input", chat), ("o", "a,b".to_owned())];
    let expected: Vec<(String, String)> = expected.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    assert_eq!(rule.arguments, expected);
    assert_eq!((rule.plugin.as_str(), rule.function.as_str(), rule.checks.len()), ("My", "Intent", 1));
}

#[test]
fn texts_and_images_are_parts() {
    let (scripts, findings) = read(
        "## [USER]\n### text\nLook\n### Image\n![a](https://x/y.png)\n### Other\nmore\n### Image\nno image\n## [AGENT]\nok\n### CHECK",
    );
    assert!(findings.is_empty(), "{findings:#?}");
    let text = |text: &str| Part::Text(text.to_owned());
    let expected = [text("Look"), Part::Image("https://x/y.png".to_owned()), text("### Other\nmore"), text("no image")];
    assert_eq!(said(&scripts[0].scenario)[0].parts, expected);
}

#[test]
fn rounds_are_counted_as_they_are_meant() {
    let share = |settings: &str| {
        let (scripts, findings) = read(&format!("---\n{settings}\n---\n## [USER]\nHi\n## [AGENT]\nHo\n### CHECK"));
        assert!(findings.is_empty(), "{findings:?}");
        (scripts[0].repeats, scripts[0].scenario.required_pass_rate)
    };
    assert_eq!(share("repeats: 3"), (Some(3), None));
    assert_eq!(share("{repeats: 3, required_success_runs: 2}"), (Some(3), Some(2.0 / 3.0)));
    assert_eq!(share("{repeats: 3, required_pass_rate: 0.67}"), (Some(3), Some(0.67)));
}

#[test]
fn rounds_may_be_chosen_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.skunit.md");
    std::fs::write(&path, "## [USER]\nHi\n## [AGENT]\nHo\n### CHECK").unwrap();
    let reading = formats::read(&[path]);
    let set = [("repeats", 3), ("required_success_runs", 2)];
    let set = set.map(|(name, value)| (name.to_owned(), json!(value))).to_vec();
    let choices = scenario::plan::Choices { set, ..scenario::plan::Choices::default() };
    let plan = scenario::plan::build(&reading, &choices).unwrap();
    assert_eq!((plan.planned(), plan.groups[0].required_pass_rate), (Some(3), Some(2.0 / 3.0)));
    let case = plan.case(0).unwrap();
    assert_eq!(plan.scenario(&case, formats::ALL).unwrap().steps.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_pieces_make_the_reader_panic(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24)) {
        let text = pieces.concat();
        let lines = u32::try_from(text.lines().count()).unwrap();
        for found in read(&text).1 {
            let line: u32 = found.split(':').next().unwrap().parse().unwrap();
            prop_assert!(line <= lines + 1, "{found} of {lines} lines");
        }
    }
}

const PIECES: &[&str] = &[
    "\n",
    "\n\n",
    "# SCENARIO x\n",
    "# * SCENARIO y\n",
    "## [USER]\n",
    "## * [USER]\n",
    "## [AGENT]\n",
    "######### [ASSISTANT]\n",
    "## [SYSTEM]\n",
    "## [TOOL]\n",
    "### CHECK\n",
    "### CHECK JsonCheck\n",
    "### ASSERT FunctionCall\n",
    "### CHECK Equals\n",
    "## CALL A.b\n",
    "## PROMPT\n",
    "## PARAMETER input\n",
    "## ANSWER Equals\n",
    "-----\n",
    "---\n",
    "```json\n",
    "```\n",
    "```gabfest\n",
    "{\"a\": [\"Equals\", \"é\"], }\n",
    "{{$input}} {Name}\n",
    "]}\n",
    "{[\n",
    "### Image\n",
    "![a](b)\n",
    "<!--\n",
    "> ## [USER]\n",
    "    ## [USER]\n",
    "text é 退款\n",
    "tags: [a]\n",
    "parameters: {Name: 1}\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "[x]: y\n",
];
